//! `tare listen`: serves probes from other machines, until a signal ends it.

use crate::cli::ListenArguments;
use crate::exit::{CommandExit, usage_error};
use crate::workloads::workload_registry;
use crate::{output, signals};
use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::SocketAddr;
use tare_confinement::confine_listener;
use tare_probe::{Caps, Listener, ListenerConfig, Token};
use tare_traffic::{Error, OfferedLoad};

/// Serves until SIGINT, SIGTERM or SIGHUP.
pub(crate) fn run(arguments: &ListenArguments) -> anyhow::Result<CommandExit> {
    let stop = signals::stop_flag()?;
    let token = arguments.remote.token()?;
    let how = describe_protection(token.as_ref());
    let terms = ListenerConfig {
        token,
        caps: caps(arguments)?,
        ports: arguments.ports.unwrap_or_default(),
    };
    raise_descriptor_limit();
    confine_listener().context("give up the rights that a listener does not need")?;
    let address = SocketAddr::new(arguments.bind, arguments.remote.port);
    let listener = Listener::bind(address, terms, workload_registry(), |notice| {
        output::print_status(&format!("tare: {notice}"));
    })
    .map_err(|error| match error {
        Error::NoToken { .. } | Error::ShortToken { .. } => usage_error(error),
        other => other.into(),
    })?;
    output::print_status(&format!("tare: listening on {}, {how}", listener.address()));
    listener.serve(&stop)?;
    Ok(CommandExit::Done)
}

/// Describes the protection of the listener in words.
fn describe_protection(token: Option<&Token>) -> &'static str {
    match token {
        None => "for this machine only",
        Some(token) if token.is_short() => {
            "with a short token, which can be guessed; `openssl rand -hex 16` generates a longer one"
        }
        Some(_) => "with a token",
    }
}

fn caps(arguments: &ListenArguments) -> anyhow::Result<Caps> {
    let usual = Caps::default();
    let rate = match arguments.max_rate {
        Some(OfferedLoad::Packets(_)) => {
            return Err(usage_error(anyhow::anyhow!(
                "--max-rate: expected bits of payload per second, for example 500mbit"
            )));
        }
        Some(OfferedLoad::Bits(bits)) => Some(bits),
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

/// Raises the limit on file descriptors to the maximum, as every flow needs one. If that fails, fewer flows are served.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
