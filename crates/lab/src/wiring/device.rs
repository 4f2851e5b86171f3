//! Devices that join others: bridges, VRFs, cables.

use super::{SpaceId, Wiring};
use crate::address::Mac;
use crate::bucket::TokenBucket;
use tare_network::BitsPerSecond;

/// A Linux bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bridge {
    /// Where.
    pub(crate) space: SpaceId,
    /// Its name.
    pub(crate) name: String,
    /// Its own link-layer address, where it has an IP address.
    pub(crate) mac: Option<Mac>,
    /// Its MTU, bytes; the wiring's where none is given.
    pub(crate) mtu: Option<u32>,
}

/// A VRF device: a routing table of its own for the devices that are plugged into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vrf {
    /// Where.
    pub(crate) space: SpaceId,
    /// Its name.
    pub(crate) name: String,
    /// The number of its routing table.
    pub(crate) table: u32,
}

/// One end of a cable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Where.
    pub(crate) space: SpaceId,
    /// The device's name.
    pub(crate) device: String,
    /// Its link-layer address, where anybody must know it.
    pub(crate) mac: Option<Mac>,
    /// The bridge or VRF that it is plugged into, in the same namespace.
    pub(crate) controller: Option<String>,
}

impl End {
    /// An end that is plugged into nothing.
    pub(crate) fn new(space: SpaceId, device: impl Into<String>) -> Self {
        Self { space, device: device.into(), mac: None, controller: None }
    }

    /// The same end with a link-layer address that others may know.
    pub(crate) fn with_mac(self, mac: Mac) -> Self {
        Self { mac: Some(mac), ..self }
    }

    /// The same end, plugged into a bridge or a VRF.
    pub(crate) fn plugged_into(self, controller: impl Into<String>) -> Self {
        Self { controller: Some(controller.into()), ..self }
    }
}

/// What a cable is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CableKind {
    /// A veth pair.
    #[default]
    Veth,
    /// A netkit pair; its near end is the primary one.
    Netkit,
}

impl CableKind {
    /// As ip(8) spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Veth => "veth",
            Self::Netkit => "netkit",
        }
    }
}

/// Two devices, of which each receives what the other sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cable {
    /// What it is made of.
    pub(crate) kind: CableKind,
    /// The end in whose namespace it is made.
    pub(crate) near: End,
    /// The other end.
    pub(crate) far: End,
    /// To what it is limited, in each direction; nothing for as fast as it goes.
    pub(crate) rate: Option<BitsPerSecond>,
    /// Its MTU, bytes; the wiring's where none is given.
    pub(crate) mtu: Option<u32>,
}

impl Cable {
    /// A veth pair, as fast as it goes.
    pub(crate) fn new(near: End, far: End) -> Self {
        Self { kind: CableKind::Veth, near, far, rate: None, mtu: None }
    }

    /// The same cable, limited in each direction where there is a rate.
    pub(crate) fn limited_to(self, rate: Option<BitsPerSecond>) -> Self {
        Self { rate, ..self }
    }

    /// Both ends.
    pub(crate) fn ends(&self) -> [&End; 2] {
        [&self.near, &self.far]
    }

    /// The queue in front of each end, where the cable is limited.
    pub(crate) fn bucket(&self, wiring: &Wiring) -> Option<TokenBucket> {
        self.rate.map(|rate| TokenBucket::new(rate, self.mtu.unwrap_or(wiring.mtu)))
    }
}
