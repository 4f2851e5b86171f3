//! Hidden subcommand `proxy`, a replacement of Docker's userland proxy on machines without `docker-proxy`.
//!
//! It takes that program's arguments: `-proto tcp|udp -host-ip A -host-port P -container-ip A -container-port P`. It
//! listens on the host's address and forwards to the container's, in both directions, in userspace. As with Docker, one
//! process forwards one port. It prints `ready` when it listens, and runs until it is killed.

mod tcp;
mod udp;

use crate::stand_ins::process_name::set_process_name;
use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use tare_network::Error;

/// Arguments of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProxyArguments {
    protocol: ProxyProtocol,
    /// Address that the proxy listens on.
    host: SocketAddr,
    /// Address that the proxy forwards to.
    container: SocketAddr,
}

/// Transport protocol of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyProtocol {
    Tcp,
    Udp,
}

/// Name of the process, by which its CPU time and its sockets are reported.
pub(crate) const PROCESS_NAME: &str = "tare-proxy";

/// Line that the proxy prints when it listens.
pub(crate) const READY: &str = "ready";

/// Runs the subcommand with its arguments (those after `proxy`). Returns only if it fails.
///
/// # Errors
/// The arguments are wrong, or the proxy cannot listen on the address.
pub fn run_proxy(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    set_process_name(PROCESS_NAME);
    let words: Vec<OsString> = arguments.into_iter().collect();
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let arguments = words.and_then(|words| parse_arguments(&words)).ok_or_else(usage)?;
    let failed = |error| Error::new(format!("forward {}", arguments.host), error);
    match arguments.protocol {
        ProxyProtocol::Tcp => {
            tcp::forward(arguments.host, arguments.container, report_ready).map_err(failed)
        }
        ProxyProtocol::Udp => {
            udp::forward(arguments.host, arguments.container, report_ready).map_err(failed)
        }
    }
}

fn usage() -> Error {
    let why = "invalid arguments: expected -proto tcp|udp -host-ip A -host-port P -container-ip A -container-port P";
    Error::new("forward a port", why)
}

/// Reports that the proxy listens.
fn report_ready() -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{READY}")?;
    output.flush()
}

/// Parses the arguments of Docker's program, in any order. Returns `None` if one is missing or invalid.
fn parse_arguments(words: &[&str]) -> Option<ProxyArguments> {
    let value = |name: &str| {
        let mut pairs = words.chunks(2).filter(|pair| pair.first() == Some(&name));
        pairs.next()?.get(1).copied()
    };
    let address = |side: &str| {
        let ip: IpAddr = value(&format!("-{side}-ip"))?.parse().ok()?;
        let port: u16 = value(&format!("-{side}-port"))?.parse().ok()?;
        Some(SocketAddr::new(ip, port))
    };
    let protocol = match value("-proto")? {
        "tcp" => ProxyProtocol::Tcp,
        "udp" => ProxyProtocol::Udp,
        _ => return None,
    };
    Some(ProxyArguments { protocol, host: address("host")?, container: address("container")? })
}

/// Returns the arguments that start a proxy.
pub(crate) fn arguments(protocol: &str, host: SocketAddr, container: SocketAddr) -> Vec<String> {
    let words = |side: &str, at: SocketAddr| {
        [format!("-{side}-ip"), at.ip().to_string(), format!("-{side}-port"), at.port().to_string()]
    };
    let protocol = ["-proto".to_owned(), protocol.to_owned()];
    protocol.into_iter().chain(words("host", host)).chain(words("container", container)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io;
    use std::sync::mpsc::channel;
    use tare_dev::eventually;

    /// Starts a proxy on an address that `free` finds, and tries another address if a different process has taken it.
    /// Returns the address that the proxy listens on.
    pub(super) fn forwarding(
        free: impl Fn() -> SocketAddr,
        forward: impl Fn(SocketAddr, Box<dyn FnOnce() -> io::Result<()>>) -> io::Result<()>
        + Clone
        + Send
        + 'static,
    ) -> SocketAddr {
        eventually("a proxy listens", || {
            let (host, forward) = (free(), forward.clone());
            let (listens, listening) = channel();
            let ready = move || listens.send(()).map_err(io::Error::other);
            std::thread::spawn(move || forward(host, Box::new(ready)));
            listening.recv().map(|()| host)
        })
    }

    #[test]
    fn its_own_arguments_are_read_back() {
        let (host, container) =
            ("10.20.0.1:80".parse().unwrap(), "[fd00::2]:8080".parse().unwrap());
        let words = super::arguments("udp", host, container);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(
            parse_arguments(&words),
            Some(ProxyArguments { protocol: ProxyProtocol::Udp, host, container })
        );
        assert_eq!(parse_arguments(&words[2..]), None);
        assert!(run_proxy([OsString::from("-proto")]).unwrap_err().why.contains("-host-ip"));
    }

    proptest! {
        #[test]
        fn no_words_break_the_reader(words in proptest::collection::vec("(-proto|tcp|-host-ip|::1|[a-z0-9]{0,4})", 0..10)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let _ = parse_arguments(&words);
        }
    }
}
