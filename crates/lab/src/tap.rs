//! Listening between nodes: proof that what a network carries passes there, and that it can be read, or cannot.
//!
//! A packet socket (packet(7)) in the underlay's namespace gets a copy of every frame. A marker that nobody else sends is
//! carried from a client to its server; then it was among the frames, or it was not.

use crate::layout::Layout;
use crate::namespace::{Namespace, listen_in};
use crate::nodes::UNDERLAY;
use crate::prove::namespace;
use crate::reach::carry;
use crate::secret;
use crate::sys::packet::Ring;
use std::sync::Arc;
use tare_network::Error;

/// Whether those who listen between nodes can read what a network carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// They can.
    Plain,
    /// They cannot.
    Encrypted,
}

/// The bytes that are carried: random, so that they are nobody else's.
const MARKER: usize = 32;

/// Carries a marker from client 0 to its server, and sees that it passes between the nodes as it should.
pub(crate) fn listen(
    layout: &Layout,
    spaces: &[Arc<Namespace>],
    secrecy: Secrecy,
) -> Result<(), Error> {
    let Some((route, underlay)) = layout.routes.first().zip(underlay(layout, spaces)) else {
        return Ok(());
    };
    let tap = Tap::open(underlay)?;
    let marker = secret::random::<MARKER>()?;
    let space = |endpoint| namespace(endpoint, spaces).map(AsRef::as_ref);
    let listener = listen_in(space(&layout.servers[route.server]), route.listen)?;
    carry(space(&layout.clients[route.client]), route.dial, &listener, &marker)?;
    judge(&tap.heard(&marker), secrecy)
}

/// What was heard beside what should be.
fn judge(heard: &Heard, secrecy: Secrecy) -> Result<(), Error> {
    let error = |why: &str| Err(Error::new("listen between the nodes", why));
    match (heard, secrecy) {
        (Heard { large: 0, .. }, _) => {
            error("the traffic does not pass there: it takes another path")
        }
        (Heard { marked: 0, .. }, Secrecy::Plain) => {
            error("what the network carries cannot be read there, and it does not encrypt")
        }
        (Heard { marked: 1.., .. }, Secrecy::Encrypted) => {
            error("what the network carries can be read there: it is not encrypted")
        }
        _ => Ok(()),
    }
}

fn underlay<'a>(layout: &Layout, spaces: &'a [Arc<Namespace>]) -> Option<&'a Arc<Namespace>> {
    let at = layout.wiring.spaces.iter().position(|space| space.name == UNDERLAY)?;
    spaces.get(at)
}

/// What a tap has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    /// Frames large enough for the marker.
    large: u64,
    /// Frames in which it could be read.
    marked: u64,
}

/// What passes in a namespace.
struct Tap(Ring);

impl Tap {
    fn open(space: &Namespace) -> Result<Self, Error> {
        let open = || Ring::open().map(Self);
        space.within(|| open().map_err(|errno| Error::new("listen between the nodes", errno)))
    }

    /// Reads all frames that have come so far.
    fn heard(&self, marker: &[u8]) -> Heard {
        let mut heard = Heard::default();
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
        let plain = Heard { large: 9, marked: 2 };
        let sealed = Heard { large: 9, marked: 0 };
        assert!(judge(&plain, Secrecy::Plain).is_ok());
        assert!(judge(&sealed, Secrecy::Encrypted).is_ok());
        let why = |heard, secrecy| judge(heard, secrecy).unwrap_err().why;
        assert!(why(&plain, Secrecy::Encrypted).contains("not encrypted"));
        assert!(why(&sealed, Secrecy::Plain).contains("cannot be read"));
        assert!(why(&Heard::default(), Secrecy::Encrypted).contains("another path"));
    }
}
