//! Message by which all rules of kube-proxy are given to the kernel at once, and its limit for ordinary users.
//!
//! A netlink message may be as long as its socket's send buffer. iptables and nft enlarge that buffer beyond any limit
//! (socket(7), SO_SNDBUFFORCE), which takes CAP_NET_ADMIN outside of all user namespaces. For ordinary users it stays at
//! `net.core.wmem_default`.

use super::proxy_mode::ProxyMode;
use rustix::net::{AddressFamily, SocketType, socket, sockopt};
use std::fs;
use tare_network::UnmetRequirement;

/// Send buffer of a new socket, bytes.
const DEFAULT_BUFFER: &str = "/proc/sys/net/core/wmem_default";

/// Returns the error if rules for this many ports of services do not fit one message of this user to the kernel.
pub(super) fn missing_buffer(mode: ProxyMode, ports: usize) -> Option<UnmetRequirement> {
    let buffer = fs::read_to_string(DEFAULT_BUFFER).ok()?.trim().parse().ok()?;
    if can_enlarge_buffer() { None } else { lacking(mode, ports, buffer) }
}

/// Returns the error for a buffer of `buffer` bytes that cannot be enlarged.
fn lacking(mode: ProxyMode, ports: usize, buffer: usize) -> Option<UnmetRequirement> {
    let needed = ports.saturating_mul(mode.bytes_of_a_port());
    (needed > buffer).then(|| UnmetRequirement {
        reason: format!(
            "the rules of {ports} ports of services need a message of {needed} bytes, and an ordinary user's have {buffer} at most"
        ),
        remedy: format!("sudo sysctl net.core.wmem_default={needed}, run tare as root, or use fewer +services"),
    })
}

fn can_enlarge_buffer() -> bool {
    let socket = socket(AddressFamily::UNIX, SocketType::DGRAM, None);
    socket.is_ok_and(|socket| {
        let size = sockopt::socket_send_buffer_size(&socket).unwrap_or(0) / 2;
        sockopt::set_socket_send_buffer_size_force(&socket, size).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_buffer_has_its_remedy() {
        let unmet = lacking(ProxyMode::Nftables, 1000, 212_992).unwrap();
        assert!(unmet.reason.contains("1000 ports of services need a message of 2400000 bytes"));
        assert!(unmet.remedy.starts_with("sudo sysctl net.core.wmem_default=2400000, "));
        assert!(lacking(ProxyMode::Nftables, 1000, 2_400_000).is_none());
        assert!(lacking(ProxyMode::Iptables, 50, 212_992).is_none());
    }
}
