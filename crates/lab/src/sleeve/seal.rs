//! A packet's head: who sends it, and, where it is sealed, its number and what shows that nobody has changed it.
//!
//! The nonce is made of both, so that with one key none is used twice: every packet of a node has a number of its own.

use super::frames::Name;
use crypto_secretbox::aead::{AeadInPlace, KeyInit};
use crypto_secretbox::{Key, Nonce, Tag, XSalsa20Poly1305};
use std::io;
use std::path::Path;

const NAME: usize = 6;
const NUMBER: usize = 8;
const TAG: usize = 16;

/// How packets are made and read.
pub(super) struct Seal {
    name: Name,
    cipher: Option<XSalsa20Poly1305>,
    next: u64,
}

impl Seal {
    /// A node's own; without a key frames are sent as they are.
    pub(super) fn new(name: Name, key: Option<[u8; 32]>) -> Self {
        let cipher = key.map(|key| XSalsa20Poly1305::new(&Key::from(key)));
        Self { name, cipher, next: 0 }
    }

    /// How many bytes of a packet are its head.
    pub(super) fn head(&self) -> usize {
        if self.cipher.is_some() { NAME + NUMBER + TAG } else { NAME }
    }

    /// Writes the head of a packet, and seals the rest. That fails where no number is left.
    pub(super) fn close(&mut self, packet: &mut [u8]) -> Option<()> {
        let (head, body) = packet.split_at_mut_checked(self.head())?;
        head[..NAME].copy_from_slice(&self.name);
        let Some(cipher) = &self.cipher else { return Some(()) };
        let number = self.next.to_be_bytes();
        self.next = self.next.checked_add(1)?;
        let tag = cipher.encrypt_in_place_detached(&nonce(&self.name, &number), b"", body).ok()?;
        head[NAME..NAME + NUMBER].copy_from_slice(&number);
        head[NAME + NUMBER..].copy_from_slice(&tag);
        Some(())
    }

    /// Who has sent a packet, and its frames; nothing for one that nobody with the key has sent.
    pub(super) fn open<'a>(&self, packet: &'a mut [u8]) -> Option<(Name, &'a [u8])> {
        let (head, body) = packet.split_at_mut_checked(self.head())?;
        let name: Name = *head.first_chunk()?;
        if let Some(cipher) = &self.cipher {
            let number: [u8; NUMBER] = *head[NAME..].first_chunk()?;
            let tag: [u8; TAG] = *head[NAME + NUMBER..].first_chunk()?;
            let tag = Tag::from(tag);
            cipher.decrypt_in_place_detached(&nonce(&name, &number), b"", body, &tag).ok()?;
        }
        Some((name, body))
    }
}

fn nonce(name: &Name, number: &[u8; NUMBER]) -> Nonce {
    let mut nonce = [0; 24];
    nonce[..NAME].copy_from_slice(name);
    nonce[24 - NUMBER..].copy_from_slice(number);
    Nonce::from(nonce)
}

/// Reads a key: 64 hexadecimal digits.
pub(super) fn read_key(file: &Path) -> io::Result<[u8; 32]> {
    let text = std::fs::read_to_string(file)?;
    key(text.trim()).ok_or_else(|| io::Error::other("the key is not of 64 hexadecimal digits"))
}

fn key(text: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Name = [10, 0, 0, 0, 0, 1];

    fn packet(seal: &mut Seal, body: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; seal.head()];
        packet.extend(body);
        seal.close(&mut packet).unwrap();
        packet
    }

    #[test]
    fn what_is_sealed_is_opened_by_the_key_alone() {
        let mut seal = Seal::new(NODE, Some([7; 32]));
        let body = [1; 100];
        let sealed = packet(&mut seal, &body);
        assert!(!sealed.windows(8).any(|some| some == &body[..8]), "it cannot be read");
        let opened = |seal: &Seal, packet: &[u8]| {
            let mut packet = packet.to_vec();
            seal.open(&mut packet).map(|(name, body)| (name, body.to_vec()))
        };
        assert_eq!(opened(&seal, &sealed), Some((NODE, body.to_vec())));
        assert_eq!(opened(&Seal::new(NODE, Some([8; 32])), &sealed), None);
        for at in [0, 6, 14, 30, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(opened(&seal, &changed), None, "changed at {at}");
        }
        assert_ne!(packet(&mut seal, &body)[30..], sealed[30..], "no nonce is used twice");
        assert_eq!(opened(&seal, &sealed[..29]), None);
    }

    #[test]
    fn without_a_key_frames_go_as_they_are() {
        let mut seal = Seal::new(NODE, None);
        let mut sent = packet(&mut seal, b"frames");
        assert_eq!(sent.len(), 12);
        assert_eq!(seal.open(&mut sent), Some((NODE, &b"frames"[..])));
    }

    #[test]
    fn a_key_is_64_digits() {
        assert_eq!(key(&"0f".repeat(32)), Some([15; 32]));
        assert!(key("0f").is_none() && key(&"zz".repeat(32)).is_none());
    }
}
