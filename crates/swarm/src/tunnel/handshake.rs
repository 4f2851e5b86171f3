//! Handshake in which both ends prove that they know the run's secret. The secret never crosses the network, and no
//! proof can be used twice.
//!
//! The server begins with a nonce. The task answers with a nonce of its own and HMAC-SHA256 (RFC 2104) over its label
//! and both nonces; the server answers with the same over another label. So the server gives an unauthenticated peer
//! nothing that is made with the secret, a proof is valid for one connection only, and it cannot be sent back to its
//! sender.

use std::io::{self, Read, Write};
use tare_network::Error;
use tare_secret::{PROOF_SIZE, SharedSecret, random_bytes, to_hex};

const NONCE_SIZE: usize = 32;

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

impl HandshakeNonces {
    /// Returns the message of a side's proof: its label and both nonces.
    fn message(&self, side: HandshakeSide) -> [&[u8]; 3] {
        [side.label(), &self.server, &self.task]
    }
}

/// Keys of the frames of one connection, one for each direction.
#[derive(Debug)]
pub(super) struct SessionKeys {
    /// Key of the frames that this end writes.
    pub(super) own: SharedSecret,
    /// Key of the frames that the other end writes.
    pub(super) peer: SharedSecret,
}

/// Label of the keys, followed by that of the side that writes.
const KEY_LABEL: &[u8] = b"tare: key of ";

impl SessionKeys {
    /// Derives the keys of a connection from the secret and both nonces.
    fn derive(
        secret: &SharedSecret,
        nonces: &HandshakeNonces,
        own: HandshakeSide,
        peer: HandshakeSide,
    ) -> io::Result<Self> {
        let key = |side| {
            let [label, server, task] = nonces.message(side);
            SharedSecret::new(&secret.proof(&[KEY_LABEL, label, server, task]))
                .ok_or_else(|| io::Error::other("a key is empty"))
        };
        Ok(Self { own: key(own)?, peer: key(peer)? })
    }
}

/// Makes a fresh random secret, as hexadecimal text.
pub(crate) fn random_secret() -> Result<String, Error> {
    let bytes = random_bytes::<32>().map_err(|error| Error::new("read random bytes", error))?;
    Ok(to_hex(&bytes))
}

/// Reads a secret from text, without surrounding white space. Returns `None` if nothing is left.
pub(super) fn parse_secret(text: &str) -> Option<SharedSecret> {
    SharedSecret::new(text.trim().as_bytes())
}

/// Reads the proof of a side. Fails if it is not that of the secret.
fn verify_proof(from: &mut impl Read, secret: &SharedSecret, message: &[&[u8]]) -> io::Result<()> {
    let mut proof = [0; PROOF_SIZE];
    from.read_exact(&mut proof)?;
    if secret.is_valid_proof(&proof, message) {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the peer has a different secret"))
    }
}

/// Runs the server's part, on a connection that was just accepted. Returns the keys of its frames.
pub(super) fn prove_as_server(
    stream: &mut (impl Read + Write),
    secret: &SharedSecret,
) -> io::Result<SessionKeys> {
    let mut nonces = HandshakeNonces { server: random_bytes()?, task: [0; NONCE_SIZE] };
    stream.write_all(&nonces.server)?;
    stream.read_exact(&mut nonces.task)?;
    verify_proof(stream, secret, &nonces.message(HandshakeSide::Task))?;
    stream.write_all(&secret.proof(&nonces.message(HandshakeSide::Server)))?;
    SessionKeys::derive(secret, &nonces, HandshakeSide::Server, HandshakeSide::Task)
}

/// Runs the task's part, on a connection that it has just opened. Returns the keys of its frames.
pub(super) fn prove_as_task(
    stream: &mut (impl Read + Write),
    secret: &SharedSecret,
) -> io::Result<SessionKeys> {
    let mut nonces = HandshakeNonces { server: [0; NONCE_SIZE], task: random_bytes()? };
    stream.read_exact(&mut nonces.server)?;
    stream.write_all(&nonces.task)?;
    stream.write_all(&secret.proof(&nonces.message(HandshakeSide::Task)))?;
    verify_proof(stream, secret, &nonces.message(HandshakeSide::Server))?;
    SessionKeys::derive(secret, &nonces, HandshakeSide::Task, HandshakeSide::Server)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn meet(home: &str, task: &str) -> (io::Result<SessionKeys>, io::Result<SessionKeys>) {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let secret = parse_secret(task).unwrap();
        let task = std::thread::spawn(move || prove_as_task(&mut other, &secret));
        let met = prove_as_server(&mut one, &parse_secret(home).unwrap());
        drop(one);
        (met, task.join().unwrap())
    }

    #[test]
    fn one_secret_opens_and_another_does_not() {
        let (home, task) = meet("secret\n", "secret");
        let (home, task) = (home.unwrap(), task.unwrap());
        let proof = home.own.proof(&[b"x"]);
        assert!(task.peer.is_valid_proof(&proof, &[b"x"]));
        assert!(!task.own.is_valid_proof(&proof, &[b"x"]), "each direction has a key of its own");
        let (home, task) = meet("secret", "Secret");
        assert_eq!(home.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(task.is_err());
    }

    #[test]
    fn a_proof_is_good_for_one_side_of_one_connection() {
        let secret = parse_secret("secret").unwrap();
        let nonces = |home| HandshakeNonces { server: [home; NONCE_SIZE], task: [9; NONCE_SIZE] };
        let proof = secret.proof(&nonces(1).message(HandshakeSide::Task));
        let verify =
            |home, side| verify_proof(&mut proof.as_slice(), &secret, &nonces(home).message(side));
        verify(1, HandshakeSide::Task).unwrap();
        assert!(verify(1, HandshakeSide::Server).is_err());
        assert!(verify(2, HandshakeSide::Task).is_err());
    }

    #[test]
    fn secrets_are_fresh_and_never_empty() {
        assert_ne!(random_secret().unwrap(), random_secret().unwrap());
        assert!(parse_secret("\n").is_none());
    }
}
