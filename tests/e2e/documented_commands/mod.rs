//! Tests of the commands in the documentation: every command on a page of the book is one that `tare`, `make` or `cargo
//! xtask` knows, with flags and values that it takes. What measures is planned, what shows is run.

mod example_directory;
mod page;
mod policy;
mod shell;
mod versions;

use example_directory::ExampleDirectory;
use page::{Block, Page};
use policy::{EXECUTIONS, NOT_RUN};
use std::collections::BTreeSet;
use support::schema;

/// Table of contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Page of what was: its prose names commands that are gone.
const HISTORY: &str = "CHANGELOG.md";

/// Returns the paths of the pages of the book, from the root of the repository.
fn pages() -> Vec<String> {
    let summary = read(SUMMARY);
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let path =
        |link: &str| link.strip_prefix("../").map_or_else(|| format!("docs/{link}"), str::to_owned);
    links.map(path).collect()
}

fn read(path: &str) -> String {
    let file = schema::repository().join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_script_of_the_book_runs() {
    let examples = ExampleDirectory::new();
    let problems: Vec<String> =
        pages().iter().flat_map(|path| examples.script_problems(path, &read(path))).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    let called = examples.called();
    assert!(called.len() > EXECUTIONS.len(), "{called:?}");
    let reasons = NOT_RUN.iter().map(|(program, _)| *program);
    let rows = EXECUTIONS.iter().map(|(subcommand, _)| *subcommand);
    let stale: Vec<&str> = rows.chain(reasons).filter(|name| !called.contains(*name)).collect();
    assert!(stale.is_empty(), "no page has a script with {stale:?}: remove the row in policy.rs");
}

#[test]
fn every_command_in_prose_is_known() {
    let examples = ExampleDirectory::new();
    let pages = pages().into_iter().filter(|path| path != HISTORY);
    let problems: Vec<String> =
        pages.flat_map(|path| examples.prose_problems(&path, &read(&path))).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(examples.called().len() > EXECUTIONS.len(), "{:?}", examples.called());
}

#[test]
fn no_command_is_in_a_block_without_its_language() {
    let names: BTreeSet<&str> = EXECUTIONS.iter().map(|(subcommand, _)| *subcommand).collect();
    for path in pages() {
        for block in Page::parse(&read(&path)).blocks.iter().filter(|block| block.is_unmarked()) {
            let command = block.code.text.lines().find(|line| is_command(line, &names));
            let line = block.code.line;
            assert_eq!(command, None, "{path}:{line}: begin the block with ```sh or ```console");
        }
    }
}

/// Returns true for a line with a prompt, or one that begins with `tare` and a subcommand.
fn is_command(line: &str, subcommands: &BTreeSet<&str>) -> bool {
    let mut words = line.split_whitespace();
    match words.next() {
        Some("$") => true,
        Some("tare") => words.next().is_some_and(|word| subcommands.contains(word)),
        _ => false,
    }
}

#[test]
fn a_wrong_command_in_a_page_is_found() {
    let examples = ExampleDirectory::new();
    for (script, expected) in [
        ("tare run --netwrk host", "unexpected argument '--netwrk'"),
        ("tare run -n nonesuch", "unknown network `nonesuch`"),
        ("tare run --blocks 5 \\\n  --family ipv5", "invalid value"),
        ("tare probe db1 --flow 8", "unexpected argument '--flow'"),
        ("tare up bridge --nod 2 -- ping -c1 server", "unexpected argument '--nod'"),
        ("tare ask bridge-or-guest", "cannot read the study bridge-or-guest"),
        ("tare report nowhere", "cannot read nowhere/journal.jsonl"),
        ("tare weigh host", "unrecognized subcommand 'weigh'"),
        ("make tea", "no target of the Makefile"),
        ("cargo xtask tea", "no task of xtask"),
        ("curl example.org", "not found"),
        ("tare run --out 'DIR", "nterminated quoted string"),
    ] {
        for page in [format!("```sh\n{script}\n```\n"), format!("```console\n$ {script}\n```\n")] {
            // Only the first line of a command has a prompt.
            if page.contains("console") && script.contains('\n') {
                continue;
            }
            let problems = examples.script_problems("page.md", &page);
            assert_eq!(problems.len(), 1, "{script}: {problems:?}");
            assert!(problems[0].starts_with("page.md:2: "), "{problems:?}");
            assert!(problems[0].contains(expected), "{problems:?}");
        }
    }
    for (prose, expected) in [
        ("Then `tare report DIR --htlm F`.", "unexpected argument '--htlm'"),
        ("Then `make tea`, or not.", "no target of the Makefile"),
    ] {
        let problems = examples.prose_problems("page.md", prose);
        assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:?}");
    }
}

#[test]
fn right_commands_are_no_problem() {
    let examples = ExampleDirectory::new();
    let page = "```sh\ntare report DIR --html \"a page.html\" >shown   # all of it\n(tare list networks)\n```\n\
                ```console\n$ make test\n1 passed\n```\n```toml\ntare = \"run\"\n```\n\
                `tare up NETWORK`, `make PARTS=vm test-system`, `tare`, `other run`\n";
    assert_eq!(examples.script_problems("page.md", page), [] as [&str; 0]);
    assert_eq!(examples.prose_problems("page.md", page), [] as [&str; 0]);
    let called: Vec<String> = examples.called().into_iter().collect();
    assert_eq!(called, ["list", "make", "report", "up"]);
    assert_eq!(Page::parse(page).blocks.iter().filter_map(Block::script).count(), 2);
}
