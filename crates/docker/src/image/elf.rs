//! Linkage of a program: an image that holds nothing else can run only a static one.

/// Linkage of an ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ElfLinkage {
    /// It needs no other file.
    Static,
    /// It needs this dynamic loader, and the libraries that this loads.
    Dynamic(String),
}

/// Type of the program header that names the dynamic loader (PT_INTERP; elf(5)).
const INTERPRETER: u32 = 3;

/// Returns the linkage of a 64-bit little-endian ELF file, of which the beginning with the headers suffices. Returns `None` for
/// other files.
pub(crate) fn linkage(file: &[u8]) -> Option<ElfLinkage> {
    const CLASS_64: u8 = 2;
    const LITTLE_ENDIAN: u8 = 1;
    if !file.starts_with(b"\x7fELF") || file.get(4..6)? != [CLASS_64, LITTLE_ENDIAN] {
        return None;
    }
    let first = usize::try_from(read_number(file, 32, 8)?).ok()?;
    let (size, count) = (read_number(file, 54, 2)? as usize, read_number(file, 56, 2)? as usize);
    for index in 0..count {
        let header = first.checked_add(index.checked_mul(size)?)?;
        if read_number(file, header, 4)? == u64::from(INTERPRETER) {
            let begin = usize::try_from(read_number(file, header.checked_add(8)?, 8)?).ok()?;
            let length = usize::try_from(read_number(file, header.checked_add(32)?, 8)?).ok()?;
            let path = file.get(begin..begin.checked_add(length)?)?;
            let path = path.split(|&byte| byte == 0).next().unwrap_or_default();
            return Some(ElfLinkage::Dynamic(String::from_utf8_lossy(path).into_owned()));
        }
    }
    Some(ElfLinkage::Static)
}

/// Reads a little-endian number of this many bytes at an offset. Returns `None` beyond the end of the file.
fn read_number(file: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = file.get(at..at.checked_add(bytes)?)?;
    Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Builds a file header with one program header.
    fn file(kind: u32, path: &[u8]) -> Vec<u8> {
        let mut file = vec![0_u8; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64..68].copy_from_slice(&kind.to_le_bytes());
        file[72] = 120;
        file[96] = u8::try_from(path.len()).unwrap();
        file.extend_from_slice(path);
        file
    }

    #[test]
    fn a_loader_is_named_where_there_is_one() {
        let dynamic = file(INTERPRETER, b"/lib64/ld-linux-x86-64.so.2\0");
        let loader = "/lib64/ld-linux-x86-64.so.2".to_owned();
        assert_eq!(linkage(&dynamic), Some(ElfLinkage::Dynamic(loader)));
        assert_eq!(linkage(&file(1, b"")), Some(ElfLinkage::Static));
        assert_eq!(linkage(b"#!/bin/sh\n"), None);
        let this = std::fs::read("/proc/self/exe").unwrap();
        assert!(linkage(&this).is_some());
    }

    proptest! {
        #[test]
        fn no_file_breaks_the_reader(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = linkage(&bytes);
            if bytes.len() > 6 {
                bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
                let _ = linkage(&bytes);
            }
        }
    }
}
