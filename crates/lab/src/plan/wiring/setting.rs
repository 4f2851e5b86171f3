//! Settings of a namespace and of its devices, as in sysctl(8).

use super::NamespaceId;
use std::borrow::Cow;

/// Requirement on the presence of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SysctlPresence {
    /// The setting must exist: without it the network is not the one that it claims to be.
    Required,
    /// The setting may be missing: a kernel without the setting does not have the behaviour either.
    IfThere,
}

/// Setting of a network namespace, written before it has any device but `lo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sysctl {
    /// Key, as in sysctl(8).
    pub(crate) key: &'static str,
    /// Value of the setting.
    pub(crate) value: Cow<'static, str>,
    /// Requirement on the presence of the setting.
    pub(crate) presence: SysctlPresence,
}

impl Sysctl {
    /// Returns a setting that must exist.
    pub(crate) const fn required(key: &'static str, value: &'static str) -> Self {
        Self { key, value: Cow::Borrowed(value), presence: SysctlPresence::Required }
    }

    /// Returns a setting that matters only if it exists.
    pub(crate) const fn if_there(key: &'static str, value: &'static str) -> Self {
        Self { key, value: Cow::Borrowed(value), presence: SysctlPresence::IfThere }
    }
}

/// Setting that is written when the devices exist. Most belong to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceSysctl {
    /// Namespace of the setting.
    pub(crate) space: NamespaceId,
    /// Key, as in sysctl(8): `net.ipv4.conf.eth0.proxy_arp`.
    pub(crate) key: String,
    /// Value of the setting.
    pub(crate) value: String,
    /// Requirement on the presence of the setting.
    pub(crate) presence: SysctlPresence,
}

impl DeviceSysctl {
    /// Returns a setting that must exist.
    pub(crate) fn required(space: NamespaceId, key: impl Into<String>, value: &str) -> Self {
        Self { space, key: key.into(), value: value.to_owned(), presence: SysctlPresence::Required }
    }
}
