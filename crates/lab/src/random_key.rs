//! Random keys for networks that encrypt.

use tare_network::Error;

/// Returns this many random bytes.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    tare_secret::random_bytes().map_err(|error| Error::new("generate a random key", error))
}

/// Returns the bytes in the format of `ip xfrm`.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    format!("0x{}", tare_secret::to_hex(bytes))
}
