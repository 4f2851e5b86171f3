//! Directory where the commands of the documentation run: with the runs, studies and archives that they name.

use super::page::{Block, Code, Page};
use super::policy::{Execution, NOT_RUN, PLACEHOLDERS, executions};
use super::shell::{Call, Shell};
use super::{pages, read};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use support::program::Tare;
use support::{ScratchDirectory, schema};

/// Names of runs in the documentation. Each is a copy of a stored run.
const RUNS: [&str; 7] = ["DIR", "OLD", "NEW", "before", "after", "last", "run"];

/// Run of which the others are copies.
const STORED_RUN: &str = "tests/golden/one-host";

/// Name of an archive in the documentation.
const ARCHIVE: &str = "RUN.tar.gz";

/// Names of studies in the documentation whose content is on no page.
const STUDIES: [&str; 2] = ["study.toml", "my-study.toml"];

/// Programs of this project, whose commands in prose are checked.
const OWN_PROGRAMS: [&str; 3] = ["tare", "make", "cargo"];

/// Directory with everything that commands of the documentation need.
pub(super) struct ExampleDirectory {
    scratch: ScratchDirectory,
    shell: Shell,
    tare: Tare,
    makefile: String,
    tasks: String,
    called: RefCell<BTreeSet<String>>,
}

impl ExampleDirectory {
    pub(super) fn new() -> Self {
        let programs = NOT_RUN.iter().map(|(program, _)| *program).chain(OWN_PROGRAMS);
        let shell = Shell::with_stand_ins(programs);
        let scratch = ScratchDirectory::new();
        let tare = Tare::in_directory(scratch.root()).with_cache_of_its_own();
        let (makefile, tasks) = (read("Makefile"), read("xtask/src/main.rs"));
        let examples = Self { scratch, shell, tare, makefile, tasks, called: RefCell::default() };
        examples.populate();
        examples
    }

    /// Makes the files that commands name: runs, an archive, and studies, also those that a page shows.
    fn populate(&self) {
        for name in RUNS {
            self.copy_run(name);
        }
        let archive = self.tare.run(&["bundle", "DIR", "--out", ARCHIVE]);
        archive.expect(0);
        for name in STUDIES {
            self.scratch.write_file(name, "networks = [\"host\", \"bridge\"]\n");
        }
        for path in pages() {
            for (name, study) in studies(&read(&path)) {
                self.scratch.write_file(&name, &study);
                self.copy_run(name.trim_end_matches(".toml"));
            }
        }
    }

    fn copy_run(&self, name: &str) {
        self.scratch.create_directory(name, None);
        let journal = schema::repository().join(STORED_RUN).join("journal.jsonl");
        let copy = self.scratch.path(name).join("journal.jsonl");
        std::fs::copy(journal, copy).expect("a stored run");
    }

    /// Returns the subcommands of `tare` and the other programs that were called.
    pub(super) fn called(&self) -> BTreeSet<String> {
        self.called.borrow().clone()
    }

    /// Runs the scripts of a page. Returns what is wrong with them.
    pub(super) fn script_problems(&self, path: &str, text: &str) -> Vec<String> {
        let scripts = Page::parse(text).blocks.iter().filter_map(Block::script).collect::<Vec<_>>();
        let problems = |code: &Code| self.problems(path, code, executions);
        scripts.iter().flat_map(problems).collect()
    }

    /// Parses the commands in the prose of a page. Returns what is wrong with them.
    pub(super) fn prose_problems(&self, path: &str, text: &str) -> Vec<String> {
        let mut commands = Page::parse(text).code_in_prose();
        commands.retain(|code| {
            let mut words = code.text.split(' ');
            let is_own = words.next().is_some_and(|program| OWN_PROGRAMS.contains(&program));
            is_own && words.next().is_some()
        });
        let problems =
            |code: &Code| self.problems(path, code, |_| &[Execution::ParserOnly("in prose")]);
        commands.iter().flat_map(problems).collect()
    }

