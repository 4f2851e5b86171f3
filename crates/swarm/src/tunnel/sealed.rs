//! Authenticated frames: after the handshake, every frame ends with a proof that the other end wrote it, in this place
//! of this connection.
//!
//! Whoever is on the path between two nodes could otherwise take over a connection after its handshake, and start
//! programs in a task. Each direction has a key of its own, made from the secret and both nonces; a proof covers the
//! number of the frame, so that none can be left out, repeated or moved. Contents are not secret.

use super::frame::{self, FrameKind};
use std::io::{self, Read, Write};
use tare_secret::{PROOF_SIZE, SharedSecret};

/// Writer of authenticated frames.
#[derive(Debug)]
pub(super) struct SealedWriter<W> {
    to: W,
    key: SharedSecret,
    /// Number of frames written.
    written: u64,
}

/// Reader of authenticated frames.
#[derive(Debug)]
pub(super) struct SealedReader<R> {
    from: R,
    key: SharedSecret,
    /// Number of frames read.
    read: u64,
}

impl<W: Write> SealedWriter<W> {
    /// Creates a writer with the key of its direction.
    pub(super) fn new(to: W, key: SharedSecret) -> Self {
        Self { to, key, written: 0 }
    }

    /// Returns what it writes to.
    pub(super) fn inner(&self) -> &W {
        &self.to
    }

    /// Writes a frame with its proof, and flushes it.
    pub(super) fn write(&mut self, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
        let mut sealed = frame::to_bytes(kind, bytes)?;
        let proof = self.key.proof(&[&self.written.to_be_bytes(), &sealed]);
        self.written += 1;
        sealed.extend(proof);
        self.to.write_all(&sealed)?;
        self.to.flush()
    }
}

impl<R: Read> SealedReader<R> {
    /// Creates a reader with the key of its direction.
    pub(super) fn new(from: R, key: SharedSecret) -> Self {
        Self { from, key, read: 0 }
    }

    /// Reads a frame. Returns `None` if the connection has ended before it.
    pub(super) fn read(&mut self) -> io::Result<Option<(FrameKind, Vec<u8>)>> {
        let Some((kind, bytes)) = frame::read_frame(&mut self.from)? else { return Ok(None) };
        let mut proof = [0; PROOF_SIZE];
        self.from.read_exact(&mut proof)?;
        let sealed = frame::to_bytes(kind, &bytes)?;
        if !self.key.is_valid_proof(&proof, &[&self.read.to_be_bytes(), &sealed]) {
            let why = "the frame was not written by the other end";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        self.read += 1;
        Ok(Some((kind, bytes)))
    }

    /// Reads a frame. Fails if there is none, or if it is of another kind.
    pub(super) fn expect(&mut self, wanted: FrameKind) -> io::Result<Vec<u8>> {
        frame::of_kind(self.read()?, wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> SharedSecret {
        SharedSecret::new(text.as_bytes()).unwrap()
    }

    /// Returns these contents as sealed input frames, each on its own.
    fn sealed(contents: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut writer = SealedWriter::new(Vec::new(), key("k"));
        contents
            .iter()
            .map(|bytes| {
                writer.write(FrameKind::Input, bytes).unwrap();
                std::mem::take(&mut writer.to)
            })
            .collect()
    }

    /// Reads frames until the end or an error. Returns the contents, and the error.
    fn read(wire: &[u8], secret: &str) -> (Vec<Vec<u8>>, Option<io::ErrorKind>) {
        let mut reader = SealedReader::new(wire, key(secret));
        let mut contents = Vec::new();
        loop {
            match reader.read() {
                Ok(Some((_, bytes))) => contents.push(bytes),
                Ok(None) => return (contents, None),
                Err(error) => return (contents, Some(error.kind())),
            }
        }
    }

    #[test]
    fn frames_are_read_in_their_order_with_their_key() {
        let frames = sealed(&[b"a", b"", b"c"]);
        let (contents, error) = read(&frames.concat(), "k");
        assert_eq!((contents, error), (vec![b"a".to_vec(), Vec::new(), b"c".to_vec()], None));
        let denied = Some(io::ErrorKind::PermissionDenied);
        assert_eq!(read(&frames.concat(), "other").1, denied);
        for moved in [
            [&frames[0][..], &frames[0]].concat(),
            [&frames[1][..], &frames[0]].concat(),
            [&frames[0][..], &frames[2]].concat(),
        ] {
            assert_eq!(read(&moved, "k").1, denied, "repeated, moved or left out");
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed(content in prop::collection::vec(any::<u8>(), 0..40), at in 0usize..80, change in 1u8..) {
            let mut wire = sealed(&[&content]).concat();
            let at = at % wire.len();
            wire[at] ^= change;
            let (contents, error) = read(&wire, "k");
            prop_assert!(contents.is_empty() && error.is_some());
        }
    }
}
