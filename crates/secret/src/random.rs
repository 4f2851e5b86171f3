//! Random bytes from the kernel's generator, and their hexadecimal digits.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// Returns random bytes of the kernel (getrandom(2)), good enough for keys.
///
/// # Errors
/// Returns the kernel's error. It has none for these flags.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Returns two hexadecimal digits for each byte.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_are_not_the_same_twice() {
        assert_ne!(random_bytes::<32>().unwrap(), random_bytes::<32>().unwrap());
    }

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(to_hex(&[0, 0x0a, 0xff]), "000aff");
    }
}