    fn problems(
        &self,
        path: &str,
        code: &Code,
        executions: impl Fn(&str) -> &'static [Execution],
    ) -> Vec<String> {
        let at = format!("{path}:{}", code.line);
        match self.shell.calls(&code.text) {
            Err(refused) => vec![format!("{at}: {refused}")],
            Ok(calls) => calls
                .iter()
                .filter_map(|call| self.problem(call, &executions))
                .map(|problem| format!("{at}: {problem}"))
                .collect(),
        }
    }

    fn problem(
        &self,
        call: &Call,
        executions: impl Fn(&str) -> &'static [Execution],
    ) -> Option<String> {
        let Call { program, arguments } = call;
        let first = arguments.first().map_or("", String::as_str);
        let name = if program == "tare" { first } else { program };
        self.called.borrow_mut().insert(name.to_owned());
        match program.as_str() {
            "tare" => {
                executions(first).iter().find_map(|execution| self.refusal(arguments, *execution))
            }
            "make" => self.unknown_target(arguments),
            "cargo" if first == "xtask" => self.unknown_task(arguments.get(1)?),
            _ => None,
        }
    }

    /// Removes archives that a command has left, and which another does not replace.
    fn remove_archives(&self) {
        let names = self.scratch.names().into_iter();
        for name in names.filter(|name| name.ends_with(".tar.gz") && name != ARCHIVE) {
            std::fs::remove_file(self.scratch.path(&name)).expect("an archive");
        }
    }

    /// Returns the first argument of `make` that is neither a variable nor a target.
    fn unknown_target(&self, arguments: &[String]) -> Option<String> {
        let is_target =
            |word: &String| self.makefile.lines().any(|line| line.starts_with(&format!("{word}:")));
        let unknown = arguments.iter().find(|word| !word.contains('=') && !is_target(word))?;
        Some(format!("make {unknown}: no target of the Makefile"))
    }

    fn unknown_task(&self, task: &str) -> Option<String> {
        let is_known = self.tasks.contains(&format!("\n        \"{task}\" => "));
        (!is_known).then(|| format!("cargo xtask {task}: no task of xtask"))
    }

    /// Returns what `tare` says to a command that it refuses.
    fn refusal(&self, arguments: &[String], execution: Execution) -> Option<String> {
        let subcommand = arguments.first().map_or("", String::as_str);
        let executed = executed(arguments, execution);
        let outcome = self.tare.run(&executed);
        self.remove_archives();
        let is_right =
            outcome.code.is_some_and(|code| execution.exit_codes(subcommand).contains(&code));
        let said = outcome.stderr.lines().next().unwrap_or("nothing").to_owned();
        (!is_right).then(|| format!("tare {}: {said}", executed.join(" ")))
    }
}

/// Returns the arguments with which a command is executed.
fn executed(arguments: &[String], execution: Execution) -> Vec<&str> {
    let mut executed: Vec<&str> = arguments.iter().map(|word| filled_in(word)).collect();
    match execution {
        Execution::AsWritten => {}
        Execution::WithoutMeasuring(subcommand, flag) => {
            executed.splice(..executed.len().min(1), [subcommand]);
            let is_flag = |word: &&str| word.split('=').next() == Some(flag);
            if !executed.iter().any(is_flag) {
                executed.push(flag);
            }
        }
        // All words before this flag are parsed, and nothing is done.
        Execution::ParserOnly(_) => {
            let end = executed.iter().position(|word| *word == "--");
            executed.insert(end.unwrap_or(executed.len()), "--help");
        }
    }
    executed
}

/// Returns the word that a test takes for a word of a command.
fn filled_in(word: &str) -> &str {
    PLACEHOLDERS.iter().find(|(name, _)| *name == word).map_or(word, |(_, value)| *value)
}

/// Returns the studies that a page shows: blocks whose first line is a comment that begins with the name of a file.
fn studies(page: &str) -> Vec<(String, String)> {
    let named = |rest: &&str| rest.starts_with("# ") && rest.contains(".toml: ");
    page.split("```toml\n")
        .skip(1)
        .filter(named)
        .filter_map(|rest| rest.split("```").next())
        .filter_map(|study| {
            let name = study.trim_start_matches("# ").split(": ").next()?;
            Path::new(name).extension().map(|_| (name.to_owned(), study.to_owned()))
        })
        .collect()
}
