//! Secret that two processes know, and proofs of knowing it by HMAC-SHA256 (RFC 2104, FIPS 180-4).
//!
//! What a proof is over is its protocol's choice. To be good for one side of one connection only, it covers a label of
//! the side and a nonce of each side: labels that differ keep a proof from being sent back to its sender, nonces that
//! are new in every connection keep it from being used in another.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::fmt;

/// Length of a proof, bytes.
pub const PROOF_SIZE: usize = 32;

/// Secret that two processes know. It is not shown when it is formatted.
#[derive(Clone)]
pub struct SharedSecret {
    /// HMAC with the secret as its key and no message yet.
    keyed: Hmac<Sha256>,
}

impl SharedSecret {
    /// Creates a secret. Returns `None` if it is empty: such a secret proves nothing.
    #[must_use]
    pub fn new(secret: &[u8]) -> Option<Self> {
        if secret.is_empty() {
            return None;
        }
        // HMAC takes keys of any length, so the library has no error for one.
        Hmac::new_from_slice(secret).ok().map(|keyed| Self { keyed })
    }

    /// Returns the proof over a message, which is the sequence of these parts. Parts whose lengths vary must not be
    /// adjacent: their border is not part of the message.
    #[must_use]
    pub fn proof(&self, message: &[&[u8]]) -> [u8; PROOF_SIZE] {
        self.mac(message).finalize().into_bytes().into()
    }

    /// Returns true if this is the proof over the message. Takes the same time whichever byte is wrong.
    #[must_use]
    pub fn is_valid_proof(&self, proof: &[u8; PROOF_SIZE], message: &[&[u8]]) -> bool {
        self.mac(message).verify_slice(proof).is_ok()
    }

    fn mac(&self, message: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        message.iter().for_each(|part| mac.update(part));
        mac
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_hex;
    use proptest::prelude::*;

    #[test]
    fn a_proof_is_that_of_the_standard() {
        // RFC 4231, test case 2.
        let secret = SharedSecret::new(b"Jefe").unwrap();
        let proof = secret.proof(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(
            to_hex(&proof),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn an_empty_secret_is_none_and_another_is_not_shown() {
        assert!(SharedSecret::new(b"").is_none());
        assert_eq!(format!("{:?}", SharedSecret::new(b"secret").unwrap()), "SharedSecret(..)");
    }

    proptest! {
        #[test]
        fn a_proof_is_valid_for_its_secret_and_its_message_only(
            secret in "[a-z]{1,80}",
            message: [u8; 16],
            bit in 0usize..128,
        ) {
            let known = SharedSecret::new(secret.as_bytes()).unwrap();
            let proof = known.proof(&[&message]);
            prop_assert!(known.is_valid_proof(&proof, &[&message[..8], &message[8..]]));
            let mut other = message;
            other[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!known.is_valid_proof(&proof, &[&other]));
            let stranger = SharedSecret::new(format!("{secret}A").as_bytes()).unwrap();
            prop_assert!(!stranger.is_valid_proof(&proof, &[&message]));
        }
    }
}
