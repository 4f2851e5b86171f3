//! Fuzz target of the parsers of packets between nodes.

use super::frames::{addresses, frames, is_multicast};
use super::seal::PacketSealer;

/// Opens a packet with and without a key, and reads its frames and their addresses.
pub fn packet(bytes: &[u8]) {
    for key in [None, Some([7; 32])] {
        let mut packet = bytes.to_vec();
        let Some((_, body)) = PacketSealer::new([0; 6], key).open(&mut packet) else { continue };
        assert!(key.is_none(), "arbitrary bytes are not authentic");
        let mut held = 0;
        for frame in frames(body) {
            held += frame.len();
            let _ = addresses(frame).map(|(to, _)| is_multicast(&to));
        }
        assert!(held <= bytes.len(), "no frame is in a packet twice");
    }
}
