//! Frames that carry the streams of a program over one connection: a kind, a length, and that many bytes.

use std::io::{self, Read, Write};

/// Maximum length of a frame's content, bytes.
const MAX_CONTENT: usize = 1 << 20;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// The name of a task, or a [`TaskHello`](super::messages::TaskHello) as JSON.
    Hello = 1,
    /// An [`StartRequest`](super::messages::StartRequest), as JSON.
    Start,
    /// Bytes for the program's input.
    Input,
    /// The end of the program's input.
    InputEnds,
    /// Bytes that the program wrote to its output.
    Output,
    /// Bytes that the program wrote to its standard error.
    ErrorOutput,
    /// The program's exit code; the last frame.
    Exit,
}

impl FrameKind {
    const ALL: [Self; 7] = [
        Self::Hello,
        Self::Start,
        Self::Input,
        Self::InputEnds,
        Self::Output,
        Self::ErrorOutput,
        Self::Exit,
    ];
}

/// Writes a frame, and flushes it.
pub(super) fn write_frame(to: &mut impl Write, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&to_bytes(kind, bytes)?)?;
    to.flush()
}

/// Returns a frame as it is written.
pub(super) fn to_bytes(kind: FrameKind, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(bytes.len()).map_err(|_| too_long())?;
    let mut frame = Vec::with_capacity(5 + bytes.len());
    frame.push(kind as u8);
    frame.extend(length.to_be_bytes());
    frame.extend(bytes);
    Ok(frame)
}

/// Reads a frame. Returns `None` if the connection has ended before it.
pub(super) fn read_frame(from: &mut impl Read) -> io::Result<Option<(FrameKind, Vec<u8>)>> {
    let mut kind = [0];
    if from.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let kind = FrameKind::ALL
        .into_iter()
        .find(|one| *one as u8 == kind[0])
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "invalid kind of frame"))?;
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(|_| too_long())?;
    if length > MAX_CONTENT {
        return Err(too_long());
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some((kind, bytes)))
}

/// Reads a frame. Fails if there is none, or if it is of another kind.
pub(super) fn expect_frame(from: &mut impl Read, wanted: FrameKind) -> io::Result<Vec<u8>> {
    of_kind(read_frame(from)?, wanted)
}

/// Returns the content of a frame. Fails if there is none, or if it is of another kind.
pub(super) fn of_kind(
    frame: Option<(FrameKind, Vec<u8>)>,
    wanted: FrameKind,
) -> io::Result<Vec<u8>> {
    match frame {
        Some((kind, bytes)) if kind == wanted => Ok(bytes),
        Some((kind, _)) => {
            let why = format!("expected a frame of kind {wanted:?}, received {kind:?}");
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame exceeds the maximum length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_are_read_as_they_are_written(
            frames in proptest::collection::vec((0..FrameKind::ALL.len(), proptest::collection::vec(any::<u8>(), 0..64)), 0..8),
        ) {
            let mut wire = Vec::new();
            for (kind, bytes) in &frames {
                write_frame(&mut wire, FrameKind::ALL[*kind], bytes).unwrap();
            }
            let mut wire = wire.as_slice();
            for (kind, bytes) in frames {
                prop_assert_eq!(read_frame(&mut wire).unwrap(), Some((FrameKind::ALL[kind], bytes)));
            }
            prop_assert_eq!(read_frame(&mut wire).unwrap(), None);
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..32)) {
            let _ = read_frame(&mut bytes.as_slice());
        }
    }

    #[test]
    fn a_frame_that_is_cut_off_or_too_long_is_an_error() {
        let mut wire = Vec::new();
        write_frame(&mut wire, FrameKind::Input, b"abc").unwrap();
        assert!(read_frame(&mut &wire[..6]).is_err());
        assert!(read_frame(&mut [3, 0xff, 0, 0, 0].as_slice()).is_err());
        assert!(expect_frame(&mut wire.as_slice(), FrameKind::Output).is_err());
        assert_eq!(expect_frame(&mut wire.as_slice(), FrameKind::Input).unwrap(), b"abc");
    }
}
