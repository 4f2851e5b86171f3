//! `slirp4netns`: a tap device whose packets libslirp translates to and from sockets of the node. Ports are published by
//! requests to its API socket.

use super::stack::{
    StackAttachment, StackProgram, TAP, UserModeStack, add, for_each_port, refuse_ipv6,
};
use crate::networks::user_mode::port_request;
use crate::plan::wiring::Wiring;
use crate::programs::{Program, ReadyCondition};
use tare_network::{Error, INTERNAL, quote};

/// `slirp4netns` as Podman starts it.
pub(super) struct Slirp4netnsStack;

/// Name of the program.
pub(super) const SLIRP4NETNS: &str = "slirp4netns";

impl UserModeStack for Slirp4netnsStack {
    fn program(&self) -> StackProgram {
        StackProgram { name: SLIRP4NETNS, package: SLIRP4NETNS }
    }

    fn check(&self, to: &StackAttachment) -> Result<(), Error> {
        refuse_ipv6(SLIRP4NETNS, to)
    }

    fn attach(&self, wiring: &mut Wiring, to: &StackAttachment) {
        let socket = to.file(SLIRP4NETNS, "sock");
        let (daemon, ready) = daemon_line(to, &socket);
        let daemon = Program::daemon(to.node, "sh", ["-c".to_owned(), daemon], ready);
        add(wiring, to, SLIRP4NETNS, daemon);
        let requests = for_each_port(to.publication.as_ref(), |host, port| {
            let one = |transport| port_request::forward(transport, host, port);
            ["tcp", "udp"].map(one).to_vec()
        });
        let own = std::env::current_exe().unwrap_or_else(|_| "tare".into());
        for (number, request) in requests.into_iter().enumerate() {
            let words = [INTERNAL, port_request::ROLE, &socket, &request];
            let step = Program::step(to.node, &own.to_string_lossy(), words);
            add(wiring, to, &format!("publish-{number}"), step);
        }
    }
}

/// Returns the command line that starts the daemon, and the condition on which it is ready: it writes to descriptor 3.
fn daemon_line(to: &StackAttachment, socket: &str) -> (String, ReadyCondition) {
    let ready = to.file(SLIRP4NETNS, "ready");
    let namespace = format!("/run/netns/{}", to.name);
    let mtu = to.mtu.to_string();
    let words = [
        &to.program,
        "--configure",
        "--disable-host-loopback",
        "--mtu",
        &mtu,
        "--api-socket",
        socket,
        "--ready-fd",
        "3",
        "--netns-type",
        "path",
        &namespace,
        TAP,
    ];
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let line = format!("exec {} 3>{}", words.join(" "), quote(&ready));
    (line, ReadyCondition::FileWritten(ready))
}
