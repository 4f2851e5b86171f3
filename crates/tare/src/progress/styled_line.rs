//! Line of a terminal: pieces of text with styles, cut to a width.

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Character at the end of a text that was cut.
const CUT: char = '…';

/// Meaning of a piece of text, which decides its colour. The words carry the meaning without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emphasis {
    /// Ordinary text.
    Plain,
    /// Heading, or what is being measured.
    Strong,
    /// Text that is less important than its neighbours.
    Faint,
    /// Better than the baseline.
    Good,
    /// Worse, but within the margin.
    Mild,
    /// Worse, or broken.
    Bad,
}

impl Emphasis {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Good => colour(AnsiColor::Green),
            Self::Mild => colour(AnsiColor::Yellow),
            Self::Bad => colour(AnsiColor::Red),
        }
    }
}

/// Line of styled pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StyledLine(Vec<(Emphasis, String)>);

impl StyledLine {
    /// Creates a line of one piece.
    pub(super) fn new(emphasis: Emphasis, text: &str) -> Self {
        let mut line = Self::default();
        line.push(emphasis, text);
        line
    }

    /// Appends a piece. What a terminal obeys is shown: labels come from files, and reasons from programs.
    pub(super) fn push(&mut self, emphasis: Emphasis, text: &str) {
        self.0.push((emphasis, printable(text)));
    }

    /// Appends a piece, cut or filled with blanks to this many columns.
    pub(super) fn push_field(&mut self, emphasis: Emphasis, text: &str, columns: usize) {
        let text = cut(&printable(text), columns);
        let blanks = columns - text.width();
        self.0.push((emphasis, text));
        self.0.push((Emphasis::Plain, " ".repeat(blanks)));
    }

    /// Returns the width, columns.
    #[cfg(test)]
    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// Returns the width without the blanks at the end, which are not painted, columns.
    pub(super) fn painted_width(&self) -> usize {
        self.paint(false).width()
    }

    /// Cuts the line to this many columns.
    pub(super) fn cut_to(&mut self, columns: usize) {
        let mut left = columns;
        for (_, text) in &mut self.0 {
            if text.width() > left {
                *text = cut(text, left);
            }
            left -= text.width();
        }
    }

    /// Returns the text without styles.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        self.paint(false)
    }

    /// Returns the text for a terminal, with or without styles. Blanks at the end are left out, so that a terminal that
    /// becomes narrower does not wrap them.
    pub(super) fn paint(&self, colour: bool) -> String {
        let length = self.0.iter().rposition(|(_, text)| !text.trim_end().is_empty());
        let mut painted = String::new();
        for (index, (emphasis, text)) in self.0.iter().enumerate() {
            let text = match length {
                Some(last) if index < last => text.as_str(),
                Some(last) if index == last => text.trim_end(),
                _ => "",
            };
            let style = if colour { emphasis.style() } else { Style::new() };
            if !text.is_empty() {
                painted.push_str(&format!("{style}{text}{style:#}"));
            }
        }
        painted
    }
}

/// Makes visible what a terminal obeys, and keeps the text on its line.
fn printable(text: &str) -> String {
    tare_record::visible_text(text).replace(['\n', '\t'], " ")
}

/// Cuts a text to this many columns.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        short.push(c);
    }
    if columns > 0 {
        short.push(CUT);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn styles_end_where_they_begin_and_vanish_without_colours() {
        let mut line = StyledLine::new(Emphasis::Bad, "slower");
        line.push_field(Emphasis::Plain, " than\u{1b}[2J", 20);
        assert_eq!(line.paint(true), "\u{1b}[31mslower\u{1b}[0m than\\u001b[2J");
        assert_eq!(line.paint(false), "slower than\\u001b[2J");
        assert_eq!(line.width(), 26);
        line.cut_to(8);
        assert_eq!(line.text(), "slower …");
    }

    proptest! {
        #[test]
        fn a_line_is_as_wide_as_it_is_cut(pieces in prop::collection::vec(".{0,20}", 0..6), columns in 0usize..60) {
            let mut line = StyledLine::default();
            pieces.iter().for_each(|piece| line.push(Emphasis::Strong, piece));
            let before = line.width();
            line.cut_to(columns);
            prop_assert!(line.width() <= columns && line.width() <= before);
            prop_assert!(line.text().width() <= columns);
        }

        #[test]
        fn a_field_has_its_width(text in ".{0,30}", columns in 0usize..20) {
            let mut line = StyledLine::default();
            line.push_field(Emphasis::Plain, &text, columns);
            prop_assert_eq!(line.width(), columns);
        }
    }
}
