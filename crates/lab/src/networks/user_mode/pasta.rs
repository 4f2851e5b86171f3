//! `pasta` of passt: a tap device whose packets one process translates to and from sockets of the node.
//!
//! A connection to a published port on the node's loopback address takes a shorter way: pasta has a second socket in
//! the container's namespace, and splices the two (`+splice`).

use super::stack::{
    ServedDevice, StackAttachment, StackProgram, TAP, UserModeStack, add, for_each_port,
};
use crate::plan::nodes::UPLINK;
use crate::plan::wiring::Wiring;
use crate::programs::{Program, ReadyCondition};
use tare_network::{Error, Family};

/// `pasta`, with packets or with spliced connections.
pub(super) enum PastaStack {
    /// Packets of the tap device.
    Packets,
    /// Connections to the node's loopback address, without packets.
    Spliced,
}

/// Name of the program.
const PASTA: &str = "pasta";

/// Link-layer address of the tap device, derived from its IPv4 address as Docker did.
const CONTAINER_MAC: &str = "02:42:0a:00:02:64";

impl UserModeStack for PastaStack {
    fn program(&self) -> StackProgram {
        StackProgram { name: PASTA, package: "passt" }
    }

    fn check(&self, _: &StackAttachment) -> Result<(), Error> {
        Ok(())
    }

    fn served_device(&self) -> ServedDevice {
        match self {
            Self::Packets => ServedDevice::Tap,
            Self::Spliced => ServedDevice::Loopback,
        }
    }

    fn splices_loopback(&self) -> bool {
        matches!(self, Self::Spliced)
    }

    fn attach(&self, wiring: &mut Wiring, to: &StackAttachment) {
        let written = to.file(PASTA, "pid");
        let ready = ReadyCondition::FileWritten(written.clone());
        let daemon = Program::daemon(to.node, &to.program, arguments(to, &written), ready);
        add(wiring, to, PASTA, daemon);
    }
}

/// Returns the arguments of `pasta`, with addresses of its own in the container, as slirp4netns has them.
fn arguments(to: &StackAttachment, pid_file: &str) -> Vec<String> {
    let mut words: Vec<String> = ["--foreground", "--quiet", "--stderr", "--runas", "0"]
        .into_iter()
        .chain(["--config-net", "--no-map-gw", "--interface", UPLINK, "--ns-ifname", TAP])
        .map(str::to_owned)
        .collect();
    // Without it, pasta learns the container's link-layer address from the first packet that the container sends.
    words.extend(["--ns-mac-addr", CONTAINER_MAC].map(str::to_owned));
    words.extend(["--mtu".to_owned(), to.mtu.to_string()]);
    words.extend(["--address".to_owned(), to.tap_address().to_string()]);
    words.extend(["--gateway".to_owned(), to.gateway().to_string()]);
    words.push(
        match to.family {
            Family::Ipv4 => "--ipv4-only",
            Family::Ipv6 => "--ipv6-only",
        }
        .to_owned(),
    );
    if to.family == Family::Ipv4 {
        words.extend(["--netmask", "24"].map(str::to_owned));
    }
    let none = || ["--tcp-ports", "none", "--udp-ports", "none"].map(str::to_owned).to_vec();
    let published = for_each_port(to.publication.as_ref(), |host, port| {
        let spelled = format!("{host}/{port}");
        ["--tcp-ports", &spelled, "--udp-ports", &spelled].map(str::to_owned).to_vec()
    });
    words.extend(if published.is_empty() { none() } else { published });
    words.extend(["--tcp-ns", "none", "--udp-ns", "none"].map(str::to_owned));
    words.extend(["--pid".to_owned(), pid_file.to_owned()]);
    words.extend(["--netns-only".to_owned(), "--netns".to_owned()]);
    words.push(format!("/run/netns/{}", to.name));
    words
}
