//! Picture of a report on a terminal, as an SVG file: the same text in the same colours, light or dark as the system of
//! the reader.

mod coloured_text;

use crate::answer::answers;
use crate::html::{Element, MarkupNode, compact};
use crate::notes::NoteExtent;
use crate::style::{Style, Tone};
use crate::table::table;
use crate::text::{width, wrap};
use coloured_text::{Piece, lines};
use std::path::Path;
use tare_record::Document;

/// Width of the terminal, columns.
const COLUMNS: u16 = 92;

/// Width of a column, px. Text is drawn to this width whatever the reader's font is.
const COLUMN: usize = 8;

/// Height of a line, px.
const LINE: usize = 18;

/// Distance of the text from the frame, px.
const MARGIN: usize = 18;

/// Draws the command of a run and its report.
#[must_use]
pub fn terminal_picture(document: &Document) -> String {
    let style = Style { width: COLUMNS, colour: true };
    let command = format!("tare {}", document.environment.command.join(" "));
    let prompt = style.paint(Tone::Faint, "$");
    let typed = style.paint(Tone::Strong, &continued(&command, usize::from(COLUMNS)));
    let directory = Path::new("DIR");
    let report = table(document, &style, NoteExtent::Heaviest { directory });
    let text = format!("{prompt} {typed}\n{}", within(&report, usize::from(COLUMNS)));
    draw(&format!("{command} on a terminal"), &said(document), &lines(&text))
}

/// Returns the sentences of the answer, for readers who do not see the picture.
fn said(document: &Document) -> String {
    let answers = answers(document);
    let sentences = answers.iter().flat_map(|answer| &answer.sentences);
    sentences.map(|sentence| sentence.plain().replace('`', "")).collect::<Vec<_>>().join(" ")
}

/// Breaks a command into lines as one types them in a shell.
fn continued(command: &str, columns: usize) -> String {
    const PROMPT_AND_BACKSLASH: usize = 4;
    wrap(command, columns - PROMPT_AND_BACKSLASH).replace('\n', " \\\n")
}

/// Breaks the lines whose end is left to the terminal: notes, which have no colours. Tables keep to the width.
fn within(report: &str, columns: usize) -> String {
    let is_note = |line: &str| !line.contains('\u{1b}') && width(line) > columns;
    let line = |line: &str| if is_note(line) { wrap(line, columns) } else { line.to_owned() };
    report.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Draws lines in a frame.
fn draw(title: &str, description: &str, lines: &[Vec<Piece>]) -> String {
    let end = |piece: &Piece| piece.column + width(&piece.text);
    let columns = lines.iter().flatten().map(end).max().unwrap_or_default();
    let (wide, high) = (columns * COLUMN + 2 * MARGIN, lines.len() * LINE + 2 * MARGIN);
    let frame = Element::new("rect")
        .with("x", "0.5")
        .with("y", "0.5")
        .with("width", wide - 1)
        .with("height", high - 1)
        .with("rx", 8);
    let texts = lines.iter().enumerate().flat_map(|(line, pieces)| {
        // The letters stand on a line at two thirds of its height.
        let base = MARGIN + line * LINE + LINE * 2 / 3;
        pieces.iter().map(move |piece| text(piece, base))
    });
    Element::new("svg")
        .with("xmlns", "http://www.w3.org/2000/svg")
        .with("viewBox", format!("0 0 {wide} {high}"))
        .with("width", wide)
        .with("height", high)
        .with("role", "img")
        .class("terminal")
        .push(Element::new("title").push(MarkupNode::Text(title.to_owned())))
        .push(Element::new("desc").push(MarkupNode::Text(description.to_owned())))
        .push(Element::new("style").push(MarkupNode::Raw(compact(include_str!("terminal.css")))))
        .push(frame)
        .extend(texts)
        .to_string()
}

fn text(piece: &Piece, base: usize) -> Element {
    Element::new("text")
        .with("x", MARGIN + piece.column * COLUMN)
        .with("y", base)
        .with("textLength", width(&piece.text) * COLUMN)
        .with("lengthAdjust", "spacingAndGlyphs")
        .with_some("class", class(piece.tone))
        .push(MarkupNode::Text(piece.text.clone()))
}

/// Returns the class of a tone in the style sheet.
fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Strong => Some("strong"),
        Tone::Faint => Some("faint"),
        Tone::Good => Some("good"),
        Tone::Mild => Some("mild"),
        Tone::Bad => Some("bad"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_drawn_at_its_column_in_its_tone() {
        let piece = |column, text: &str, tone| Piece { column, text: text.to_owned(), tone };
        let svg = draw(
            "t",
            "d",
            &[
                vec![piece(0, "a < b", Tone::Plain)],
                vec![],
                vec![piece(2, "µs", Tone::Bad), piece(10, "x", Tone::Good)],
            ],
        );
        assert!(svg.contains("viewBox=\"0 0 124 90\""), "{svg}");
        assert!(
            svg.contains(
                "<text x=\"18\" y=\"30\" textLength=\"40\" lengthAdjust=\"spacingAndGlyphs\">a &lt; b</text>"
            ),
            "{svg}"
        );
        assert!(svg.contains("<title>t</title><desc>d</desc>"), "{svg}");
        assert!(svg.contains("x=\"34\" y=\"66\" textLength=\"16\""), "{svg}");
        assert!(svg.contains("class=\"bad\">µs</text>"), "{svg}");
        assert!(svg.contains("class=\"good\">x</text>"), "{svg}");
    }

    #[test]
    fn a_long_command_is_continued() {
        assert_eq!(continued("tare run --quick", 20), "tare run --quick");
        assert_eq!(continued("tare run --quick", 16), "tare run \\\n  --quick");
    }

    #[test]
    fn notes_end_with_the_terminal() {
        assert_eq!(within("note: a b\nnote: c d e\n", 9), "note: a b\nnote: c d\n  e");
        let coloured = "\u{1b}[31m1 slower\u{1b}[0m";
        assert_eq!(within(coloured, 8), coloured);
    }

    #[test]
    fn every_class_and_both_schemes_have_colours() {
        let style = include_str!("terminal.css");
        assert!(style.contains("prefers-color-scheme: dark"));
        for class in Tone::ALL.into_iter().filter_map(class) {
            assert!(style.contains(&format!(".terminal .{class} {{")), "{class}");
        }
    }
}
