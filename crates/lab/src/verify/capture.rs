//! Packet capture between nodes: proof that the packets of a network pass there, and that they can be read, or cannot.
//!
//! A packet socket (packet(7)) in the underlay's namespace copies every frame. A random marker is sent from a client to
//! its server; then either the captured frames contain it, or they do not.

use crate::plan::layout::Layout;
use crate::plan::nodes::UNDERLAY;
use crate::random_key;
use crate::verify::connectivity::carry;
use crate::verify::path_proof::namespace;
use std::sync::Arc;
use tare_network::Error;
use tare_sandbox::sys::packet::PacketRing;
use tare_sandbox::{Namespace, listen_in};

/// Confidentiality of the packets between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confidentiality {
    /// The packets can be read.
    Plain,
    /// The packets are encrypted.
    Encrypted,
}

/// Size of the marker, bytes. It is random, so that no other packet contains it.
const MARKER: usize = 32;

/// Sends a marker from client 0 to its server, and checks that it passes between the nodes as it should.
pub(crate) fn check_confidentiality(
    layout: &Layout,
    spaces: &[Arc<Namespace>],
    secrecy: Confidentiality,
) -> Result<(), Error> {
    let Some((route, underlay)) = layout.routes.first().zip(underlay(layout, spaces)) else {
        return Ok(());
    };
    let tap = PacketCapture::open(underlay)?;
    let marker = random_key::random_bytes::<MARKER>()?;
    let space = |endpoint| namespace(endpoint, spaces).map(AsRef::as_ref);
    let listener = listen_in(space(&layout.servers[route.server]), route.listen)?;
    carry(space(&layout.clients[route.client]), route.dial, &listener, &marker)?;
    check_capture(&tap.count_frames(&marker), secrecy)
}

/// Compares the captured frames with the expected confidentiality.
fn check_capture(heard: &CapturedFrames, secrecy: Confidentiality) -> Result<(), Error> {
    let error = |why: &str| Err(Error::new("verify the encryption between the nodes", why));
    match (heard, secrecy) {
        (CapturedFrames { large: 0, .. }, _) => {
            error("no packet of the connection passed the link: packets take another path")
        }
        (CapturedFrames { marked: 0, .. }, Confidentiality::Plain) => {
            error("the payload cannot be read on the link, although the network does not encrypt")
        }
        (CapturedFrames { marked: 1.., .. }, Confidentiality::Encrypted) => {
            error("the payload can be read on the link: the network has not encrypted it")
        }
        _ => Ok(()),
    }
}

fn underlay<'a>(layout: &Layout, spaces: &'a [Arc<Namespace>]) -> Option<&'a Arc<Namespace>> {
    let at = layout.wiring.spaces.iter().position(|space| space.name == UNDERLAY)?;
    spaces.get(at)
}

/// Counts of captured frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CapturedFrames {
    /// Frames large enough for the marker.
    large: u64,
    /// Frames that contain the marker.
    marked: u64,
}

/// Capture of all frames in a namespace.
struct PacketCapture(PacketRing);

impl PacketCapture {
    fn open(space: &Namespace) -> Result<Self, Error> {
        let open = || PacketRing::open().map(Self);
        space.run_inside(|| {
            open().map_err(|errno| Error::new("capture packets between the nodes", errno))
        })
    }

    /// Counts all frames that have passed so far.
    fn count_frames(&self, marker: &[u8]) -> CapturedFrames {
        let mut heard = CapturedFrames::default();
        for frame in self.0.frames() {
            heard.large += u64::from(frame.len() > marker.len());
            let is_marked = frame.windows(marker.len()).any(|some| some == marker);
            heard.marked += u64::from(is_marked);
        }
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_must_be_plain_and_what_cannot_encrypted() {
        let plain = CapturedFrames { large: 9, marked: 2 };
        let sealed = CapturedFrames { large: 9, marked: 0 };
        assert!(check_capture(&plain, Confidentiality::Plain).is_ok());
        assert!(check_capture(&sealed, Confidentiality::Encrypted).is_ok());
        let why = |heard, secrecy| check_capture(heard, secrecy).unwrap_err().why;
        assert!(why(&plain, Confidentiality::Encrypted).contains("not encrypted it"));
        assert!(why(&sealed, Confidentiality::Plain).contains("cannot be read"));
        assert!(
            why(&CapturedFrames::default(), Confidentiality::Encrypted).contains("another path")
        );
    }
}
