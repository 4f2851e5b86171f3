//! strongSwan (charon-systemd, swanctl), which negotiates keys for the kernel's ESP or encrypts packets itself: its
//! configuration, and the start of its tunnels.
//!
//! Source: docs.strongswan.org, `swanctl.conf`, `strongswan.conf`, and the plugins `kernel-netlink` and
//! `kernel-libipsec`. The tunnels carry the networks that contain their own ends. In userspace the daemon's own packets
//! are therefore marked, and stay on the main routing table; the kernel exempts the daemon's sockets from its policies.

use crate::plan::wiring::{NamespaceId, Wiring};
use crate::programs::{PacketCounter, Program, ReadyCondition};
use crate::random_key;
use std::net::IpAddr;
use tare_network::{Error, Requirement};
use tare_sandbox::programs::runtime_directory;

/// TUN device through which the daemon receives and sends packets.
pub(crate) const DEVICE: &str = "ipsec0";

/// Debian packages that are needed.
const PACKAGES: &str =
    "strongswan-swanctl charon-systemd libcharon-extra-plugins libstrongswan-standard-plugins";

/// Mark of the daemon's own packets.
const MARK: &str = "0x42";

/// Implementation that encrypts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EspMode {
    /// The kernel, with keys from the daemon.
    Kernel,
    /// The daemon itself, on a TUN device.
    Userspace,
}

/// Endpoint of tunnels to all other endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TunnelEnd {
    /// Namespace of the endpoint.
    pub(crate) space: NamespaceId,
    /// Number of its node.
    pub(crate) number: u8,
    /// Address of the endpoint.
    pub(crate) address: IpAddr,
    /// Network behind the endpoint.
    pub(crate) network: String,
}

/// Returns the requirements of strongSwan.
pub(crate) fn requirements(esp: EspMode) -> Vec<Requirement> {
    let program = |name| Requirement::Program { name, package: PACKAGES };
    let mut needs = vec![program("swanctl"), program("charon-systemd")];
    match esp {
        EspMode::Userspace => {
            needs.push(Requirement::DeviceFile { path: "/dev/net/tun", module: "tun" });
        }
        EspMode::Kernel => {
            needs.extend(["xfrm_user", "esp4"].map(|module| Requirement::Kernel { module }));
            needs.push(Requirement::Program { name: "ip", package: "iproute2" });
        }
    }
    needs
}

/// Adds the counter that proves that the kernel has encrypted and decrypted packets of an endpoint.
pub(crate) fn add_esp_counter(wiring: &mut Wiring, space: NamespaceId) {
    // `ip -s xfrm state` prints a line `84(bytes), 1(packets)` for each association.
    let script = "ip -s xfrm state | sed -n 's/.* \\([0-9]*\\)(packets).*/packets=\\1/p'";
    wiring.counters.push(PacketCounter {
        description: format!("packets through the kernel's ESP in {}", wiring.name(space)),
        program: Program::step(space, "sh", ["-c", script]),
        prefix: "packets=",
    });
}

/// Adds a daemon to every endpoint, and a tunnel between every two endpoints.
pub(crate) fn add_tunnels(
    wiring: &mut Wiring,
    esp: EspMode,
    ends: &[TunnelEnd],
) -> Result<(), Error> {
    let key = random_key::to_hex(&random_key::random_bytes::<32>()?);
    for end in ends {
        let place = runtime_directory(wiring.name(end.space));
        let (socket, file) = (format!("{place}/charon.vici"), format!("{place}/swanctl.conf"));
        let uri = format!("unix://{socket}");
        let settings = format!("{place}/strongswan.conf");
        let daemon = Program::daemon::<&str>(
            end.space,
            "charon-systemd",
            [],
            ReadyCondition::ListensOn(socket),
        );
        let daemon = daemon.with_variable("STRONGSWAN_CONF", &*settings);
        wiring.programs.push(daemon.with_file(settings.clone(), daemon_settings(esp, &uri)));
        let load = ["--load-all", "--noprompt", "--file", &file, "--uri", &uri];
        let load =
            Program::step(end.space, "swanctl", load).with_variable("STRONGSWAN_CONF", &*settings);
        wiring.programs.push(load.with_file(file.clone(), connections(end, ends, &key)));
        // The endpoint with the smaller number initiates a tunnel; the other one waits.
        for other in ends.iter().filter(|other| other.number > end.number) {
            let script = initiate(other, &uri);
            let step = Program::step(end.space, "sh", ["-c", &script]);
            let step = step.with_name(format!("initiate-{}", other.number));
            wiring.programs.push(step.with_variable("STRONGSWAN_CONF", &*settings));
        }
    }
    Ok(())
}

/// Returns a script that tries until the other daemon answers, because the daemons start at the same time. The daemon
/// retransmits for a long time: on a slow machine an endpoint that gave up would start again, while the other one keeps
/// the negotiated state.
fn initiate(other: &TunnelEnd, uri: &str) -> String {
    format!(
        "for try in $(seq 100); do swanctl --initiate --timeout 40 --child to-{} --uri {uri} && exit 0; \
         sleep 0.1; done; exit 1",
        other.number
    )
}

fn daemon_settings(esp: EspMode, uri: &str) -> String {
    let (plugin, settings) = match esp {
        EspMode::Kernel => ("", String::new()),
        EspMode::Userspace => (
            "kernel-libipsec ",
            format!(
                "    kernel-libipsec {{
      allow_peer_ts = yes
    }}
    kernel-netlink {{
      fwmark = !{MARK}
    }}
    socket-default {{
      fwmark = {MARK}
    }}
"
            ),
        ),
    };
    format!(
        "charon-systemd {{
  load_modular = no
  load = random nonce openssl aes sha1 sha2 hmac gcm kdf {plugin}kernel-netlink socket-default vici updown
  retransmit_timeout = 0.3
  retransmit_base = 1.2
  retransmit_limit = 1
  retransmit_tries = 40
  plugins {{
    vici {{
      socket = {uri}
    }}
{settings}  }}
  filelog {{
    stderr {{
      default = 1
    }}
  }}
}}
swanctl {{
  load = random openssl
}}
"
    )
}

/// Returns a connection to each other endpoint, with one tunnel for the networks behind the two. ESP is always in UDP, as
/// between Rancher's agents, which were behind Docker's address translation (RFC 3948).
fn connections(end: &TunnelEnd, ends: &[TunnelEnd], key: &str) -> String {
    let mut text = "connections {\n".to_owned();
    for other in ends.iter().filter(|other| *other != end) {
        let TunnelEnd { number, address, network, .. } = other;
        text.push_str(&format!(
            "  peer-{number} {{
    version = 2
    unique = replace
    local_addrs = {}
    remote_addrs = {address}
    encap = yes
    proposals = aes128gcm16-prfsha256-ecp256
    local {{
      auth = psk
      id = agent-{}
    }}
    remote {{
      auth = psk
      id = agent-{number}
    }}
    children {{
      to-{number} {{
        local_ts = {}
        remote_ts = {network}
        esp_proposals = aes128gcm16-ecp256
      }}
    }}
  }}
",
            end.address, end.number, end.network
        ));
    }
    text.push_str(&format!("}}\nsecrets {{\n  ike-all {{\n    secret = {key}\n  }}\n}}\n"));
    text
}
