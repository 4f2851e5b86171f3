//! The hidden subcommand `proxy`: what Docker's userland proxy does, for machines that have no `docker-proxy`.
//!
//! It takes that program's arguments: `-proto tcp|udp -host-ip A -host-port P -container-ip A -container-port P`. It
//! listens on the host's address and forwards to the container's, both ways, in userspace. As there, one process
//! forwards one port. It says `ready` when it listens, and runs until it is killed.

mod tcp;
mod udp;

use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use tare_network::Error;

/// What a proxy is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arguments {
    protocol: Protocol,
    /// Where it listens.
    host: SocketAddr,
    /// Where it forwards to.
    container: SocketAddr,
}

/// What it forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Tcp,
    Udp,
}

/// What it prints when it listens.
pub(crate) const READY: &str = "ready";

/// Runs the subcommand with its arguments (those after `proxy`); returns only when it fails.
///
/// # Errors
/// Bad arguments, an address that cannot be listened on.
pub fn proxy(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    let words: Vec<OsString> = arguments.into_iter().collect();
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let arguments = words.and_then(|words| read(&words)).ok_or_else(usage)?;
    let failed = |error| Error::new(format!("forward {}", arguments.host), error);
    match arguments.protocol {
        Protocol::Tcp => tcp::forward(arguments.host, arguments.container, ready).map_err(failed),
        Protocol::Udp => udp::forward(arguments.host, arguments.container, ready).map_err(failed),
    }
}

fn usage() -> Error {
    let why = "the arguments are -proto tcp|udp -host-ip A -host-port P -container-ip A -container-port P";
    Error::new("forward a port", why)
}

/// Says that it listens.
fn ready() -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{READY}")?;
    output.flush()
}

/// The arguments as the program of Docker's takes them, in any order; nothing where one is missing or makes no sense.
fn read(words: &[&str]) -> Option<Arguments> {
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
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        _ => return None,
    };
    Some(Arguments { protocol, host: address("host")?, container: address("container")? })
}

/// The arguments by which a proxy is started.
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

    /// Starts a proxy on an address that `free` finds, and again on another where somebody was faster to take it. Returns
    /// where it listens.
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
        assert_eq!(read(&words), Some(Arguments { protocol: Protocol::Udp, host, container }));
        assert_eq!(read(&words[2..]), None);
        assert!(proxy([OsString::from("-proto")]).unwrap_err().why.contains("-host-ip"));
    }

    proptest! {
        #[test]
        fn no_words_break_the_reader(words in proptest::collection::vec("(-proto|tcp|-host-ip|::1|[a-z0-9]{0,4})", 0..10)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let _ = read(&words);
        }
    }
}
