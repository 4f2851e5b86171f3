//! Settings of a namespace and of its devices, as sysctl(8) knows them.

use super::SpaceId;
use std::borrow::Cow;

/// Whether a setting must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Without it the network is not what it says it is.
    Required,
    /// Where the kernel has no such setting, it has no such behaviour either.
    IfThere,
}

/// A setting of a network namespace, made before it has any device but `lo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sysctl {
    /// As sysctl(8) spells it.
    pub(crate) key: &'static str,
    /// Its value.
    pub(crate) value: Cow<'static, str>,
    /// Whether it must be there.
    pub(crate) presence: Presence,
}

impl Sysctl {
    /// A setting that must be there.
    pub(crate) const fn required(key: &'static str, value: &'static str) -> Self {
        Self { key, value: Cow::Borrowed(value), presence: Presence::Required }
    }

    /// A setting that matters only where it is there.
    pub(crate) const fn if_there(key: &'static str, value: &'static str) -> Self {
        Self { key, value: Cow::Borrowed(value), presence: Presence::IfThere }
    }
}

/// A setting that is made once the devices are there: most are a device's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Where.
    pub(crate) space: SpaceId,
    /// As sysctl(8) spells it: `net.ipv4.conf.eth0.proxy_arp`.
    pub(crate) key: String,
    /// Its value.
    pub(crate) value: String,
    /// Whether it must be there.
    pub(crate) presence: Presence,
}

impl Setting {
    /// A setting that must be there.
    pub(crate) fn required(space: SpaceId, key: impl Into<String>, value: &str) -> Self {
        Self { space, key: key.into(), value: value.to_owned(), presence: Presence::Required }
    }
}
