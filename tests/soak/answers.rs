//! Answers on an idle machine: `make soak`.

use support::program::Tare;
use support::{ScratchDirectory, list, text};

#[test]
#[ignore = "takes a quarter of an hour on a machine that does nothing else: make soak"]
fn the_sentence_of_every_question_holds() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let listed = tare.run(&["ask", "--json"]).expect(0).json();
    let mut wrong = Vec::new();
    for question in list(&listed, "questions") {
        let name = text(question, "name");
        let document = tare.run(&["ask", name, "--json", "--out", name]).expect(0).json();
        for conclusion in list(&document["rerun"], "conclusions") {
            let (result, reason) = (text(conclusion, "result"), text(conclusion, "reason"));
            println!("{name}: {result}: {reason}");
            // What this machine does not have decides nothing.
            if result != "holds" && !reason.contains("was not measured") {
                wrong.push(name.to_owned());
            }
        }
    }
    assert!(wrong.is_empty(), "the pages of these say what does not hold here: {wrong:?}");
}
