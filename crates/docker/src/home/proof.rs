//! Both ends prove that they know the run's secret: it never crosses the wire, and no proof can be used twice.
//!
//! Home begins with a nonce. The task answers with a nonce of its own and HMAC-SHA256 (RFC 2104) over its label and both
//! nonces; home answers with the same over another label. So home gives no stranger anything made with the secret, a
//! proof is good for one connection, and it cannot be sent back to whom it came from.

use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;
use std::io::{self, Read, Write};
use tare_network::Error;

const NONCE: usize = 32;

/// What both must know.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(Vec<u8>);

/// Who proves.
#[derive(Clone, Copy)]
enum Side {
    Task,
    Home,
}

impl Side {
    /// Of one length, so that no label is the beginning of another's message.
    fn label(self) -> &'static [u8; 10] {
        match self {
            Self::Task => b"tare: task",
            Self::Home => b"tare: home",
        }
    }
}

/// The nonces of one connection.
struct Nonces {
    home: [u8; NONCE],
    task: [u8; NONCE],
}

/// A secret that nobody else has, as text.
pub(crate) fn fresh_secret() -> Result<String, Error> {
    let bytes = random().map_err(|error| Error::new("read random bytes", error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random() -> io::Result<[u8; NONCE]> {
    let mut bytes = [0; NONCE];
    let mut filled = 0;
    while filled < NONCE {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

impl Secret {
    /// The secret of this text, without the line end that it may have; nothing where it is empty.
    pub(super) fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.as_bytes().to_vec()))
    }

    /// A key of any length is taken; that none is refused is the library's to promise.
    fn mac(&self, side: Side, nonces: &Nonces) -> io::Result<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).map_err(io::Error::other)?;
        mac.update(side.label());
        mac.update(&nonces.home);
        mac.update(&nonces.task);
        Ok(mac)
    }

    fn show(&self, to: &mut impl Write, side: Side, nonces: &Nonces) -> io::Result<()> {
        to.write_all(&self.mac(side, nonces)?.finalize().into_bytes())
    }

    fn check(&self, from: &mut impl Read, side: Side, nonces: &Nonces) -> io::Result<()> {
        let mut proof = [0; 32];
        from.read_exact(&mut proof)?;
        let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "it knows another secret");
        self.mac(side, nonces)?.verify_slice(&proof).map_err(|_| refused())
    }
}

/// Home's part, on a connection that has just come.
pub(super) fn by_home(stream: &mut (impl Read + Write), secret: &Secret) -> io::Result<()> {
    let mut nonces = Nonces { home: random()?, task: [0; NONCE] };
    stream.write_all(&nonces.home)?;
    stream.read_exact(&mut nonces.task)?;
    secret.check(stream, Side::Task, &nonces)?;
    secret.show(stream, Side::Home, &nonces)
}

/// The task's part, on a connection that it has just made.
pub(super) fn by_task(stream: &mut (impl Read + Write), secret: &Secret) -> io::Result<()> {
    let mut nonces = Nonces { home: [0; NONCE], task: random()? };
    stream.read_exact(&mut nonces.home)?;
    stream.write_all(&nonces.task)?;
    secret.show(stream, Side::Task, &nonces)?;
    secret.check(stream, Side::Home, &nonces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn meet(home: &str, task: &str) -> (io::Result<()>, io::Result<()>) {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let secret = Secret::of(task).unwrap();
        let task = std::thread::spawn(move || by_task(&mut other, &secret));
        let met = by_home(&mut one, &Secret::of(home).unwrap());
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
        let secret = Secret::of("secret").unwrap();
        let nonces = |home| Nonces { home: [home; NONCE], task: [9; NONCE] };
        let mut proof = Vec::new();
        secret.show(&mut proof, Side::Task, &nonces(1)).unwrap();
        secret.check(&mut proof.as_slice(), Side::Task, &nonces(1)).unwrap();
        assert!(secret.check(&mut proof.as_slice(), Side::Home, &nonces(1)).is_err());
        assert!(secret.check(&mut proof.as_slice(), Side::Task, &nonces(2)).is_err());
    }

    #[test]
    fn secrets_are_fresh_and_never_empty() {
        assert_ne!(fresh_secret().unwrap(), fresh_secret().unwrap());
        assert!(Secret::of("\n").is_none());
    }
}
