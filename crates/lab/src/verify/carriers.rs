//! Proof that the processes which carry the traffic are those of the intended programs.
//!
//! Two programs with one purpose can stand behind one name: a published table of RootlessKit's compared slirp4netns
//! with itself for three years. So the process that holds the container's tap device, and the one that listens on the
//! published port, must run the executable that the network is named after.

use crate::plan::wiring::{Carrier, HeldEndpoint, Wiring};
use crate::programs::{RunningPrograms, mismatch, stated_version, version_alone};
use rustix::process::Pid;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tare_network::{Error, Hop, HopKind};
use tare_sandbox::Namespace;
use tare_sandbox::programs::{find_program, holds_tap, is_executable_of, listens_on};

/// Checks that every endpoint of the carriers is held by a process of the intended program, and by no other one.
pub(crate) fn prove_carriers(
    wiring: &Wiring,
    spaces: &[Arc<Namespace>],
    programs: &RunningPrograms,
) -> Result<(), Error> {
    if wiring.carriers.is_empty() {
        return Ok(());
    }
    let processes = programs.processes();
    wiring.carriers.iter().try_for_each(|carrier| {
        let what = describe(carrier, wiring);
        let program = find_program(&carrier.program)?;
        if let Some(why) = mismatch(carrier.name, &stated_version(&program)) {
            let why = format!("{} is not {}: {why}", program.display(), carrier.name);
            return Err(Error::new(what, why));
        }
        let holds = endpoint_test(carrier, spaces, &what)?;
        let holders: Vec<Pid> = processes.iter().copied().filter(|&pid| holds(pid)).collect();
        if holders.is_empty() {
            return Err(Error::new(what, "no process of the network holds it"));
        }
        match holders.iter().find(|&&pid| !is_executable_of(pid, &program)) {
            None => Ok(()),
            Some(&other) => Err(refusal(what, carrier.name, &program, other)),
        }
    })
}

/// Returns the test whether a process holds a carrier's endpoint.
fn endpoint_test<'a>(
    carrier: &'a Carrier,
    spaces: &[Arc<Namespace>],
    what: &str,
) -> Result<Box<dyn Fn(Pid) -> bool + 'a>, Error> {
    match &carrier.endpoint {
        HeldEndpoint::Listener(address) => Ok(Box::new(|pid| listens_on(pid, *address))),
        HeldEndpoint::Tap { space, device } => {
            let namespace = rustix::fs::fstat(&spaces[space.0])
                .map_err(|errno| Error::new(what, errno))?
                .st_ino;
            Ok(Box::new(move |pid| holds_tap(pid, device, namespace)))
        }
    }
}

/// Returns the purpose of the proof of one carrier.
fn describe(carrier: &Carrier, wiring: &Wiring) -> String {
    let program = carrier.name;
    match &carrier.endpoint {
        HeldEndpoint::Tap { space, device } => {
            format!("verify that {program} carries the packets of {}:{device}", wiring.name(*space))
        }
        HeldEndpoint::Listener(address) => {
            format!("verify that {program} listens on {address} in {}", wiring.name(carrier.node))
        }
    }
}

/// Returns the error that another program holds an endpoint.
fn refusal(what: String, name: &str, program: &Path, other: Pid) -> Error {
    let link = format!("/proc/{}/exe", other.as_raw_nonzero());
    let running = fs::read_link(link)
        .map_or_else(|_| "another program".to_owned(), |path| path.display().to_string());
    let why = format!("its process runs {running}, not {}", program.display());
    Error::new(what, why).with_remedy(format!("install the real {name}, before this one on PATH"))
}

/// Adds the versions that carriers state to the hops that they are.
pub(crate) fn add_versions(wiring: &Wiring, hops: &mut [Hop]) {
    for carrier in &wiring.carriers {
        let Ok(program) = find_program(&carrier.program) else { continue };
        let stated = stated_version(&program);
        let Some(version) = version_alone(&stated) else { continue };
        let (plain, told) =
            (format!("{}: ", carrier.program), format!("{} {version}: ", carrier.program));
        let forwarders = hops.iter_mut().filter(|hop| hop.kind == HopKind::Forwarder);
        for detail in forwarders.filter_map(|hop| hop.detail.as_mut()) {
            if let Some(rest) = detail.strip_prefix(&plain) {
                *detail = format!("{told}{rest}");
            }
        }
    }
}
