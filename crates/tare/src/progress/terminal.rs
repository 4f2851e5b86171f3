//! The user's terminal: what it can display, its size, and its mode for keys.

use super::live_text::TerminalSize;
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};
use std::io::{Write as _, stderr, stdin};
use std::os::fd::AsFd;

/// Size of a terminal that does not tell its own.
const USUAL_SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

/// Returns true if standard error is a terminal on which lines can be drawn again, and this process is in the
/// foreground of it. Text of a process in the background would stand in the middle of what the user types.
pub(super) fn can_redraw() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    isatty(stderr()) && !term.is_empty() && term != "dumb" && is_in_foreground(stderr())
}

/// Returns true if colours may be used (<https://no-color.org>).
pub(super) fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns the size of the terminal.
pub(super) fn size() -> TerminalSize {
    match tcgetwinsize(stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            TerminalSize { columns: size.ws_col.into(), rows: size.ws_row.into() }
        }
        _ => USUAL_SIZE,
    }
}

/// Writes to the terminal. An error is ignored: the display is not the result.
pub(super) fn write(output: &str) {
    let mut stderr = stderr().lock();
    let _ = stderr.write_all(output.as_bytes()).and_then(|()| stderr.flush());
}

/// Returns true if this process may write to the terminal.
pub(super) fn is_ours() -> bool {
    is_in_foreground(stderr())
}

/// Returns true if the keys that are typed are for this process.
pub(super) fn has_keys() -> bool {
    isatty(stdin()) && is_in_foreground(stdin())
}

/// Returns true if this process is in the foreground of its terminal. The kernel stops a process in the background that
/// reads from the terminal or changes its mode.
fn is_in_foreground(terminal: impl AsFd) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

/// Terminal that passes on each key at once and does not show it. Signals of keys (Ctrl-C, Ctrl-Z) keep their meaning.
/// Dropping it restores the terminal.
pub(super) struct KeyMode(Termios);

impl KeyMode {
    /// Changes the mode of the terminal. Returns `None` if standard input is no terminal, or in the background of it.
    pub(super) fn enable() -> Option<Self> {
        if !has_keys() {
            return None;
        }
        let before = tcgetattr(stdin()).ok()?;
        let mut keys = before.clone();
        keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &keys).ok()?;
        Some(Self(before))
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        // In the background the terminal is another program's, which has set its own mode.
        if has_keys() {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
        }
    }
}
