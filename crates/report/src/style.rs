//! Width and colours of text output.

use anstyle::{AnsiColor, Style as Ansi};
use std::ffi::OsStr;
use std::io::IsTerminal as _;

/// Width of output that is not written to a terminal, columns.
const FIXED_WIDTH: u16 = 100;

/// Style of text output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Width to keep to where possible, columns.
    pub width: u16,
    /// True if colours may be used. Words carry the meaning without them.
    pub colour: bool,
}

impl Style {
    /// Fixed width, no colours: for files, pipes and tests.
    pub const PLAIN: Self = Self { width: FIXED_WIDTH, colour: false };

    /// Detects the style that standard output supports.
    ///
    /// A terminal has its own width, and colours unless `NO_COLOR` is set (<https://no-color.org>) or `TERM` is `dumb`.
    /// Other output gets [`Style::PLAIN`].
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

    /// Colours the text by its tone, if colours are used.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let ansi = tone.ansi();
        if !self.colour || ansi.is_plain() || text.is_empty() {
            return text.to_owned();
        }
        format!("{}{text}{}", ansi.render(), ansi.render_reset())
    }
}

/// Returns true if a terminal with these values of `NO_COLOR` and `TERM` supports colours.
fn takes_colour(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term != Some(OsStr::new("dumb"))
}

/// Meaning of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// Names and headings.
    Strong,
    /// Text that is less important than its neighbours.
    Faint,
    /// Result that is better than the baseline.
    Good,
    /// Result that is worse, but within the margin.
    Mild,
    /// Result that is worse by more than the margin, or broken.
    Bad,
}

impl Tone {
    /// All tones.
    pub(crate) const ALL: [Self; 6] =
        [Self::Plain, Self::Strong, Self::Faint, Self::Good, Self::Mild, Self::Bad];

    /// Returns the tone that a sequence with these numbers sets. Numbers of no other tone set the plain one, as 0 does.
    pub(crate) fn from_code(code: &str) -> Self {
        let sequence = format!("\u{1b}[{code}m");
        let is_told = |tone: &Self| tone.ansi().render().to_string() == sequence;
        Self::ALL.into_iter().find(is_told).unwrap_or_default()
    }

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
