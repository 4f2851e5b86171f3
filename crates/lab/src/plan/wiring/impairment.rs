//! Impaired links.

use super::NamespaceId;
use tare_sandbox::devices::Netem;

/// Device whose packets are delayed, lost or rate-limited on purpose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Impairment {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) device: String,
    /// Impairment of the packets that leave by it.
    pub(crate) netem: Netem,
}
