//! Tests of bad input and missing requirements: one line with the error, its reason and its remedy, the right exit
//! code, and no partial results.

use serde_json::Value;
use support::ScratchDirectory;
use support::program::{ProgramOutcome, Tare, User};
use support::{check_shown_again, list, short_run, text};

/// Arguments, and words of the one-line error.
type ErrorCase<'a> = (&'a [&'a str], &'a [&'a str]);

/// Usage errors that tare itself detects.
const BAD_USAGE: &[ErrorCase<'_>] = &[
    (&["run", "--network", "bridge-plan"], &["unknown network `bridge-plan`", "`bridge-plain`"]),
    (&["run", "--network", "bridge+nosuch"], &["`bridge+nosuch`", "unknown option", "+plain"]),
    (&["run", "--network", "host,host"], &["two networks have the label `host`", "x=host"]),
    (&["run", "--network", ""], &["invalid network ``"]),
    (&["run", "--workload", "nosuch"], &["unknown workload `nosuch`", "tcp-stream, udp-rate"]),
    (
        &["run", "--workload", "tcp-stream", "--metric", "transactions"],
        &["none of the workloads measures `transactions`", "throughput"],
    ),
    (&["run", "--workload", "idle", "--size", "100"], &["--size", "tare list workloads"]),
    (&["run", "--baseline", "moon"], &["the baseline `moon` is not in the run", "host"]),
    (&["run", "nosuch.toml"], &["nosuch.toml", "No such file", "tare list studies"]),
    (&["run", "--blocks", "0"], &["`0` for blocks", "from 1 to"]),
    (&["run", "--blocks", "4000000000"], &["`4000000000` for blocks", "from 1 to"]),
    (&["run", "--duration", "5ms"], &["`5ms` for the duration of tcp-stream", "intervals"]),
    (&["run", "--duration", "1000h"], &["the duration of tcp-stream", "to a day"]),
    (&["run", "--interval", "1us"], &["`1µs` for interval", "at least 1ms"]),
    (&["run", "--warmup", "9s"], &["`9s` for the warm-up of tcp-stream", "at most half"]),
    (&["run", "--clients", "0"], &["`0` for clients", "from 1 to"]),
    (&["run", "--servers", "4000000000"], &["`4000000000` for servers", "from 1 to"]),
    (&["run", "--flows", "0"], &["`0` for flows", "from 1 to"]),
    (&["run", "--mtu", "67"], &["`67` for mtu", "from 68 to 65535"]),
    (&["run", "--mtu", "65536"], &["`65536` for mtu", "from 68 to 65535"]),
    (&["run", "--mtu", "1279", "--family", "ipv6"], &["`1279` for mtu", "from 1280 to 65535"]),
    (&["run", "--size", "0"], &["`0` for size", "from 1 to"]),
    (&["run", "--size", "99999999999999"], &["`99999999999999` for size", "from 1 to"]),
    (&["up", "nosuch"], &["unknown network `nosuch`", "tare list networks"]),
    (&["up", "bridge", "--clients", "0"], &["`0` for --clients", "at least 1"]),
    (&["show", "nosuch"], &["unknown network `nosuch`", "tare list networks"]),
    (&["report", "nosuch"], &["nosuch/journal.jsonl", "No such file"]),
    (&["resume", "nosuch"], &["nosuch/journal.jsonl", "No such file"]),
];

/// Usage errors that the command line parser detects and reports in its own format.
const REFUSED: &[ErrorCase<'_>] = &[
    (&["frobnicate"], &["unrecognized subcommand 'frobnicate'"]),
    (&["run", "--nosuch"], &["unexpected argument '--nosuch'"]),
    (&["run", "--metric", "nosuch"], &["unknown metric `nosuch`", "latency_p99.9"]),
    (&["run", "--family", "ipv5"], &["unknown IP family `ipv5`", "ipv4 or ipv6"]),
    (&["run", "--cpus", "fast"], &["invalid placement `fast`", "spread, same, free"]),
    (&["run", "--blocks", "-1"], &["-1"]),
    (&["run", "--blocks", "many"], &["'many'", "--blocks"]),
    (&["run", "--duration", "0s"], &["`0s`", "above zero", "300ms"]),
    (&["run", "--duration=-5s"], &["`-5s`", "above zero", "300ms"]),
    (&["run", "--duration", "10"], &["invalid time span `10`", "300ms"]),
    (&["run", "--budget", "99999999999999h"], &["`99999999999999h`", "300ms"]),
    (&["run", "--precision", "0%"], &["invalid share `0%`", "2%"]),
    (&["run", "--precision", "NaN"], &["invalid share `NaN`", "2%"]),
    (&["run", "--margin", "nosuch=2%"], &["unknown metric `nosuch`"]),
    (&["run", "--margin", "throughput=100%"], &["invalid share `100%`"]),
    (&["run", "--blocks", "3", "--precision", "2%"], &["--blocks", "--precision"]),
    (&["show", "bridge", "--port", "65536"], &["65536", "--port"]),
];

/// Study files, and words of the one-line error, with line and column.
const BAD_STUDIES: &[(&str, &[&str])] = &[
    ("name = \"x\"\nnetwork = [\"bridge\"]\n", &["study.toml:2:1", "`network`", "`networks`"]),
    ("[method]\n\n  blocks = \"many\"\n", &["study.toml:3:12", "string \"many\""]),
    ("[method]\nbudget = \"soon\"\n", &["study.toml:2:10", "invalid time span `soon`"]),
    ("[method]\nprecision = \"200%\"\n", &["study.toml:2:13", "invalid share `200%`"]),
    ("[method]\nblocks = -1\n", &["study.toml:2:10", "-1"]),
    ("metrics = [\"throughput\",\n\"speed\"]\n", &["study.toml:2:1", "`speed`", "throughput"]),
    ("[[workload]]\nname = \"tcp-rr\"\nsize = 1\n", &["study.toml:3:1", "`size`", "parameters"]),
    ("[shape]\nfamily = \"ipv4\"\n", &["study.toml:2:10", "sequence"]),
    ("networks = [\n", &["study.toml:"]),
    ("[[workload]]\nname = \"nosuch\"\n", &["unknown workload `nosuch`", "tcp-rr"]),
    (
        "[[workload]]\nname = \"tcp-rr\"\nparameters = { request = 0 }\n",
        &["tcp-rr", "`0` for request", "from 1 to"],
    ),
    ("[method]\nblocks = 3\nprecision = \"2%\"\n", &["either blocks or precision"]),
    ("networks = []\n", &["no network to measure", "tare list networks"]),
];

#[test]
fn a_run_without_any_figure_is_a_failure_and_says_so() {
    let scratch = ScratchDirectory::new();
    // One trial in a hundred thousand is beyond this percentile; the trial has time for a few thousand.
    let asked = "run -n loopback -w tcp-rr --metric latency_p99.99 -d 500ms --interval 50ms -b 1";
    let asked: Vec<&str> = asked.split(' ').collect();
    let outcome = Tare::in_directory(scratch.root()).run(&asked).expect(1);
    assert!(outcome.stderr.contains("tare: no figure could be made: "), "{}", outcome.stderr);
}

#[test]
fn bad_usage_is_answered_by_one_line() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for (arguments, words) in BAD_USAGE {
        tare.run(arguments).assert_error(2, words);
    }
    assert_eq!(scratch.names(), [] as [&str; 0]);
}

#[test]
fn what_the_command_line_refuses_is_named() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for (arguments, words) in REFUSED {
        let outcome = tare.run(arguments).expect(2);
        assert!(outcome.stdout.is_empty(), "{}", outcome.text());
        for word in *words {
            assert!(outcome.stderr.contains(word), "`{word}` is not in: {}", outcome.stderr);
        }
    }
    assert_eq!(scratch.names(), [] as [&str; 0]);
}

