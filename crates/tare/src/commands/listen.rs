//! `tare listen`: the serving side of probes from other machines, until a signal ends it.

use crate::cli::ListenArguments;
use crate::exit::{Exit, usage};
use crate::{out, signals};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::SocketAddr;
use tare_traffic::probe::{Caps, Listener, Terms, Token};
use tare_traffic::{Error, Load};

/// Serves until SIGINT or SIGTERM.
pub(crate) fn run(arguments: &ListenArguments) -> anyhow::Result<Exit> {
    let stop = signals::stop_flag()?;
    let token = arguments.remote.token()?;
    let how = asks(token.as_ref());
    let terms = Terms { token, caps: caps(arguments)?, ports: arguments.ports.unwrap_or_default() };
    more_descriptors();
    let address = SocketAddr::new(arguments.bind, arguments.remote.port);
    let listener = Listener::bind(address, terms, |notice| out::say(&format!("tare: {notice}")))
        .map_err(|error| match error {
            Error::NoToken { .. } => usage(error),
            other => other.into(),
        })?;
    out::say(&format!("tare: listening on {}, {how}", listener.address()));
    listener.serve(&stop)?;
    Ok(Exit::Done)
}

/// How it is protected, in words.
fn asks(token: Option<&Token>) -> &'static str {
    match token {
        None => "for this machine alone",
        Some(token) if token.is_short() => {
            "with a token that is short enough to be guessed; `openssl rand -hex 16` makes a better one"
        }
        Some(_) => "with a token",
    }
}

fn caps(arguments: &ListenArguments) -> anyhow::Result<Caps> {
    let usual = Caps::default();
    let rate = match arguments.max_rate {
        Some(Load::Packets(_)) => {
            return Err(usage(anyhow::anyhow!(
                "--max-rate: it is bits of payload per second, as in 500mbit"
            )));
        }
        Some(Load::Bits(bits)) => Some(bits),
        None => None,
    };
    Ok(Caps {
        duration: arguments.max_duration.map_or(usual.duration, |span| span.0),
        rate,
        clients: arguments.max_clients.unwrap_or(usual.clients),
        flows: arguments.max_flows.unwrap_or(usual.flows),
        memory: arguments.max_memory.map_or(usual.memory, |mebibytes| u64::from(mebibytes) << 20),
    })
}

/// Every flow is a descriptor: as many as the kernel lets this process have. Where it does not, fewer flows are served.
fn more_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
