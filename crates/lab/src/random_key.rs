//! Random keys for networks that encrypt, from the kernel's random number generator.

use rustix::rand::{GetRandomFlags, getrandom};
use tare_network::Error;

/// Returns this many random bytes.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())
            .map_err(|errno| Error::new("generate a random key", errno))?;
    }
    Ok(bytes)
}

/// Returns the bytes in the format of `ip xfrm`.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}
