//! Where words go: results to standard output, everything else to standard error.

use std::io::Write as _;

/// Writes a result to standard output.
///
/// # Errors
/// When nobody takes it.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()?;
    Ok(())
}

/// Writes a line to standard error. If even that is closed, there is nobody left to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
