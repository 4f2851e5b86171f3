//! `weave-sleeve-encrypted`: Weave Net in sleeve mode with a password: what the processes carry is sealed (NaCl).

use super::weave::{SLEEVE, Weave};
use crate::weave::Mode;

/// The network.
pub(super) const NETWORK: Weave = Weave {
    name: "weave-sleeve-encrypted",
    summary: "the same, sealed by the processes: NaCl's secretbox",
    stands_for: SLEEVE,
    mode: Mode::SleeveEncrypted,
};
