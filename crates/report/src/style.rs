//! How wide the paper is, and whether there is ink in colours.

use anstyle::{AnsiColor, Style as Ansi};
use std::ffi::OsStr;
use std::io::IsTerminal as _;

/// The width of everything that is not written to a terminal, columns.
const FIXED_WIDTH: u16 = 100;

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The width to keep to where possible, columns.
    pub width: u16,
    /// Whether colours may be used; words carry the meaning without them.
    pub colour: bool,
}

impl Style {
    /// Fixed width, no colour: for files, pipes and tests.
    pub const PLAIN: Self = Self { width: FIXED_WIDTH, colour: false };

    /// What standard output can show.
    ///
    /// A terminal gives its own width, and colours unless `NO_COLOR` is set (<https://no-color.org>) or `TERM` is
    /// `dumb`; anything else gets [`Style::PLAIN`].
    #[must_use]
    pub fn detect() -> Self {
        let output = std::io::stdout();
        if !output.is_terminal() {
            return Self::PLAIN;
        }
        Self {
            width: terminal_size::terminal_size_of(output)
                .map_or(FIXED_WIDTH, |(width, _)| width.0),
            colour: takes_colour(
                std::env::var_os("NO_COLOR").as_deref(),
                std::env::var_os("TERM").as_deref(),
            ),
        }
    }

    /// The text in the colour of its tone, where colours are used.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let ansi = tone.ansi();
        if !self.colour || ansi.is_plain() || text.is_empty() {
            return text.to_owned();
        }
        format!("{}{text}{}", ansi.render(), ansi.render_reset())
    }
}

/// Whether a terminal with these variables set wants colours.
fn takes_colour(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term != Some(OsStr::new("dumb"))
}

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// A name.
    Strong,
    /// Less important than its neighbours.
    Faint,
    /// Better than the baseline.
    Good,
    /// Worse, yet within the margin.
    Mild,
    /// Worse by more than the margin, or broken.
    Bad,
}

impl Tone {
    fn ansi(self) -> Ansi {
        match self {
            Self::Plain => Ansi::new(),
            Self::Strong => Ansi::new().bold(),
            Self::Faint => Ansi::new().dimmed(),
            Self::Good => Ansi::new().fg_color(Some(AnsiColor::Green.into())),
            Self::Mild => Ansi::new().fg_color(Some(AnsiColor::Yellow.into())),
            Self::Bad => Ansi::new().fg_color(Some(AnsiColor::Red.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_dumb_terminals_are_respected() {
        let colour = |no_color: Option<&str>, term: Option<&str>| {
            takes_colour(no_color.map(OsStr::new), term.map(OsStr::new))
        };
        assert!(colour(None, Some("xterm")));
        assert!(colour(Some(""), Some("xterm")));
        assert!(!colour(Some("1"), Some("xterm")));
        assert!(!colour(None, Some("dumb")));
    }

    #[test]
    fn plain_style_paints_nothing() {
        assert_eq!(Style::PLAIN.paint(Tone::Bad, "slower"), "slower");
        let coloured = Style { colour: true, ..Style::PLAIN };
        assert_eq!(coloured.paint(Tone::Bad, "slower"), "\u{1b}[31mslower\u{1b}[0m");
        assert_eq!(coloured.paint(Tone::Plain, "same"), "same");
    }
}
