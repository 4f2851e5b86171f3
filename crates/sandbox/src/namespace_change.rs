//! Changes of a network namespace, each known to both back ends.

use crate::netlink::NetlinkRequest;

/// Change of a network namespace: the request that makes it, and the command by which a reader can make the same
/// change. One type has both, so that what `tare show` prints cannot drift from what is done.
pub trait NamespaceChange {
    /// Returns the request to the kernel (rtnetlink(7)). `place` is the name of the namespace, for errors.
    fn request(&self, place: &str) -> NetlinkRequest;

    /// Returns the command, by ip(8), tc(8), bridge(8) or sysctl(8), in the namespace that is called `place`.
    fn command(&self, place: &str) -> String;
}
