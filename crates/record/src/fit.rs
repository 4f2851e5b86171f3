//! How large packets may be: where they are made, and on the path that they take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest packets, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// What the client's own device sends: its MTU.
    pub inside: u32,
    /// What every device on the path carries: the smallest of their MTUs.
    pub available: u32,
}

impl Fit {
    /// Whether packets are made that the path does not carry.
    #[must_use]
    pub fn is_too_small(self) -> bool {
        self.available < self.inside
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_too_small() {
            write!(f, "MTU {} inside, {} available", self.inside, self.available)
        } else {
            write!(f, "packets were larger than the MTU of {}", self.available)
        }
    }
}

/// What becomes of a packet that was cut.
pub(crate) struct Pieces {
    /// Packets.
    pub(crate) packets: u64,
    /// The fragments that they became.
    pub(crate) fragments: u64,
}

impl fmt::Display for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FEW: [&str; 7] = ["two", "three", "four", "five", "six", "seven", "eight"];
        let each = self.fragments as f64 / self.packets.max(1) as f64;
        let whole = (each - each.round()).abs() < 0.005;
        let word = FEW.get((each.round() as usize).wrapping_sub(2)).filter(|_| whole);
        match word {
            Some(word) => write!(f, "every larger packet is {word}"),
            None => write!(f, "a larger packet is {each:.1} on average"),
        }
    }
}
