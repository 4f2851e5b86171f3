//! Tests of the live table on a terminal, its keys, and the terminal afterwards.

use support::ScratchDirectory;
use support::journal::records;
use support::program::binary;
use support::pseudo_terminal::PtyScript;

/// Starts a run of two workloads over two networks, between two readings of the terminal's mode.
fn start(scratch: &ScratchDirectory, arguments: &str, columns: u16) -> PtyScript {
    let workloads = "-w tcp-stream,tcp-rr --duration 200ms";
    start_workloads(scratch, &format!("{workloads} {arguments}"), columns)
}

/// Starts a run of these workloads over two networks, between two readings of the terminal's mode.
fn start_workloads(scratch: &ScratchDirectory, arguments: &str, columns: u16) -> PtyScript {
    let script = format!(
        "trap : INT
        stty -g > before
        \"$tare\" run -n host,veth --interval 10ms {arguments} --out out
        code=$?
        stty -g > after
        echo \"the code is $code.\""
    );
    let program = binary();
    let variables = [("tare", program.to_str().expect("a path in ASCII")), ("NO_COLOR", "1")];
    PtyScript::start(&scratch.path(""), &variables, &script, columns)
}

/// Fails unless the terminal has the mode that it had before the run.
fn assert_restored(scratch: &ScratchDirectory) {
    let mode = |name: &str| std::fs::read_to_string(scratch.path(name)).expect(name);
    assert_eq!(mode("before"), mode("after"));
}

#[test]
fn q_and_signals_end_the_run_and_restore_the_terminal() {
    for keys in ["q", "\u{3}", "\u{3}\u{3}"] {
        let scratch = ScratchDirectory::new();
        let mut run = start(&scratch, "--blocks 1000", 100);
        let shown = run.wait_for("▶ ");
        assert!(shown.contains("tcp-stream"), "{shown}");
        run.wait_for("block 3 of 1000 · ");
        run.wait_for("q stop and report");
        assert!(run.passes_keys());
        run.press(keys);
        let shown = run.wait_for("the code is 130.");
        assert!(keys.len() > 1 || shown.contains("(interrupted)"), "{shown}");
        assert_restored(&scratch);
        if keys.len() == 1 {
            let records = records(&scratch.path("out"));
            let end = records.last().expect("a journal");
            assert_eq!(end["stopped_by"], "interrupted");
        }
    }
}

#[test]
fn verdicts_come_with_blocks_and_the_table_goes_before_the_results() {
    let scratch = ScratchDirectory::new();
    // A trial that ends with its number of transactions has a figure on the busiest machine, and so has each ratio.
    let counted = "-w tcp-rr --count 100 --duration 60s --blocks 1000";
    let mut run = start_workloads(&scratch, counted, 140);
    run.wait_for("× ± ");
    run.wait_for("q stop and report");
    run.press("q");
    let shown = run.wait();
    let (live, results) = shown.rsplit_once("\u{1b}[J").expect("lines are drawn in place");
    assert!(live.contains("× ± ") && live.contains(" of 1000 · "), "{live}");
    assert!(results.contains("blocks (interrupted)"), "{results}");
    assert!(results.contains("the code is 130."), "{results}");
    assert!(!results.contains('▶') && !results.contains("q stop"), "{results}");
    assert_restored(&scratch);
}

#[test]
fn p_pauses_after_the_block_and_continues() {
    let scratch = ScratchDirectory::new();
    let mut run = start(&scratch, "--blocks 1000", 80);
    run.wait_for("q stop and report   p pause");
    run.press("p");
    run.wait_for("pausing after this block");
    let shown = run.wait_for("· paused");
    assert!(!shown.contains("stopping"), "{shown}");
    run.press("p");
    run.wait_for("▶ veth");
    run.press("p");
    run.wait_for("· paused");
    run.press("q");
    run.wait_for("the code is 130.");
    assert_restored(&scratch);
}

#[test]
fn lines_are_narrower_than_the_terminal_before_and_after_a_change_of_its_width() {
    let scratch = ScratchDirectory::new();
    let mut run = start(&scratch, "--blocks 1000", 140);
    assert_narrower(&run.wait_for("block 2 of 1000 · "), 140);
    run.resize(50);
    // Drawn for the old width until the change is seen.
    run.wait_for("▲ faster");
    run.wait_for("\u{1b}[J");
    assert_narrower(&run.wait_for("block 4 of 1000 · "), 50);
    run.press("q");
    run.wait_for("the code is 130.");
    assert_restored(&scratch);
}

/// Fails if a drawn line is as wide as the terminal.
fn assert_narrower(shown: &str, columns: usize) {
    let drawn = shown.split_once("tare tour").map_or("", |(_, drawn)| drawn);
    // The terminal turns a newline into a carriage return and a newline.
    for line in drawn.split("\r\r\n").filter(|line| !line.contains('\u{1b}')) {
        assert!(line.chars().count() < columns, "{line}");
    }
}

#[test]
fn json_and_a_dumb_terminal_have_no_table() {
    for arguments in ["--blocks 1 --json", "--blocks 1"] {
        let scratch = ScratchDirectory::new();
        let script = format!(
            "{} \"$tare\" run -n host,veth -w tcp-rr --duration 200ms --interval 10ms {arguments} --out out",
            if arguments.contains("json") { "" } else { "TERM=dumb" }
        );
        let program = binary();
        let variables = [("tare", program.to_str().expect("a path in ASCII"))];
        let shown = PtyScript::start(&scratch.path(""), &variables, &script, 80).wait();
        assert!(shown.contains("tare: block 1 of 1 done"), "{shown}");
        assert!(!shown.contains('▶') && !shown.contains("p pause"), "{shown}");
    }
}
