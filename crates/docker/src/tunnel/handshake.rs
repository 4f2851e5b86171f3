//! Handshake in which both ends prove that they know the run's secret. The secret never crosses the network, and no
//! proof can be used twice.
//!
//! The server begins with a nonce. The task answers with a nonce of its own and HMAC-SHA256 (RFC 2104) over its label
//! and both nonces; the server answers with the same over another label. So the server gives an unauthenticated peer
//! nothing that is made with the secret, a proof is valid for one connection only, and it cannot be sent back to its
//! sender.

use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;
use std::io::{self, Read, Write};
use tare_network::Error;

const NONCE_SIZE: usize = 32;

/// Secret that both ends must know.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct RunSecret(Vec<u8>);

/// End of the connection that proves itself.
#[derive(Clone, Copy)]
enum HandshakeSide {
    Task,
    Server,
}

impl HandshakeSide {
    /// Returns the label of this end. Both labels have the same length, so that neither is a prefix of the other's
    /// message.
    fn label(self) -> &'static [u8; 10] {
        match self {
            Self::Task => b"tare: task",
            Self::Server => b"tare: home",
        }
    }
}

/// Nonces of one connection.
struct HandshakeNonces {
    server: [u8; NONCE_SIZE],
    task: [u8; NONCE_SIZE],
}

/// Makes a fresh random secret, as hexadecimal text.
pub(crate) fn random_secret() -> Result<String, Error> {
    let bytes = random_nonce().map_err(|error| Error::new("read random bytes", error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random_nonce() -> io::Result<[u8; NONCE_SIZE]> {
    let mut bytes = [0; NONCE_SIZE];
    let mut filled = 0;
    while filled < NONCE_SIZE {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

impl RunSecret {
    /// Reads a secret from text, without surrounding white space. Returns `None` if nothing is left.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.as_bytes().to_vec()))
    }

    /// Computes the MAC of one end. HMAC takes keys of any length, so the error of the library does not occur.
    fn mac(&self, side: HandshakeSide, nonces: &HandshakeNonces) -> io::Result<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).map_err(io::Error::other)?;
        mac.update(side.label());
        mac.update(&nonces.server);
        mac.update(&nonces.task);
        Ok(mac)
    }

    fn send_proof(
        &self,
        to: &mut impl Write,
        side: HandshakeSide,
        nonces: &HandshakeNonces,
    ) -> io::Result<()> {
        to.write_all(&self.mac(side, nonces)?.finalize().into_bytes())
    }

    fn verify_proof(
        &self,
        from: &mut impl Read,
        side: HandshakeSide,
        nonces: &HandshakeNonces,
    ) -> io::Result<()> {
        let mut proof = [0; 32];
        from.read_exact(&mut proof)?;
        let refused =
            || io::Error::new(io::ErrorKind::PermissionDenied, "the peer has a different secret");
        self.mac(side, nonces)?.verify_slice(&proof).map_err(|_| refused())
    }
}

/// Runs the server's part, on a connection that was just accepted.
pub(super) fn prove_as_server(
    stream: &mut (impl Read + Write),
    secret: &RunSecret,
) -> io::Result<()> {
    let mut nonces = HandshakeNonces { server: random_nonce()?, task: [0; NONCE_SIZE] };
    stream.write_all(&nonces.server)?;
    stream.read_exact(&mut nonces.task)?;
    secret.verify_proof(stream, HandshakeSide::Task, &nonces)?;
    secret.send_proof(stream, HandshakeSide::Server, &nonces)
}

/// Runs the task's part, on a connection that it has just opened.
pub(super) fn prove_as_task(
    stream: &mut (impl Read + Write),
    secret: &RunSecret,
) -> io::Result<()> {
    let mut nonces = HandshakeNonces { server: [0; NONCE_SIZE], task: random_nonce()? };
    stream.read_exact(&mut nonces.server)?;
    stream.write_all(&nonces.task)?;
    secret.send_proof(stream, HandshakeSide::Task, &nonces)?;
    secret.verify_proof(stream, HandshakeSide::Server, &nonces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn meet(home: &str, task: &str) -> (io::Result<()>, io::Result<()>) {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let secret = RunSecret::from_text(task).unwrap();
        let task = std::thread::spawn(move || prove_as_task(&mut other, &secret));
        let met = prove_as_server(&mut one, &RunSecret::from_text(home).unwrap());
        drop(one);
        (met, task.join().unwrap())
    }

    #[test]
    fn one_secret_opens_and_another_does_not() {
        let (home, task) = meet("secret\n", "secret");
        home.unwrap();
        task.unwrap();
        let (home, task) = meet("secret", "Secret");
        assert_eq!(home.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(task.is_err());
    }

    #[test]
    fn a_proof_is_good_for_one_side_of_one_connection() {
        let secret = RunSecret::from_text("secret").unwrap();
        let nonces = |home| HandshakeNonces { server: [home; NONCE_SIZE], task: [9; NONCE_SIZE] };
        let mut proof = Vec::new();
        secret.send_proof(&mut proof, HandshakeSide::Task, &nonces(1)).unwrap();
        secret.verify_proof(&mut proof.as_slice(), HandshakeSide::Task, &nonces(1)).unwrap();
        assert!(
            secret.verify_proof(&mut proof.as_slice(), HandshakeSide::Server, &nonces(1)).is_err()
        );
        assert!(
            secret.verify_proof(&mut proof.as_slice(), HandshakeSide::Task, &nonces(2)).is_err()
        );
    }

    #[test]
    fn secrets_are_fresh_and_never_empty() {
        assert_ne!(random_secret().unwrap(), random_secret().unwrap());
        assert!(RunSecret::from_text("\n").is_none());
    }
}
