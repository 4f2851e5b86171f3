//! Offloads that are switched off, device by device, and the result.

use crate::plan::layout::{Layout, Waypoint};
use crate::plan::wiring::{NamespaceId, Wiring};
use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use tare_network::finding::KeptOffloads;
use tare_network::{Error, Finding, Hop, HopKind, Offload, Offloads};
use tare_sandbox::Namespace;
use tare_sandbox::sys::ethtool::EthtoolSwitch;

/// Returns the ethtool switches of an offload.
fn switches(offload: Offload) -> &'static [EthtoolSwitch] {
    match offload {
        Offload::Gro => &[EthtoolSwitch::GRO],
        Offload::Gso => &[EthtoolSwitch::GSO],
        Offload::Tso => &[EthtoolSwitch::TSO],
        Offload::Checksum => &[EthtoolSwitch::TX_CHECKSUM, EthtoolSwitch::RX_CHECKSUM],
    }
}

/// Returns every device of a layout that traffic may pass: all devices of the wiring, and `lo` if it is on the path.
pub(crate) fn devices(layout: &Layout) -> Vec<(NamespaceId, String)> {
    let wired = layout.wiring.devices().map(|(space, name)| (space, name.to_owned()));
    let loopbacks: BTreeSet<usize> = layout.path.iter().filter_map(loopback).collect();
    let loopbacks = loopbacks.into_iter().map(|space| (NamespaceId(space), "lo".to_owned()));
    wired.chain(loopbacks).collect()
}

/// Returns the namespace of a loopback device on the path.
fn loopback(waypoint: &Waypoint) -> Option<usize> {
    match waypoint {
        Waypoint::Device { kind: HopKind::Loopback, space: Some(space), .. } => Some(space.0),
        _ => None,
    }
}

/// State of a device's offload after the attempt to switch it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffloadState {
    /// The offload was on, and is off.
    Off,
    /// The offload was off before.
    WasOff,
    /// The offload cannot be switched off.
    Fixed,
}

/// Offload of one device.
struct DeviceOffload {
    space: NamespaceId,
    device: String,
    offload: Offload,
    state: OffloadState,
}

/// Offloads of all devices after the attempt.
pub(crate) struct OffloadChanges(Vec<DeviceOffload>);

/// Switches these offloads off on all devices of a layout that was built.
pub(crate) fn switch_off(
    layout: &Layout,
    spaces: &[Arc<Namespace>],
    offloads: Offloads,
) -> Result<OffloadChanges, Error> {
    let mut outcome = Vec::new();
    if offloads.is_empty() {
        return Ok(OffloadChanges(outcome));
    }
    let mut devices = devices(layout);
    devices.sort_by_key(|(space, _)| space.0);
    for some in devices.chunk_by(|(one, _), (next, _)| one == next) {
        let space = &spaces[some[0].0.0];
        outcome.extend(space.run_inside(|| all_of_one_namespace(space.name(), some, offloads))?);
    }
    Ok(OffloadChanges(outcome))
}

/// Switches transmit offloads off on devices for which the wiring requires it. Without checksum offload the kernel
/// switches segmentation offload off, too.
pub(crate) fn disable_tx_offload(wiring: &Wiring, spaces: &[Arc<Namespace>]) -> Result<(), Error> {
    for (space, device) in &wiring.without_tx_offload {
        let space = &spaces[space.0];
        let what = || format!("switch off transmit offloads of {}:{device}", space.name());
        space.run_inside(|| {
            let socket = UnixDatagram::unbound().map_err(|error| Error::new(what(), error))?;
            EthtoolSwitch::TX_CHECKSUM
                .switch_off(&socket, device)
                .map_err(|errno| Error::new(what(), errno))
        })?;
    }
    Ok(())
}

/// Switches offloads off on devices of the calling thread's namespace.
fn all_of_one_namespace(
    place: &str,
    devices: &[(NamespaceId, String)],
    offloads: Offloads,
) -> Result<Vec<DeviceOffload>, Error> {
    let socket = UnixDatagram::unbound()
        .map_err(|error| Error::new("open a socket to change offloads", error))?;
    let mut switched = Vec::new();
    for (space, device) in devices {
        for offload in offloads.iter() {
            let state = switch(&socket, device, offload).map_err(|errno| {
                Error::new(format!("switch off {offload} of {place}:{device}"), errno)
            })?;
            switched.push(DeviceOffload { space: *space, device: device.clone(), offload, state });
        }
    }
    Ok(switched)
}

/// Switches one offload of one device off. The state that the kernel reports afterwards counts, not the result of the
/// request.
fn switch(
    socket: &UnixDatagram,
    device: &str,
    offload: Offload,
) -> rustix::io::Result<OffloadState> {
    let on = || {
        let mut switches = switches(offload).iter();
        switches.try_fold(false, |any, one| Ok(any | one.is_on(socket, device)?))
    };
    if !on()? {
        return Ok(OffloadState::WasOff);
    }
    for switch in switches(offload) {
        let _ = switch.switch_off(socket, device);
    }
    Ok(if on()? { OffloadState::Fixed } else { OffloadState::Off })
}

impl OffloadChanges {
    /// Returns the finding that offloads stayed on. Returns `None` if all were switched off.
    pub(crate) fn finding(&self, wiring: &Wiring) -> Option<Finding> {
        let kept = self.0.iter().filter(|one| one.state == OffloadState::Fixed);
        let named = |one: &DeviceOffload| {
            format!("{}:{} {}", wiring.name(one.space), one.device, one.offload)
        };
        let devices: Vec<String> = kept.map(named).collect();
        (!devices.is_empty()).then_some(Finding::KeptOffloads(KeptOffloads { devices }))
    }

    /// Adds the states of its device's offloads to a hop.
    pub(crate) fn annotate(&self, space: NamespaceId, hop: Hop) -> Hop {
        let words = |state: OffloadState, word: &str| {
            let mine = |one: &&DeviceOffload| one.space == space && one.device == hop.name;
            let all = self.0.iter().filter(mine).filter(|one| one.state == state);
            let all: Offloads = all.map(|one| one.offload).collect();
            (!all.is_empty()).then(|| format!("{word} {all}"))
        };
        let done = [
            hop.detail.clone(),
            words(OffloadState::Off, "without"),
            words(OffloadState::WasOff, "which never had"),
            words(OffloadState::Fixed, "keeping"),
        ];
        let done: Vec<String> = done.into_iter().flatten().collect();
        Hop { detail: (!done.is_empty()).then(|| done.join(", ")), ..hop }
    }
}
