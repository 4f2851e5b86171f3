//! MTU of the client's device and of the path, and the fragmentation that follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// MTUs that limit the size of packets, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MtuFit {
    /// MTU of the client's own device.
    pub inside: u32,
    /// Smallest MTU of the devices on the path.
    pub available: u32,
}

impl MtuFit {
    /// Returns true if the client's device sends packets that the path does not carry.
    #[must_use]
    pub fn is_too_small(self) -> bool {
        self.available < self.inside
    }
}

impl fmt::Display for MtuFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_too_small() {
            write!(
                f,
                "the client's MTU of {} exceeds the MTU of {} on the path",
                self.inside, self.available
            )
        } else {
            write!(f, "packets exceeded the MTU of {}", self.available)
        }
    }
}

/// Average number of fragments of a packet that was fragmented.
pub(crate) struct FragmentCount {
    /// Packets that were fragmented.
    pub(crate) packets: u64,
    /// Fragments of those packets.
    pub(crate) fragments: u64,
}

impl fmt::Display for FragmentCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FEW: [&str; 7] = ["two", "three", "four", "five", "six", "seven", "eight"];
        let each = self.fragments as f64 / self.packets.max(1) as f64;
        let whole = (each - each.round()).abs() < 0.005;
        let word = FEW.get((each.round() as usize).wrapping_sub(2)).filter(|_| whole);
        match word {
            Some(word) => write!(f, "{word} fragments each"),
            None => write!(f, "{each:.1} fragments on average"),
        }
    }
}
