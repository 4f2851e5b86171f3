//! Tests of the pages on errors: an error ends with the code of its page, and `tare explain` has the page.

use support::ScratchDirectory;
use support::program::Tare;

/// Commands that cannot be carried out wherever this test runs, and the code of each error.
const FAILURES: [(&[&str], &str); 4] = [
    (&["run", "--network", "no-such-network"], "E18"),
    (&["report", "."], "E12"),
    (&["show", "run.tar.gz"], "E19"),
    (&["run", "study.toml"], "E10"),
];

/// Study that runs a program.
const STUDY: &str = "networks = [\"host\", \"exec:./network.sh\"]\n";

#[test]
fn an_error_ends_with_the_code_of_its_page() {
    let scratch = ScratchDirectory::new();
    scratch.write_file("study.toml", STUDY);
    scratch.write_program("network.sh", "#!/bin/sh\n");
    scratch.write_file("run.tar.gz", "");
    let tare = Tare::in_directory(scratch.root());
    let list = tare.run(&["explain"]).expect(0).text();
    for (command, code) in FAILURES {
        let error = tare.run(command).expect(2).stderr;
        let last = error.lines().last().unwrap_or_default();
        assert!(last.ends_with(&format!(" (tare explain {code})")), "{command:?}: {error}");
        let page = tare.run(&["explain", &code.to_lowercase()]).expect(0).text();
        let title =
            page.lines().next().and_then(|title| title.strip_prefix(&format!("# {code}: ")));
        let title = title.unwrap_or_else(|| panic!("{code}: {page}"));
        assert!(list.lines().any(|line| line == format!("{code}  {title}")), "{list}");
    }
    let unknown = tare.run(&["explain", "E99"]).expect(2).stderr;
    assert!(unknown.contains("E99") && unknown.contains("E01, E02"), "{unknown}");
}
