//! Token of a listener, and the proof of knowing it. The token never crosses the network, and no proof can be used
//! twice.
//!
//! Each side proves the token by HMAC-SHA256 (RFC 2104, FIPS 180-4) over its own label, the protocol's version and both
//! sides' nonces. The labels differ, so that a proof cannot be sent back to its sender. The nonces are new in every
//! connection, so that a proof is worthless in another one. The client proves first: a listener sends nothing that was
//! made with the token to an unauthenticated client.

use crate::version::VERSION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use tare_secret::{SharedSecret, to_hex};
use tare_traffic::Error;

/// Secret that both sides must know.
#[derive(Clone)]
pub struct Token {
    secret: SharedSecret,
    /// Length, bytes.
    length: usize,
}

impl Token {
    /// Minimum length of a token, characters. A shorter one can be guessed from one recorded proof.
    const MIN_SAFE_LENGTH: usize = 16;

    /// Creates a token from a text, without the line end of a file.
    ///
    /// # Errors
    /// When the text is empty.
    pub fn new(text: &str) -> Result<Self, Error> {
        let text = text.trim_end_matches(['\n', '\r']);
        let secret = SharedSecret::new(text.as_bytes()).ok_or_else(|| {
            Error::Job(
                "the token is empty: create a token, for example with `openssl rand -hex 16`"
                    .to_owned(),
            )
        })?;
        Ok(Self { secret, length: text.len() })
    }

    /// Returns whether the token is so short that it can be guessed.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.length < Self::MIN_SAFE_LENGTH
    }

    /// Checks that the token can be used with this address: a short one only on this machine.
    ///
    /// # Errors
    /// [`Error::ShortToken`].
    pub(crate) fn check_length(&self, address: SocketAddr) -> Result<(), Error> {
        if self.is_short() && is_beyond_loopback(address) {
            return Err(Error::ShortToken { address });
        }
        Ok(())
    }

    /// Returns the proof of one side.
    pub(crate) fn proof(&self, side: ProofSide, nonces: &ProbeNonces) -> Bits256 {
        Bits256(self.secret.proof(&nonces.message(side)))
    }

    /// Returns whether this is the proof of that side. Takes constant time, whichever byte is wrong.
    pub(crate) fn is_valid_proof(
        &self,
        proof: &Bits256,
        side: ProofSide,
        nonces: &ProbeNonces,
    ) -> bool {
        self.secret.is_valid_proof(&proof.0, &nonces.message(side))
    }
}

/// Returns true if other machines may be at the address, or reach it.
pub(crate) fn is_beyond_loopback(address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Side that proves the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProofSide {
    Client,
    Listener,
}

impl ProofSide {
    /// Labels have the same length, so that no label is a prefix of another side's message.
    fn label(self) -> &'static [u8; 14] {
        match self {
            Self::Client => b"tare: client  ",
            Self::Listener => b"tare: listener",
        }
    }
}

/// Nonces of both sides, for one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeNonces {
    pub(crate) client: Bits256,
    pub(crate) listener: Bits256,
}

impl ProbeNonces {
    /// Returns the message of a side's proof: its label, the version, both nonces.
    fn message(&self, side: ProofSide) -> [&[u8]; 4] {
        [side.label(), &VERSION_BYTES, &self.client.0, &self.listener.0]
    }
}

/// Version of the protocol, big-endian.
const VERSION_BYTES: [u8; 4] = VERSION.to_be_bytes();

/// Value of 256 bits, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Bits256(#[schemars(skip)] pub(crate) [u8; 32]);

impl Bits256 {
    /// Returns 256 random bits from the kernel.
    pub(crate) fn random() -> Result<Self, Error> {
        random_bytes().map(Self)
    }
}

/// Returns random bytes from the kernel.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    tare_secret::random_bytes()
        .map_err(|error| Error::io("read random bytes from the kernel", error))
}

impl From<Bits256> for String {
    fn from(bits: Bits256) -> Self {
        to_hex(&bits.0)
    }
}

impl TryFrom<String> for Bits256 {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const WRONG: &str = "expected 64 hexadecimal digits (256 bits)";
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

    fn nonces(client: u8, listener: u8) -> ProbeNonces {
        ProbeNonces { client: Bits256([client; 32]), listener: Bits256([listener; 32]) }
    }

    #[test]
    fn a_proof_is_what_the_document_says() {
        // Computed with Python: hmac.new(b"secret", b"tare: client  " + bytes([0,0,0,3]) + b"\1"*32 + b"\2"*32,
        // "sha256")
        let proof = Token::new("secret").unwrap().proof(ProofSide::Client, &nonces(1, 2));
        assert_eq!(
            String::from(proof),
            "274c910e102b0d5bc77054ee5fb269d8fa6fb2c9eca87cb444a92aae8298d143"
        );
    }

    #[test]
    fn a_proof_is_good_for_one_side_of_one_connection_with_one_token() {
        let token = Token::new("secret\n").unwrap();
        let proof = token.proof(ProofSide::Client, &nonces(1, 2));
        assert!(token.is_valid_proof(&proof, ProofSide::Client, &nonces(1, 2)));
        assert!(!token.is_valid_proof(&proof, ProofSide::Listener, &nonces(1, 2)));
        assert!(!token.is_valid_proof(&proof, ProofSide::Client, &nonces(1, 3)));
        assert!(!token.is_valid_proof(&proof, ProofSide::Client, &nonces(3, 2)));
        assert!(!token.is_valid_proof(&proof, ProofSide::Client, &nonces(2, 1)));
        assert!(!Token::new("Secret").unwrap().is_valid_proof(
            &proof,
            ProofSide::Client,
            &nonces(1, 2)
        ));
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
