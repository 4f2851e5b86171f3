//! Destination of a redirection.

use crate::netlink::{DeviceRef, MacAddress};

/// Node's end of a veth pair, and the link-layer address at its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedirectTarget<'a> {
    /// Node's end of the pair.
    pub device: DeviceRef<'a>,
    /// Link-layer address of the far end, in the container.
    pub mac: MacAddress,
}
