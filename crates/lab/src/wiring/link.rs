//! Devices that hang on another one, or on nothing: macvlan, ipvlan, VLAN …

use super::{SpaceId, Wrap};
use crate::address::Mac;

/// The device that a link hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    /// Where; it may be another namespace than the link's.
    pub(crate) space: SpaceId,
    /// Its name.
    pub(crate) device: String,
}

impl Parent {
    /// This device of that namespace.
    pub(crate) fn new(space: SpaceId, device: impl Into<String>) -> Self {
        Self { space, device: device.into() }
    }
}

/// How the macvlan devices of one parent reach each other (ip-link(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MacvlanMode {
    /// Directly.
    Bridge,
}

/// What ipvlan devices do with what passes them (Documentation/networking/ipvlan.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpvlanMode {
    /// They switch frames: all have the parent's link-layer address, IP addresses tell them apart.
    L2,
    /// They route packets: nobody asks for neighbours.
    L3,
}

/// What a link is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// A second device on a parent, with a link-layer address of its own.
    Macvlan {
        /// The parent.
        parent: Parent,
        /// How those of one parent reach each other.
        mode: MacvlanMode,
    },
    /// A second device on a parent, with the parent's link-layer address.
    Ipvlan {
        /// The parent.
        parent: Parent,
        /// What it does with what passes.
        mode: IpvlanMode,
    },
    /// A tunnel, whose packets leave by the parent.
    Tunnel {
        /// The parent.
        parent: Parent,
        /// What packets are wrapped in.
        wrap: Wrap,
    },
    /// Frames of a parent that carry a tag (IEEE 802.1Q).
    Vlan {
        /// The parent.
        parent: Parent,
        /// The tag's VLAN identifier.
        id: u16,
    },
}

impl LinkKind {
    /// The device that it hangs on, where it does.
    pub(crate) fn parent(&self) -> Option<&Parent> {
        match self {
            Self::Macvlan { parent, .. }
            | Self::Ipvlan { parent, .. }
            | Self::Tunnel { parent, .. }
            | Self::Vlan { parent, .. } => Some(parent),
        }
    }
}

/// A device of one of these kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Where.
    pub(crate) space: SpaceId,
    /// Its name.
    pub(crate) name: String,
    /// Its link-layer address, where anybody must know it.
    pub(crate) mac: Option<Mac>,
    /// Its MTU, bytes; the wiring's where none is given.
    pub(crate) mtu: Option<u32>,
    /// The bridge or VRF that it is plugged into, in the same namespace.
    pub(crate) controller: Option<String>,
    /// What it is.
    pub(crate) kind: LinkKind,
}

impl Link {
    /// A link that is plugged into nothing.
    pub(crate) fn new(space: SpaceId, name: impl Into<String>, kind: LinkKind) -> Self {
        Self { space, name: name.into(), mac: None, mtu: None, controller: None, kind }
    }

    /// The same link with a link-layer address that others may know.
    pub(crate) fn with_mac(self, mac: Mac) -> Self {
        Self { mac: Some(mac), ..self }
    }

    /// The parent, where it is in another namespace.
    pub(crate) fn parent_elsewhere(&self) -> Option<&Parent> {
        self.kind.parent().filter(|parent| parent.space != self.space)
    }
}
