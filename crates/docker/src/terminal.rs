//! The user's terminal, handed to a program in a container.

use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::io::{stdin, stdout};

/// A terminal that passes every key on as it is. Dropping it puts the terminal back.
pub(crate) struct Raw(Termios);

/// Whether the user sits at a terminal.
pub(crate) fn is_there() -> bool {
    isatty(stdin()) && isatty(stdout())
}

impl Raw {
    /// Makes the terminal raw; nothing where there is none.
    pub(crate) fn make() -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing put back.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}
