//! Tar archive, as far as an image needs one: files and directories in the ustar format (POSIX.1-1988), with uid and
//! gid 0 and mtime 0, so that equal content makes an equal archive.

/// Size of a block, bytes: a header is one block, and content is padded to whole blocks.
const BLOCK: usize = 512;

/// Tar archive under construction.
#[derive(Debug, Default)]
pub(crate) struct TarArchive {
    bytes: Vec<u8>,
}

impl TarArchive {
    /// Adds a file. Its path must have fewer than 100 bytes, which all paths of tare's have.
    pub(crate) fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.header(path, mode, b'0', content.len());
        self.bytes.extend_from_slice(content);
        let filled = self.bytes.len().next_multiple_of(BLOCK);
        self.bytes.resize(filled, 0);
    }

    /// Adds a directory; its path ends with a slash.
    pub(crate) fn directory(&mut self, path: &str, mode: u32) {
        self.header(path, mode, b'5', 0);
    }

    /// Returns the archive with its end: two blocks of zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 2 * BLOCK, 0);
        self.bytes
    }

    fn header(&mut self, path: &str, mode: u32, kind: u8, size: usize) {
        let mut header = [0_u8; BLOCK];
        let mut put = |at: usize, text: &str| {
            header[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        put(0, path);
        put(100, &format!("{mode:07o}"));
        put(108, "0000000");
        put(116, "0000000");
        put(124, &format!("{size:011o}"));
        put(136, "00000000000");
        // The checksum is computed with its own field filled with spaces.
        put(148, "        ");
        put(257, "ustar");
        put(263, "00");
        put(265, "root");
        put(297, "root");
        header[156] = kind;
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
        header[154] = 0;
        self.bytes.extend_from_slice(&header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn another_tar_reads_it() {
        let mut archive = TarArchive::default();
        archive.directory("tmp/", 0o1777);
        archive.file("tare", 0o755, &[b'x'; 700]);
        archive.file("empty", 0o644, b"");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % BLOCK, 0);
        let mut tar = Command::new("tar")
            .args(["--list", "--verbose", "--numeric-owner", "--file", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        tar.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = tar.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        for words in ["drwxrwxrwt", "-rwxr-xr-x", " 700 ", "tare", "empty"] {
            assert!(text.contains(words), "{text}");
        }
    }
}