#[test]
fn a_bad_study_is_answered_by_one_line_with_its_place() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for (study, words) in BAD_STUDIES {
        scratch.write_file("study.toml", study);
        tare.run(&["run", "study.toml"]).assert_error(2, words);
    }
    assert_eq!(scratch.names(), ["study.toml"]);
}

#[test]
fn a_journal_that_is_none_is_named_and_left_alone() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    scratch.create_directory("run", None);
    for (journal, words) in [
        ("", ["run/journal.jsonl", "is not a journal"]),
        ("{}\n", ["run/journal.jsonl", "is not a journal"]),
        ("{\"record\":\"run\",\"form", ["run/journal.jsonl", "is not a journal"]),
    ] {
        scratch.write_file("run/journal.jsonl", journal);
        for command in ["report", "resume"] {
            tare.run(&[command, "run"]).assert_error(2, &words);
        }
        let kept = std::fs::read_to_string(scratch.path("run/journal.jsonl")).expect("it is there");
        assert_eq!(kept, journal);
    }
}

#[test]
fn more_containers_than_the_machine_holds_are_not_begun() {
    let scratch = ScratchDirectory::new();
    Tare::in_directory(scratch.root())
        .run(&short_run(&["--clients", "10000", "--servers", "10000", "--blocks", "1"]))
        .assert_error(1, &["cannot run 20000 containers", "use fewer containers"]);
    assert_eq!(scratch.names(), [] as [&str; 0]);
}

