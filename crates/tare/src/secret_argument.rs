//! Secret on the command line, which every user of the machine can read (ps, /proc/PID/cmdline) until it is
//! overwritten.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;

/// Field of /proc/PID/stat with the address of the first argument, counted from the one after the program's name
/// (proc_pid_stat(5): fields 48 and 3).
const ARG_START: usize = 48 - 3;

/// Overwrites all arguments of this process that are or end with the secret, as in `--token=SECRET`. Where the kernel
/// does not allow it, they stay.
pub(crate) fn overwrite(secret: &str) {
    // A failure leaves what the user chose to write on the command line, which the help warns of.
    let _ = overwrite_all(secret.as_bytes());
}

fn overwrite_all(secret: &[u8]) -> std::io::Result<()> {
    if secret.is_empty() {
        return Ok(());
    }
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The program's name stands in parentheses, and may have any characters.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let start = fields.split_whitespace().nth(ARG_START).and_then(|field| field.parse().ok());
    let start: u64 = start.ok_or(std::io::ErrorKind::InvalidData)?;
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    let arguments = std::fs::read("/proc/self/cmdline")?;
    for at in positions(&arguments, secret) {
        hide(&memory, start + at as u64, secret.len())?;
    }
    Ok(())
}

fn hide(memory: &File, address: u64, length: usize) -> std::io::Result<()> {
    memory.write_all_at(&vec![b'x'; length], address)
}

/// Returns the offsets of the secret in arguments that are separated by NUL bytes, where it ends one and begins it, or
/// follows an equals sign.
fn positions(arguments: &[u8], secret: &[u8]) -> Vec<usize> {
    let mut begin = 0;
    let mut positions = Vec::new();
    for argument in arguments.split(|&byte| byte == 0) {
        if let Some(before) = argument.strip_suffix(secret)
            && matches!(before.last(), None | Some(b'='))
        {
            positions.push(begin + before.len());
        }
        begin += argument.len() + 1;
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_arguments_and_values_are_found() {
        let arguments = b"tare\0probe\0--token\0abc\0--token=abc\0xabc\0abcd\0";
        assert_eq!(positions(arguments, b"abc"), [19, 31]);
        assert_eq!(positions(b"", b"abc"), [0; 0]);
    }
}
