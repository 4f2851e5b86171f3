//! The user's terminal, handed to a program in a container.

use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::io::{stdin, stdout};

/// Terminal in raw mode, which passes every key on unchanged. Dropping it restores the terminal.
pub(crate) struct RawTerminal(Termios);

/// Returns whether standard input and output are a terminal.
pub(crate) fn is_interactive() -> bool {
    isatty(stdin()) && isatty(stdout())
}

impl RawTerminal {
    /// Switches the terminal to raw mode. Returns `None` if there is none.
    pub(crate) fn enable() -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}
