//! The streams of a program over one connection: frames of a kind, a length and so many bytes.

use std::io::{self, Read, Write};

/// The most that a frame carries, bytes.
const MOST: usize = 1 << 20;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, or a [`Hello`](super::order::Hello).
    Hello = 1,
    /// An [`Order`](super::Order).
    Order,
    /// Bytes for the program's input.
    Input,
    /// The end of its input.
    InputEnds,
    /// Bytes that it wrote to its output.
    Output,
    /// Bytes that it wrote to its standard error.
    Complaint,
    /// Its exit code; the last frame.
    Ended,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Hello,
        Self::Order,
        Self::Input,
        Self::InputEnds,
        Self::Output,
        Self::Complaint,
        Self::Ended,
    ];
}

/// Writes a frame.
pub(super) fn write(to: &mut impl Write, kind: Kind, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| too_long())?;
    let mut frame = Vec::with_capacity(5 + bytes.len());
    frame.push(kind as u8);
    frame.extend(length.to_be_bytes());
    frame.extend(bytes);
    to.write_all(&frame)?;
    to.flush()
}

/// Reads a frame; nothing where the connection has ended before one.
pub(super) fn read(from: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut kind = [0];
    if from.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let kind = Kind::ALL
        .into_iter()
        .find(|one| *one as u8 == kind[0])
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no frame of ours"))?;
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(|_| too_long())?;
    if length > MOST {
        return Err(too_long());
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some((kind, bytes)))
}

/// Reads a frame that must be there and be of this kind.
pub(super) fn expect(from: &mut impl Read, wanted: Kind) -> io::Result<Vec<u8>> {
    match read(from)? {
        Some((kind, bytes)) if kind == wanted => Ok(bytes),
        Some((kind, _)) => {
            let why = format!("{kind:?} came instead of {wanted:?}");
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame is too long")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_are_read_as_they_are_written(
            frames in proptest::collection::vec((0..Kind::ALL.len(), proptest::collection::vec(any::<u8>(), 0..64)), 0..8),
        ) {
            let mut wire = Vec::new();
            for (kind, bytes) in &frames {
                write(&mut wire, Kind::ALL[*kind], bytes).unwrap();
            }
            let mut wire = wire.as_slice();
            for (kind, bytes) in frames {
                prop_assert_eq!(read(&mut wire).unwrap(), Some((Kind::ALL[kind], bytes)));
            }
            prop_assert_eq!(read(&mut wire).unwrap(), None);
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..32)) {
            let _ = read(&mut bytes.as_slice());
        }
    }

    #[test]
    fn a_frame_that_is_cut_off_or_too_long_is_an_error() {
        let mut wire = Vec::new();
        write(&mut wire, Kind::Input, b"abc").unwrap();
        assert!(read(&mut &wire[..6]).is_err());
        assert!(read(&mut [3, 0xff, 0, 0, 0].as_slice()).is_err());
        assert!(expect(&mut wire.as_slice(), Kind::Output).is_err());
        assert_eq!(expect(&mut wire.as_slice(), Kind::Input).unwrap(), b"abc");
    }
}
