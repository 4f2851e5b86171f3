//! Head of a packet: the sender's name and, if the packet is encrypted, its number and authentication tag.
//!
//! The nonce consists of name and number. Every packet of a node has its own number, so no nonce is used twice with one
//! key.

use super::frames::PeerName;
use crypto_secretbox::aead::{AeadInPlace, KeyInit};
use crypto_secretbox::{Key, Nonce, Tag, XSalsa20Poly1305};
use std::io;
use std::path::Path;

const NAME: usize = 6;
const NUMBER: usize = 8;
const TAG: usize = 16;

/// Writer and reader of packet heads, which encrypts and decrypts if there is a key.
pub(super) struct PacketSealer {
    name: PeerName,
    cipher: Option<XSalsa20Poly1305>,
    next_number: u64,
}

impl PacketSealer {
    /// Creates the sealer of a node. Without a key, frames are sent in plain text.
    pub(super) fn new(name: PeerName, key: Option<[u8; 32]>) -> Self {
        let cipher = key.map(|key| XSalsa20Poly1305::new(&Key::from(key)));
        Self { name, cipher, next_number: 0 }
    }

    /// Returns the length of a packet's head, bytes.
    pub(super) fn header_length(&self) -> usize {
        if self.cipher.is_some() { NAME + NUMBER + TAG } else { NAME }
    }

    /// Writes the head of a packet and encrypts the rest. Returns `None` if the packet is shorter than its head, or if
    /// all numbers are used up.
    pub(super) fn seal(&mut self, packet: &mut [u8]) -> Option<()> {
        let (head, body) = packet.split_at_mut_checked(self.header_length())?;
        head[..NAME].copy_from_slice(&self.name);
        let Some(cipher) = &self.cipher else { return Some(()) };
        let number = self.next_number.to_be_bytes();
        self.next_number = self.next_number.checked_add(1)?;
        let tag = cipher.encrypt_in_place_detached(&nonce(&self.name, &number), b"", body).ok()?;
        head[NAME..NAME + NUMBER].copy_from_slice(&number);
        head[NAME + NUMBER..].copy_from_slice(&tag);
        Some(())
    }

    /// Returns the sender and the frames of a packet. Returns `None` if it is too short, or if it was not sealed with
    /// this key.
    pub(super) fn open<'a>(&self, packet: &'a mut [u8]) -> Option<(PeerName, &'a [u8])> {
        let (head, body) = packet.split_at_mut_checked(self.header_length())?;
        let name: PeerName = *head.first_chunk()?;
        if let Some(cipher) = &self.cipher {
            let number: [u8; NUMBER] = *head[NAME..].first_chunk()?;
            let tag: [u8; TAG] = *head[NAME + NUMBER..].first_chunk()?;
            let tag = Tag::from(tag);
            cipher.decrypt_in_place_detached(&nonce(&name, &number), b"", body, &tag).ok()?;
        }
        Some((name, body))
    }
}

fn nonce(name: &PeerName, number: &[u8; NUMBER]) -> Nonce {
    let mut nonce = [0; 24];
    nonce[..NAME].copy_from_slice(name);
    nonce[24 - NUMBER..].copy_from_slice(number);
    Nonce::from(nonce)
}

/// Reads a key of 64 hexadecimal digits. Fails if the file cannot be read or has any other content.
pub(super) fn read_key(file: &Path) -> io::Result<[u8; 32]> {
    let text = std::fs::read_to_string(file)?;
    parse_key(text.trim())
        .ok_or_else(|| io::Error::other("invalid key: expected 64 hexadecimal digits"))
}

fn parse_key(text: &str) -> Option<[u8; 32]> {
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

    const NODE: PeerName = [10, 0, 0, 0, 0, 1];

    fn packet(seal: &mut PacketSealer, body: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; seal.header_length()];
        packet.extend(body);
        seal.seal(&mut packet).unwrap();
        packet
    }

    #[test]
    fn what_is_sealed_is_opened_by_the_key_alone() {
        let mut seal = PacketSealer::new(NODE, Some([7; 32]));
        let body = [1; 100];
        let sealed = packet(&mut seal, &body);
        assert!(!sealed.windows(8).any(|some| some == &body[..8]), "it cannot be read");
        let opened = |seal: &PacketSealer, packet: &[u8]| {
            let mut packet = packet.to_vec();
            seal.open(&mut packet).map(|(name, body)| (name, body.to_vec()))
        };
        assert_eq!(opened(&seal, &sealed), Some((NODE, body.to_vec())));
        assert_eq!(opened(&PacketSealer::new(NODE, Some([8; 32])), &sealed), None);
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
        let mut seal = PacketSealer::new(NODE, None);
        let mut sent = packet(&mut seal, b"frames");
        assert_eq!(sent.len(), 12);
        assert_eq!(seal.open(&mut sent), Some((NODE, &b"frames"[..])));
    }

    #[test]
    fn a_key_is_64_digits() {
        assert_eq!(parse_key(&"0f".repeat(32)), Some([15; 32]));
        assert!(parse_key("0f").is_none() && parse_key(&"zz".repeat(32)).is_none());
    }
}
