//! Answer of the run, the sentences with which the terminal's report begins.

use super::element::{Element, MarkupNode};
use crate::answer::{Sentence, ShapeAnswer, Span, answers};
use tare_record::Document;

/// Largest number of shapes whose answer is open when the page opens.
const OPEN_SHAPES: usize = 4;

/// Builds the answer: a paragraph for each sentence, under the shape's heading if there are several.
pub(crate) fn answer(document: &Document) -> Vec<Element> {
    let answers = answers(document);
    let (open, folded) = answers.split_at(answers.len().min(OPEN_SHAPES));
    let mut elements: Vec<Element> = open.iter().flat_map(of_shape).collect();
    if !folded.is_empty() {
        let summary = format!("The answer for {} more shapes", folded.len());
        let details = Element::new("details").push(Element::new("summary").push(summary));
        elements.push(details.extend(folded.iter().flat_map(of_shape)));
    }
    elements
}

/// Builds the heading of a shape and its sentences.
fn of_shape(answer: &ShapeAnswer<'_>) -> Vec<Element> {
    let heading =
        (!answer.heading.is_empty()).then(|| Element::new("h2").push(answer.heading.as_str()));
    heading.into_iter().chain(answer.sentences.iter().map(paragraph)).collect()
}

/// Builds the paragraph of a sentence.
fn paragraph(sentence: &Sentence) -> Element {
    let node = |span: &Span| -> MarkupNode {
        match span {
            Span::Name(name) => Element::new("strong").push(name.as_str()).into(),
            // A percentage and an interval are not to be broken.
            Span::Words(words) => {
                words.replace(" %", "\u{a0}%").replace(" ± ", "\u{a0}±\u{a0}").into()
            }
        }
    };
    Element::new("p").extend(sentence.spans().iter().map(node))
}
