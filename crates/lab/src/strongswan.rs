//! strongSwan (charon-systemd, swanctl), which agrees on keys for the kernel's ESP or seals packets itself: what it is told,
//! and how tunnels come up.
//!
//! Source: docs.strongswan.org, `swanctl.conf`, `strongswan.conf`, and the plugins `kernel-netlink` and `kernel-libipsec`. The
//! tunnels carry the networks in which their own ends are. In userspace what the daemon itself sends is therefore marked,
//! and keeps to the main routing table; the kernel lets the daemon's sockets past its policies.

use crate::programs::{Counter, Program, Ready, directory};
use crate::secret;
use crate::wiring::{SpaceId, Wiring};
use std::net::IpAddr;
use tare_network::{Error, Need};

/// The TUN device by which the daemon takes and gives packets.
pub(crate) const DEVICE: &str = "ipsec0";

/// All of what is needed of Debian.
const PACKAGES: &str =
    "strongswan-swanctl charon-systemd libcharon-extra-plugins libstrongswan-standard-plugins";

/// What marks the daemon's own packets.
const MARK: &str = "0x42";

/// Who seals packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Esp {
    /// The kernel, as the daemon tells it.
    Kernel,
    /// The daemon itself, on a TUN device.
    Userspace,
}

/// One end of tunnels to all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Where it is.
    pub(crate) space: SpaceId,
    /// Its node's number.
    pub(crate) number: u8,
    /// Its own address.
    pub(crate) address: IpAddr,
    /// What is behind it.
    pub(crate) network: String,
}

/// What it needs of the machine.
pub(crate) fn needs(esp: Esp) -> Vec<Need> {
    let program = |name| Need::Program { name, package: PACKAGES };
    let mut needs = vec![program("swanctl"), program("charon-systemd")];
    match esp {
        Esp::Userspace => needs.push(Need::DeviceFile { path: "/dev/net/tun", module: "tun" }),
        Esp::Kernel => {
            needs.extend(["xfrm_user", "esp4"].map(|module| Need::Kernel { module }));
            needs.push(Need::Program { name: "ip", package: "iproute2" });
        }
    }
    needs
}

/// Adds the counter that shows that the kernel has sealed and opened packets of an end.
pub(crate) fn count(wiring: &mut Wiring, space: SpaceId) {
    // `ip -s xfrm state` has a line `84(bytes), 1(packets)` for each association.
    let script = "ip -s xfrm state | sed -n 's/.* \\([0-9]*\\)(packets).*/packets=\\1/p'";
    wiring.counters.push(Counter {
        what: format!("packets through the kernel's ESP in {}", wiring.name(space)),
        asked: Program::step(space, "sh", ["-c", script]),
        before: "packets=",
    });
}

/// Adds a daemon to every end, and a tunnel from each to each other.
pub(crate) fn join(wiring: &mut Wiring, esp: Esp, ends: &[End]) -> Result<(), Error> {
    let key = secret::hexadecimal(&secret::random::<32>()?);
    for end in ends {
        let place = directory(wiring.name(end.space));
        let (socket, file) = (format!("{place}/charon.vici"), format!("{place}/swanctl.conf"));
        let uri = format!("unix://{socket}");
        let settings = format!("{place}/strongswan.conf");
        let daemon =
            Program::daemon::<&str>(end.space, "charon-systemd", [], Ready::Listens(socket));
        let daemon = daemon.with_variable("STRONGSWAN_CONF", &*settings);
        wiring.programs.push(daemon.with_file(settings.clone(), daemon_settings(esp, &uri)));
        let load = ["--load-all", "--noprompt", "--file", &file, "--uri", &uri];
        let load =
            Program::step(end.space, "swanctl", load).with_variable("STRONGSWAN_CONF", &*settings);
        wiring.programs.push(load.with_file(file.clone(), connections(end, ends, &key)));
        // The other end of a tunnel waits: who has the smaller number begins.
        for other in ends.iter().filter(|other| other.number > end.number) {
            let script = initiate(other, &uri);
            let step = Program::step(end.space, "sh", ["-c", &script]);
            let step = step.named(format!("initiate-{}", other.number));
            wiring.programs.push(step.with_variable("STRONGSWAN_CONF", &*settings));
        }
    }
    Ok(())
}

/// Tries until the other end is there: its daemon starts at the same time. The daemon asks again for long: on a slow machine
/// an end that gave up would begin anew, while the other one keeps to what they had agreed on.
fn initiate(other: &End, uri: &str) -> String {
    format!(
        "for try in $(seq 100); do swanctl --initiate --timeout 40 --child to-{} --uri {uri} && exit 0; \
         sleep 0.1; done; exit 1",
        other.number
    )
}

fn daemon_settings(esp: Esp, uri: &str) -> String {
    let (plugin, settings) = match esp {
        Esp::Kernel => ("", String::new()),
        Esp::Userspace => (
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

/// A connection to each other end, with one tunnel for the networks behind the two.
fn connections(end: &End, ends: &[End], key: &str) -> String {
    let mut text = "connections {\n".to_owned();
    for other in ends.iter().filter(|other| *other != end) {
        let End { number, address, network, .. } = other;
        text.push_str(&format!(
            "  peer-{number} {{
    version = 2
    unique = replace
    local_addrs = {}
    remote_addrs = {address}
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
