//! Link-layer addresses.

use std::fmt;
use std::str::FromStr;
use tare_network::Error;

/// Link-layer address of an Ethernet device (IEEE 802, 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MacAddress([u8; 6]);

impl MacAddress {
    /// Returns the address of these bytes, in the order of transmission.
    #[must_use]
    pub const fn new(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// Returns the six bytes of the address, in the order of transmission.
    #[must_use]
    pub fn bytes(self) -> [u8; 6] {
        self.0
    }
}

impl FromStr for MacAddress {
    type Err = Error;

    /// Parses six bytes in hexadecimal, separated by colons, as [`Display`](fmt::Display) writes them.
    fn from_str(text: &str) -> Result<Self, Error> {
        let byte = |part: &str| {
            let digits = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            digits.then(|| u8::from_str_radix(part, 16).ok())?
        };
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        let six = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
        six.map(Self).ok_or_else(|| {
            Error::new(format!("parse the address `{text}`"), "a link-layer address has six bytes")
        })
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_address_is_parsed_as_it_is_written(bytes: [u8; 6]) {
            let address = MacAddress::new(bytes);
            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }

        #[test]
        fn no_text_breaks_the_parser(text in "[0-9a-f+:]{0,20}") {
            if let Ok(address) = text.parse::<MacAddress>() {
                prop_assert_eq!(address.to_string(), text);
            }
        }
    }
}