#[test]
fn a_finished_run_is_neither_overwritten_nor_gone_on_with() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let run = short_run(&["--network", "host", "--blocks", "1", "--out", "out"]);
    tare.run(&run).expect(0);
    let before = std::fs::read(scratch.path("out/journal.jsonl")).expect("a journal");
    tare.run(&run).assert_error(1, &["out already holds a run", "--out", "tare resume"]);
    tare.run(&["resume", "out"])
        .assert_error(2, &["cannot resume out: the run is finished", "tare report"]);
    let after = std::fs::read(scratch.path("out/journal.jsonl")).expect("a journal");
    assert_eq!(after, before);
}

#[test]
fn where_nothing_can_be_written_nothing_is_measured() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    scratch.write_file("file", "");
    for (out, why) in [("file/out", "Not a directory"), ("/proc/nosuch/out", "No such file")] {
        tare.run(&short_run(&["--network", "host", "--blocks", "1", "--out", out]))
            .assert_error(1, &[out, why, "--out"]);
    }
    tare.in_private_mounts(
        "mkdir closed; mount -t tmpfs -o ro none closed; \
         exec \"$tare\" run --network host --blocks 1 --out closed/out",
    )
    .assert_error(1, &["closed/out", "Read-only file system", "--out"]);
    assert_eq!(scratch.names(), ["closed", "file"]);
}

#[test]
fn where_a_user_may_not_write_nothing_is_measured() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    // Directory owned by root: in their own directories users may write in the lab, whatever the mode.
    let out = "/usr/tare-test";
    tare.run(&short_run(&["--network", "host", "--blocks", "1", "--out", out]))
        .assert_error(1, &[out, "Permission denied", "--out"]);
}

/// Runs `host` with its output on a file system of this size, and lists the files left there.
fn on_a_small_disk(tare: &Tare, size: &str, blocks: &str) -> ProgramOutcome {
    tare.in_private_mounts(&format!(
        "mkdir -p small; mount -t tmpfs -o size={size} none small; code=0; \
         \"$tare\" run --network host --duration 100ms --interval 10ms --blocks {blocks} \
            --out small/out >table || code=$?; \
         find small -type f -printf '%f\\n' | sort; \
         [ ! -e small/out ] || \"$tare\" report small/out >again; \
         exit $code"
    ))
}

#[test]
fn a_run_that_is_resumed_on_a_full_disk_keeps_what_it_has() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    // Of three blocks the last one is cut off, and a trial of it.
    tare.in_private_mounts(
        "mkdir small; mount -t tmpfs -o size=2m none small; \
         \"$tare\" run --network host,veth --workload tcp-stream --duration 100ms --interval 10ms \
            --blocks 3 --out small/out; \
         grep -v '\"record\":\"end\"' small/out/journal.jsonl | head -n -2 >cut; \
         cat cut >small/out/journal.jsonl; cp small/out/result.json before.json; \
         dd if=/dev/zero of=small/filler bs=4k 2>/dev/null || true; \
         code=0; \"$tare\" resume small/out 2>full || code=$?; test $code = 1; \
         cmp cut small/out/journal.jsonl; cmp before.json small/out/result.json; \
         rm small/filler; \"$tare\" resume small/out --json >after.json",
    )
    .expect(0);
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).expect("it was made");
    let said = read("full");
    assert!(said.contains("journal.jsonl") && said.contains("No space left on device"), "{said}");
    let after: Value = serde_json::from_str(&read("after.json")).expect("JSON");
    assert_eq!((&after["blocks"], &after["stopped_by"]), (&3.into(), &"blocks".into()));
}

