//! Output: results go to standard output, everything else to standard error.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use tare_record::visible_text;

/// Writes a result to standard output. Of what a terminal obeys, only the colours of a report on a terminal pass.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let visible = if stdout.is_terminal() { visible_but_colours(text) } else { visible_text(text) };
    stdout.write_all(visible.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()?;
    Ok(())
}

/// Writes a line to standard error. An error is ignored, as there is no other place to report it.
pub(crate) fn print_status(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible_text(text));
}

/// Makes visible what a terminal obeys, except colours as reports have them: `ESC [`, digits and semicolons, `m`.
fn visible_but_colours(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "\u{1b}[";
    let mut pieces = text.split(BEGIN);
    let Some(first) = pieces.next().filter(|first| first.len() < text.len()) else {
        return visible_text(text);
    };
    let mut visible = visible_text(first).into_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        if let Some(rest) = rest.strip_prefix('m') {
            visible.push_str(BEGIN);
            visible.push_str(&piece[..piece.len() - rest.len()]);
            visible.push_str(&visible_text(rest));
        } else {
            visible.push_str(&visible_text(BEGIN));
            visible.push_str(&visible_text(piece));
        }
    }
    Cow::Owned(visible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colours_and_nothing_else() {
        let coloured = "\u{1b}[1;31mslower\u{1b}[0m";
        assert_eq!(visible_but_colours(coloured), coloured);
        let hostile = "\u{1b}[2J\u{1b}]0;x\u{7}\u{1b}[31m\u{1b}c\u{202e}";
        let shown = "\\u001b[2J\\u001b]0;x\\u0007\u{1b}[31m\\u001bc\\u202e";
        assert_eq!(visible_but_colours(hostile), shown);
        assert_eq!(visible_but_colours("plain"), "plain");
    }
}
