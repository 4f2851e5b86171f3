//! Redirections and rate limits of single devices.

use super::NamespaceId;
use tare_sandbox::devices::TokenBucket;

/// Device whose received packets all leave by another device of its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Redirection {
    /// Namespace of both devices.
    pub(crate) space: NamespaceId,
    /// Device that receives the packets.
    pub(crate) from: &'static str,
    /// Device by which they leave.
    pub(crate) to: &'static str,
}

/// Device with a rate limit of its own, in the direction in which packets leave by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) device: &'static str,
    /// Token bucket in front of the device.
    pub(crate) bucket: TokenBucket,
}