#[test]
fn a_disk_that_is_full_at_once_has_no_half_made_run() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    on_a_small_disk(&tare, "4k", "1").assert_error(1, &["small/out", "No space left", "--out"]);
}

#[test]
fn a_disk_that_fills_up_keeps_and_shows_what_was_measured() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let outcome = on_a_small_disk(&tare, "128k", "1000").expect(1);
    outcome.assert_last_line(&["small/out", "No space left"]);
    assert_eq!(outcome.text(), "journal.jsonl\n", "no half-written result");
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).expect("it was made");
    assert!(read("table").contains("\nhost "), "{}", read("table"));
    check_shown_again(&read("again"), &read("table"));
}

#[test]
fn a_full_standard_output_is_a_failure() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    tare.in_private_mounts("exec \"$tare\" list networks >/dev/full")
        .assert_error(1, &["No space left"]);
}

/// Runs the program under test with all copies of nft hidden.
fn without_nft(tare: &Tare, arguments: &str) -> ProgramOutcome {
    tare.in_private_mounts(&format!(
        "for file in $(which -a nft) /usr/local/sbin/nft /usr/sbin/nft /sbin/nft; do \
            [ ! -e \"$file\" ] || mount --bind /dev/null \"$file\"; \
         done; \
         exec \"$tare\" {arguments}"
    ))
}

#[test]
fn a_network_named_outright_that_cannot_run_is_a_failure() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = "run --network host,bridge --duration 100ms --interval 10ms --blocks 1";
    let outcome = without_nft(&tare, &format!("{asked} --out out --json")).expect(1);
    let document = outcome.json();
    let skipped = list(&document, "skipped");
    assert_eq!(skipped.len(), 1, "{document}");
    assert_eq!(text(&skipped[0], "network"), "bridge");
    assert!(text(&skipped[0], "reason").contains("nft"), "{document}");
    assert!(text(&skipped[0], "remedy").contains("nftables"), "{document}");
    assert!(list(&document, "cells").iter().all(|cell| cell["network"] == "host"), "{document}");
    let table = tare.run(&["report", "out"]).expect(0).text();
    let line = table.lines().find(|line| line.contains("nftables"));
    assert!(line.is_some_and(|line| line.contains("bridge")), "{table}");
}

#[test]
fn with_nothing_left_to_measure_there_is_one_line_and_no_run() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let words = ["bridge", "the program nft is not installed", "apt-get install nftables"];
    without_nft(&tare, "run --network bridge").assert_error(1, &words);
    without_nft(&tare, "up bridge -- true").assert_error(1, &words);
    assert_eq!(scratch.names(), [] as [&str; 0]);
}

#[test]
fn all_skips_what_cannot_run() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = "run --network all --duration 100ms --interval 10ms --blocks 1 --json";
    let document = without_nft(&tare, asked).expect(0).json();
    let skipped: Vec<&str> =
        list(&document, "skipped").iter().map(|one| text(one, "network")).collect();
    for name in ["veth", "bridge", "published", "link", "pipework", "macvlan-nat"] {
        assert!(skipped.contains(&name), "{name} needs nft: {skipped:?}");
    }
    assert!(!skipped.contains(&"bridge-plain"), "{skipped:?}");
    let measured = |name: &str| list(&document, "cells").iter().any(|cell| cell["network"] == name);
    assert!(measured("bridge-plain") && measured("native"), "{document}");
}

