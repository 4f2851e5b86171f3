//! Text for a terminal, taken apart into pieces that each have a column and a tone.

use crate::style::Tone;
use crate::text::width;

/// Beginning of a sequence that sets colours: `ESC [`, then numbers, then `m`.
const BEGIN: &str = "\u{1b}[";

/// Text of one tone on a line, without two blanks in a row: a font of another width then moves no column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// Takes a text apart into lines of pieces.
pub(super) fn lines(text: &str) -> Vec<Vec<Piece>> {
    let mut tone = Tone::Plain;
    text.lines().map(|line| pieces(line, &mut tone)).collect()
}

/// Takes a line apart. The tone lasts until it is changed, also beyond the line.
fn pieces(line: &str, tone: &mut Tone) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut column = 0;
    for (at, part) in line.split(BEGIN).enumerate() {
        let mut text = part;
        if at > 0 {
            let (code, rest) = part.split_once('m').unwrap_or(("", part));
            *tone = Tone::from_code(code);
            text = rest;
        }
        column = add(&mut pieces, column, text, *tone);
    }
    pieces
}

/// Adds a text from a column, in pieces, and returns the column after it.
fn add(pieces: &mut Vec<Piece>, from: usize, text: &str, tone: Tone) -> usize {
    let mut column = from;
    for words in text.split("  ") {
        let blanks = words.len() - words.trim_start().len();
        let shown = words.trim();
        if !shown.is_empty() {
            pieces.push(Piece { column: column + blanks, text: shown.to_owned(), tone });
        }
        column += width(words) + 2;
    }
    column - 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;

    fn shown(text: &str) -> Vec<Vec<(usize, String, Tone)>> {
        let piece = |piece: Piece| (piece.column, piece.text, piece.tone);
        lines(text).into_iter().map(|line| line.into_iter().map(piece).collect()).collect()
    }

    #[test]
    fn pieces_have_their_columns() {
        let piece = |column, text: &str| (column, text.to_owned(), Tone::Plain);
        assert_eq!(
            shown("host   70 ± 3   µs\n\n   a"),
            [
                vec![piece(0, "host"), piece(7, "70 ± 3"), piece(16, "µs")],
                vec![],
                vec![piece(3, "a")]
            ]
        );
    }

    #[test]
    fn every_tone_is_read_as_it_is_painted() {
        let style = Style { width: 80, colour: true };
        for tone in Tone::ALL {
            let line = shown(&format!("0.5×  {}  x", style.paint(tone, "slower"))).remove(0);
            let piece = |column, text: &str, tone| (column, text.to_owned(), tone);
            let expected = [
                piece(0, "0.5×", Tone::Plain),
                piece(6, "slower", tone),
                piece(14, "x", Tone::Plain),
            ];
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn a_tone_lasts_over_the_end_of_a_line() {
        let text = Style { width: 80, colour: true }.paint(Tone::Strong, "a\nb");
        assert!(shown(&text).concat().iter().all(|piece| piece.2 == Tone::Strong));
    }
}
