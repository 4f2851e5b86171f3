//! Lines of a stream that arrives in pieces.

use super::line::{LinkLine, MAX_LINE};

/// Buffer of bytes that arrived, from which whole lines are taken.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    /// True if the line under way is longer than any line of a link: its rest is passed over.
    too_long: bool,
}

impl LineBuffer {
    /// Adds bytes, and returns the lines of the link that they complete.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Vec<LinkLine> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.bytes.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                lines.extend((!self.too_long).then(|| LinkLine::parse(&self.bytes)).flatten());
                self.bytes.clear();
                self.too_long = false;
            } else if self.bytes.len() > MAX_LINE {
                self.bytes.clear();
                self.too_long = true;
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_from_pieces() {
        let lines = [LinkLine::Received { next: 7 }, LinkLine::Resume { next: 9 }];
        let text = lines.clone().map(|line| line.to_text()).concat();
        for size in [1, 7, 1000] {
            let mut buffer = LineBuffer::default();
            let read: Vec<_> =
                text.as_bytes().chunks(size).flat_map(|piece| buffer.add(piece)).collect();
            assert_eq!(read, lines);
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let mut buffer = LineBuffer::default();
        for _ in 0..100 {
            assert_eq!(buffer.add(&[b'x'; 10_000]), []);
        }
        assert!(buffer.bytes.len() <= MAX_LINE + 10_000);
        let line = LinkLine::Received { next: 1 };
        let text = format!("\n{}", line.to_text());
        assert_eq!(buffer.add(text.as_bytes()), [line]);
    }
}