#[test]
fn a_kernel_without_a_device_type_is_named_with_a_remedy() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    // Sources of the kernel's list of modules: files if they exist, else its symbols.
    let hide = "modules=/lib/modules/$(uname -r); \
        if [ -d \"$modules\" ]; then mount -t tmpfs none \"$modules\"; \
            : >\"$modules/modules.builtin\"; : >\"$modules/modules.dep\"; fi; \
        for file in /proc/modules /proc/kallsyms; do \
            [ ! -e \"$file\" ] || mount --bind /dev/null \"$file\"; \
        done; ";
    tare.in_private_mounts(&format!("{hide} exec \"$tare\" up veth -- true"))
        .assert_error(1, &["cannot set up veth here", "veth", "kernel", ": "]);
    let listed = tare.in_private_mounts(&format!("{hide} exec \"$tare\" list networks --json"));
    let document = listed.expect(0).json();
    // Networks from a user's file have their own requirements.
    let own = |network: &&Value| !text(network, "name").contains(':');
    let networks = list(&document, "networks").iter().filter(own);
    let (run, lack): (Vec<&Value>, _) = networks.partition(|one| one["available"] == true);
    let name = |network: &&Value| text(network, "name").to_owned();
    assert_eq!(
        run.iter().map(name).collect::<Vec<_>>(),
        ["native", "loopback"],
        "no device of theirs"
    );
    // A network that needs another driver first reports that driver.
    let other = |one: &&&Value| !text(one, "reason").contains("veth");
    let others: Vec<&str> = lack.iter().filter(other).map(|one| text(one, "name")).collect();
    assert_eq!(others, ["netkit"], "{document}");
    assert!(lack.iter().all(|one| !text(one, "remedy").is_empty()), "{document}");
}

#[test]
fn without_user_namespaces_there_is_one_line_with_a_remedy() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    // In its own user namespace a process may forbid nested ones, and then drop every privilege.
    let forbidden = |arguments: &str| {
        tare.in_private_user(&format!(
            "echo 0 >/proc/sys/user/max_user_namespaces; \
             exec setpriv --bounding-set=-all --inh-caps=-all -- \"$tare\" {arguments}"
        ))
    };
    let words = ["user namespaces are off (user.max_user_namespaces=0)", "run tare as root"];
    forbidden("run --network bridge").assert_error(1, &words);
    forbidden("up bridge -- true").assert_error(1, &words);
    let all = forbidden("run").expect(1).stderr;
    let lines = all.lines().filter(|line| words.iter().all(|word| line.contains(word)));
    assert_eq!(lines.count(), 1, "one line for all networks: {all}");
    let listed = tare.run(&["list", "networks", "--json"]).expect(0).json();
    // `all` excludes networks that need a user's file or Docker, and pairs.
    let own = |one: &&Value| !text(one, "name").contains([':', '/']);
    let networks = list(&listed, "networks").iter().filter(own).count();
    let skipped = forbidden("run --json").expect(1).json();
    assert_eq!(list(&skipped, "skipped").len(), networks, "{skipped}");
    let doctor = forbidden("doctor").expect(1).text();
    let line = doctor.lines().find(|line| line.starts_with("fail"));
    assert!(line.is_some_and(|line| line.contains("namespaces")), "{doctor}");
    let left = std::fs::read_dir(tare.directory()).expect("it is there").count();
    assert_eq!(left, 0, "nothing is left");
}

#[test]
fn what_the_kernel_grants_instead_of_what_was_asked_is_a_finding() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let run = |network: &str, flags: &[&str]| {
        let asked = ["--network", network, "--workload", "tcp-stream", "--blocks", "1", "--json"];
        tare.run(&short_run(&[&asked[..], flags].concat())).expect_measured().json()
    };
    let found = |document: &Value, kind: &str| {
        let cells = list(document, "cells").iter();
        cells.flat_map(|cell| list(cell, "findings")).any(|finding| finding["kind"] == kind)
    };
    assert!(found(&run("host", &["--congestion", "nosuch"]), "other-congestion-control"));
    assert!(found(&run("host", &["--cpus", "4095"]), "not-pinned"));
    // The kernel counts twice the requested size, which is more than it can represent.
    assert!(found(&run("host", &["--buffer", "1073741824"]), "small-buffer"));
    assert!(found(&run("loopback+without=checksum", &[]), "offloads-kept"));
}
