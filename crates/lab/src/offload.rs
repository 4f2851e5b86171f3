//! Offloads switched off, device by device, and what came of it.

use crate::layout::{Layout, Waypoint};
use crate::namespace::Namespace;
use crate::sys::ethtool::Switch;
use crate::wiring::{SpaceId, Wiring};
use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use tare_network::{Error, Finding, Hop, HopKind, Offload, Offloads};

/// The switches that an offload consists of.
fn switches(offload: Offload) -> &'static [Switch] {
    match offload {
        Offload::Gro => &[Switch::GRO],
        Offload::Gso => &[Switch::GSO],
        Offload::Tso => &[Switch::TSO],
        Offload::Checksum => &[Switch::TX_CHECKSUM, Switch::RX_CHECKSUM],
    }
}

/// Every device of a layout that traffic may pass: all that are wired, and `lo` where the path leads over it.
pub(crate) fn devices(layout: &Layout) -> Vec<(SpaceId, String)> {
    let wired = layout.wiring.devices().map(|(space, name)| (space, name.to_owned()));
    let loopbacks: BTreeSet<usize> = layout.path.iter().filter_map(loopback).collect();
    let loopbacks = loopbacks.into_iter().map(|space| (SpaceId(space), "lo".to_owned()));
    wired.chain(loopbacks).collect()
}

/// The namespace of a loopback device on the path.
fn loopback(waypoint: &Waypoint) -> Option<usize> {
    match waypoint {
        Waypoint::Device { kind: HopKind::Loopback, space: Some(space), .. } => Some(space.0),
        _ => None,
    }
}

/// How a device's offload stands after it was to be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It was on, and is off.
    Off,
    /// It had been off before.
    WasOff,
    /// Nobody can switch it.
    Kept,
}

/// One device's offload.
struct Switched {
    space: SpaceId,
    device: String,
    offload: Offload,
    state: State,
}

/// What was switched on all devices.
pub(crate) struct Outcome(Vec<Switched>);

/// Switches these offloads off on all devices of a layout that was built.
pub(crate) fn switch_off(
    layout: &Layout,
    spaces: &[Arc<Namespace>],
    offloads: Offloads,
) -> Result<Outcome, Error> {
    let mut outcome = Vec::new();
    if offloads.is_empty() {
        return Ok(Outcome(outcome));
    }
    let mut devices = devices(layout);
    devices.sort_by_key(|(space, _)| space.0);
    for some in devices.chunk_by(|(one, _), (next, _)| one == next) {
        let space = &spaces[some[0].0.0];
        outcome.extend(space.within(|| all_of_one_namespace(space.name(), some, offloads))?);
    }
    Ok(Outcome(outcome))
}

/// Lets devices send whole packets, where a wiring says so. Without checksum offload the kernel leaves out segmentation
/// offload, too.
pub(crate) fn send_whole(wiring: &Wiring, spaces: &[Arc<Namespace>]) -> Result<(), Error> {
    for (space, device) in &wiring.whole {
        let space = &spaces[space.0];
        let what = || format!("switch {}:{device} to whole packets", space.name());
        space.within(|| {
            let socket = UnixDatagram::unbound().map_err(|error| Error::new(what(), error))?;
            Switch::TX_CHECKSUM.off(&socket, device).map_err(|errno| Error::new(what(), errno))
        })?;
    }
    Ok(())
}

/// The devices of the namespace that the calling thread is in.
fn all_of_one_namespace(
    place: &str,
    devices: &[(SpaceId, String)],
    offloads: Offloads,
) -> Result<Vec<Switched>, Error> {
    let socket = UnixDatagram::unbound()
        .map_err(|error| Error::new("open a socket to switch offloads by", error))?;
    let mut switched = Vec::new();
    for (space, device) in devices {
        for offload in offloads.iter() {
            let state = switch(&socket, device, offload).map_err(|errno| {
                Error::new(format!("switch {offload} of {place}:{device} off"), errno)
            })?;
            switched.push(Switched { space: *space, device: device.clone(), offload, state });
        }
    }
    Ok(switched)
}

/// Switches one offload of one device off. What the kernel says afterwards counts, not what it answers.
fn switch(socket: &UnixDatagram, device: &str, offload: Offload) -> rustix::io::Result<State> {
    let on = || {
        let mut switches = switches(offload).iter();
        switches.try_fold(false, |any, one| Ok(any | one.is_on(socket, device)?))
    };
    if !on()? {
        return Ok(State::WasOff);
    }
    for switch in switches(offload) {
        let _ = switch.off(socket, device);
    }
    Ok(if on()? { State::Kept } else { State::Off })
}

impl Outcome {
    /// That offloads stayed on, where some did.
    pub(crate) fn finding(&self, wiring: &Wiring) -> Option<Finding> {
        let kept = self.0.iter().filter(|one| one.state == State::Kept);
        let named =
            |one: &Switched| format!("{}:{} {}", wiring.name(one.space), one.device, one.offload);
        let devices: Vec<String> = kept.map(named).collect();
        (!devices.is_empty()).then_some(Finding::OffloadsKept { devices })
    }

    /// The hop with what was done to its device.
    pub(crate) fn told(&self, space: SpaceId, hop: Hop) -> Hop {
        let words = |state: State, word: &str| {
            let mine = |one: &&Switched| one.space == space && one.device == hop.name;
            let all = self.0.iter().filter(mine).filter(|one| one.state == state);
            let all: Offloads = all.map(|one| one.offload).collect();
            (!all.is_empty()).then(|| format!("{word} {all}"))
        };
        let done = [
            hop.detail.clone(),
            words(State::Off, "without"),
            words(State::WasOff, "which never had"),
            words(State::Kept, "keeping"),
        ];
        let done: Vec<String> = done.into_iter().flatten().collect();
        Hop { detail: (!done.is_empty()).then(|| done.join(", ")), ..hop }
    }
}
