//! Output: results go to standard output, everything else to standard error.

use std::io::Write as _;

/// Writes a result to standard output.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()?;
    Ok(())
}

/// Writes a line to standard error. An error is ignored, as there is no other place to report it.
pub(crate) fn print_status(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
