//! Tests of `tare ask`: every question is listed, and its study measures what its sentence is about. Whether the sentences
//! hold is for an idle machine: `make soak`.

use serde_json::Value;
use support::program::Tare;
use support::{ScratchDirectory, list, schema, text};

/// Questions of other tests: `database`, whose load comes from real servers, and `many-services`, whose seven networks take
/// minutes to come up (`make test-kubernetes`).
const ELSEWHERE: [&str; 2] = ["database", "many-services"];

#[test]
fn questions_are_listed_with_what_to_type() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let listed = tare.run(&["ask", "--json"]).expect(0).json();
    schema::check(&listed, "questions.json");
    let shown = tare.run(&["ask"]).expect(0).text();
    for question in list(&listed, "questions") {
        let row = (text(question, "name"), text(question, "summary"));
        let is_shown = |line: &str| {
            line.trim().split_once(' ').map(|(name, summary)| (name, summary.trim())) == Some(row)
        };
        assert!(shown.lines().any(is_shown), "{row:?}: {shown}");
    }
    assert!(shown.contains("tare ask NAME"), "{shown}");
    let refused = tare.run(&["ask", "life"]).expect(2).stderr;
    assert!(
        refused.contains("unknown question `life`: expected one of bridge-or-host"),
        "{refused}"
    );
}

#[test]
fn every_question_is_measured_and_its_sentence_tested() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let listed = tare.run(&["ask", "--json"]).expect(0).json();
    for question in list(&listed, "questions") {
        let name = text(question, "name");
        if !ELSEWHERE.contains(&name) {
            check_answer(&tare, name, question);
        }
    }
}

/// Budgets that a question has in turn: where a busy machine leaves a network without figures, the next is longer.
const BUDGETS: [&str; 3] = ["2s", "15s", "60s"];

/// Checks that a document has the question, and a tested sentence for it.
fn check_answer(tare: &Tare, name: &str, question: &Value) {
    let mut untested = Vec::new();
    for budget in BUDGETS {
        let directory = format!("{name}-{budget}");
        let run = ["ask", name, "--budget", budget, "--json", "--out", &directory];
        let document = tare.run(&run).expect(0).json();
        schema::check(&document, "run.json");
        assert_eq!(document["rerun"]["question"]["asked"], question["summary"], "{name}");
        untested = untested_sentences(&document);
        if untested.is_empty() {
            return;
        }
    }
    panic!("{name}: {untested:?}");
}

/// Returns the sentences that no ratio tested, but for those on networks that cannot run here.
fn untested_sentences(document: &Value) -> Vec<Value> {
    let skipped = list(document, "skipped");
    let is_untested = |conclusion: &&Value| {
        let reason = text(conclusion, "reason");
        let is_absent = skipped.iter().any(|one| reason.contains(text(one, "network")));
        !reason.contains(" × that of ") && !is_absent
    };
    list(&document["rerun"], "conclusions").iter().filter(is_untested).cloned().collect()
}
