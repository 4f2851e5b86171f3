//! Writer for tar archives of small files in the POSIX interchange format (ustar, IEEE Std 1003.1, pax).

/// Size of a block, bytes.
const BLOCK: usize = 512;

/// Lengths of the fields for a file's name, bytes.
const NAME: usize = 100;
const PREFIX: usize = 155;

/// Builds a reproducible tar archive: mode 0644, uid and gid 0, mtime 0.
pub(super) fn build_archive<'a>(files: impl Iterator<Item = (String, &'a [u8])>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        out.extend(header(&name, bytes.len()));
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks end the archive.
    out.resize(out.len() + 2 * BLOCK, 0);
    out
}

/// Splits a name into a prefix and a name for the header's two fields, at a slash, which is in neither.
fn split_name(name: &str) -> (&str, &str) {
    if name.len() <= NAME {
        return ("", name);
    }
    let slash = name.match_indices('/').map(|(at, _)| at).find(|at| name.len() - at - 1 <= NAME);
    slash.filter(|&at| at <= PREFIX).map_or(("", name), |at| (&name[..at], &name[at + 1..]))
}

fn header(name: &str, size: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, length: usize, text: &str| {
        let length = length.min(text.len());
        header[at..at + length].copy_from_slice(&text.as_bytes()[..length]);
    };
    let (prefix, name) = split_name(name);
    put(0, NAME, name);
    put(345, PREFIX, prefix);
    put(100, 8, "0000644");
    put(108, 8, "0000000");
    put(116, 8, "0000000");
    put(124, 12, &format!("{size:011o}"));
    put(136, 12, "00000000000");
    // The checksum counts its own field as blanks.
    put(148, 8, "        ");
    put(156, 1, "0");
    put(257, 8, "ustar\u{0}00");
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn tar_reads_what_is_written() {
        let long = vec![b'x'; 1025];
        let deep = format!("{}/{}", "d".repeat(99), "f".repeat(90));
        let files = [
            ("run/a.txt", &b"hello\n"[..]),
            ("run/b", &long),
            ("run/empty", &[]),
            (&deep, b"deep"),
        ];
        let bytes = build_archive(files.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)));
        assert_eq!(bytes.len() % BLOCK, 0);
        let tar = |arguments: &[&str]| {
            let mut child = Command::new("tar")
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(&bytes).unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            output.stdout
        };
        let names = format!("run/a.txt\nrun/b\nrun/empty\n{deep}\n");
        assert_eq!(tar(&["-tf", "-"]), names.as_bytes());
        assert_eq!(tar(&["-xOf", "-", &deep]), b"deep");
        assert_eq!(tar(&["-xOf", "-", "run/a.txt"]), b"hello\n");
        assert_eq!(tar(&["-xOf", "-", "run/b"]), long);
    }
}
