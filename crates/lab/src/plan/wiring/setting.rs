//! Settings of devices, as in sysctl(8).

use super::NamespaceId;
use tare_sandbox::{Sysctl, SysctlPresence};

/// Setting that is written when the devices exist. Most belong to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceSysctl {
    /// Namespace of the setting.
    pub(crate) space: NamespaceId,
    /// Setting, with a key as `net.ipv4.conf.eth0.proxy_arp`.
    pub(crate) sysctl: Sysctl,
}

impl DeviceSysctl {
    /// Returns a setting that must exist.
    pub(crate) fn required(
        space: NamespaceId,
        key: impl Into<String>,
        value: &'static str,
    ) -> Self {
        let (key, presence) = (key.into().into(), SysctlPresence::Required);
        Self { space, sysctl: Sysctl { key, value: value.into(), presence } }
    }
}
