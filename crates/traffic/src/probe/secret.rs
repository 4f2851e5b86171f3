//! The token, and the proof that one knows it: it never crosses the wire, and no proof can be used twice.
//!
//! Each side proves the token by HMAC-SHA256 (RFC 2104, FIPS 180-4) over its own label, the protocol's version and both
//! sides' nonces. The labels differ, so that a proof cannot be sent back to whom it came from; the nonces are new in
//! every connection, so that it is worth nothing in another one. The client proves first: a listener gives no stranger
//! anything that was made with the token.

use super::message::VERSION;
use crate::Error;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::rand::{GetRandomFlags, getrandom};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;

/// What both sides must know.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl Token {
    /// Fewer characters than this can be guessed from one overheard proof.
    const SHORT: usize = 16;

    /// A token of this text, without the line end that a file has.
    ///
    /// # Errors
    /// When it is empty.
    pub fn new(text: &str) -> Result<Self, Error> {
        let text = text.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            return Err(Error::Job(
                "an empty token is none: make one, as by `openssl rand -hex 16`".to_owned(),
            ));
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// Whether it is so short that it can be guessed.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.0.len() < Self::SHORT
    }

    /// What one side has to show.
    pub(super) fn proof(&self, side: Side, nonces: &Nonces) -> Option<Bits256> {
        self.mac(side, nonces).map(|mac| Bits256(mac.finalize().into_bytes().into()))
    }

    /// Whether this is what that side has to show. Takes as long whatever is wrong with it.
    pub(super) fn is_proved(&self, proof: &Bits256, side: Side, nonces: &Nonces) -> bool {
        self.mac(side, nonces).is_some_and(|mac| mac.verify_slice(&proof.0).is_ok())
    }

    /// A key of any length is taken; that none is refused is the library's to promise.
    fn mac(&self, side: Side, nonces: &Nonces) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(side.label());
        mac.update(&VERSION.to_be_bytes());
        mac.update(&nonces.client.0);
        mac.update(&nonces.listener.0);
        Some(mac)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Who proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Listener,
}

impl Side {
    /// Of one length, so that no label is the beginning of another's message.
    fn label(self) -> &'static [u8; 14] {
        match self {
            Self::Client => b"tare: client  ",
            Self::Listener => b"tare: listener",
        }
    }
}

/// Both sides' nonces of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nonces {
    pub(super) client: Bits256,
    pub(super) listener: Bits256,
}

/// 256 bits, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Bits256(#[schemars(skip)] pub(super) [u8; 32]);

impl Bits256 {
    /// Random ones, of the kernel's.
    pub(super) fn random() -> Result<Self, Error> {
        random().map(Self)
    }
}

/// Random bytes of the kernel's (getrandom(2)).
pub(super) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())
            .map_err(|error| Error::io("read random bytes", error))?;
    }
    Ok(bytes)
}

impl From<Bits256> for String {
    fn from(bits: Bits256) -> Self {
        bits.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for Bits256 {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const WRONG: &str = "256 bits are 64 hexadecimal digits";
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(WRONG);
        }
        let mut bits = [0; 32];
        for (at, byte) in bits.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| WRONG)?;
        }
        Ok(Self(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nonces(client: u8, listener: u8) -> Nonces {
        Nonces { client: Bits256([client; 32]), listener: Bits256([listener; 32]) }
    }

    #[test]
    fn a_proof_is_what_the_document_says() {
        // By Python: hmac.new(b"secret", b"tare: client  " + bytes([0,0,0,1]) + b"\1"*32 + b"\2"*32, "sha256")
        let proof = Token::new("secret").unwrap().proof(Side::Client, &nonces(1, 2)).unwrap();
        assert_eq!(
            String::from(proof),
            "13845a2c54b2bf6f07ba81d31f5240c96fbf08561709e56ccd00fb73792c3484"
        );
    }

    #[test]
    fn a_proof_is_good_for_one_side_of_one_connection_with_one_token() {
        let token = Token::new("secret\n").unwrap();
        let proof = token.proof(Side::Client, &nonces(1, 2)).unwrap();
        assert!(token.is_proved(&proof, Side::Client, &nonces(1, 2)));
        assert!(!token.is_proved(&proof, Side::Listener, &nonces(1, 2)));
        assert!(!token.is_proved(&proof, Side::Client, &nonces(1, 3)));
        assert!(!token.is_proved(&proof, Side::Client, &nonces(3, 2)));
        assert!(!token.is_proved(&proof, Side::Client, &nonces(2, 1)));
        assert!(!Token::new("Secret").unwrap().is_proved(&proof, Side::Client, &nonces(1, 2)));
    }

    #[test]
    fn a_token_is_shown_to_nobody_and_never_empty() {
        assert_eq!(format!("{:?}", Token::new("secret").unwrap()), "Token(..)");
        assert!(Token::new("\r\n").is_err() && Token::new("").is_err());
        assert!(Token::new("fifteen letters").unwrap().is_short());
        assert!(!Token::new("sixteen letters!").unwrap().is_short());
    }

    #[test]
    fn random_bits_are_not_the_same_twice() {
        assert_ne!(Bits256::random().unwrap(), Bits256::random().unwrap());
    }

    proptest! {
        #[test]
        fn bits_are_read_as_they_are_written(bits: [u8; 32]) {
            let text = String::from(Bits256(bits));
            prop_assert_eq!(Bits256::try_from(text), Ok(Bits256(bits)));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,64}") {
            let _ = Bits256::try_from(text);
        }
    }
}
