//! Counters of an engine's network during trials: a program in each of its containers reports on request what its
//! network namespace has counted. It needs no privileges, and works the same on an engine elsewhere.

use crate::container_handle::ContainerHandle;
use crate::engine::Engine;
use crate::exec::{self, ExecCommand, ExecInput, ExecSession, OutputLines};
use crate::image::PROGRAM;
use std::collections::BTreeSet;
use std::sync::Arc;
use tare_netns_probe::NetnsCounters;
use tare_network::{CounterWatch, INTERNAL, NamespaceCounts};
use tokio::io::AsyncWriteExt as _;

/// Maximum number of watched containers: the first client and the servers come first, then the engine's machine.
const MAX_CONTAINERS: usize = 16;

/// Container to watch, with the name of its namespace.
pub(crate) struct WatchTarget<'a> {
    /// Name of its namespace on the path of a packet.
    pub(crate) place: &'a str,
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) container: &'a ContainerHandle,
    /// Devices to count, if the namespace is a machine's own, which has devices of others too; `None` for all devices.
    pub(crate) devices: Option<BTreeSet<String>>,
}

/// Watch over the counters of containers.
pub(crate) struct ContainerWatch {
    places: Vec<WatchedContainer>,
}

impl ContainerWatch {
    /// Starts to watch containers: each network namespace through the first container that is in it, and no container
    /// that does not answer.
    pub(crate) fn start(wanted: Vec<WatchTarget<'_>>) -> Self {
        let mut known = BTreeSet::new();
        let places = wanted.into_iter().take(MAX_CONTAINERS).filter_map(|wanted| {
            let (place, namespace) = WatchedContainer::start(wanted).ok()?;
            known.insert(namespace).then_some(place)
        });
        Self { places: places.collect() }
    }
}

impl CounterWatch for ContainerWatch {
    fn read_gains(&mut self) -> Vec<NamespaceCounts> {
        let mut gained = Vec::new();
        // A container that does not answer once is gone, with its network.
        self.places.retain_mut(|place| place.read_gains().map(|gains| gained.push(gains)).is_ok());
        gained.retain(|gains| !gains.is_empty());
        gained
    }
}

/// Watched container, and its counters at the last request.
struct WatchedContainer {
    engine: Arc<Engine>,
    input: ExecInput,
    lines: OutputLines,
    devices: Option<BTreeSet<String>>,
    before: NamespaceCounts,
}

impl WatchedContainer {
    /// Starts the program in a container. Returns it with the id of its network namespace; the error says in words what
    /// went wrong.
    fn start(wanted: WatchTarget<'_>) -> Result<(Self, String), String> {
        let WatchTarget { place, engine, container, devices } = wanted;
        let command =
            [PROGRAM, INTERNAL, "netns-probe", "--count", place].map(str::to_owned).to_vec();
        let words = container.exec_command(ExecCommand { command, ..ExecCommand::default() });
        let starting = exec::start(engine.docker(), &container.id, words);
        let ExecSession { input, output, .. } =
            engine.wait(starting).map_err(|refusal| refusal.to_string())?;
        let (engine, lines) = (Arc::clone(engine), OutputLines::new(output));
        let mut place = Self { engine, input, lines, devices, before: NamespaceCounts::default() };
        let NetnsCounters { namespace, counts } = place.read_counters()?;
        place.before = counts;
        Ok((place, namespace))
    }

    /// Requests the counters so far.
    fn read_counters(&mut self) -> Result<NetnsCounters, String> {
        let Self { engine, input, lines, .. } = self;
        let line = engine.wait(async {
            input.write_all(b"\n").await.map_err(|error| error.to_string())?;
            input.flush().await.map_err(|error| error.to_string())?;
            lines.next(tare_netns_probe::snapshot_timeout()).await
        })?;
        let mut told = tare_netns_probe::parse_snapshot(&line)?
            .counted
            .ok_or_else(|| format!("no counters in {line}"))?;
        if let Some(devices) = &self.devices {
            told.counts.devices.retain(|name, _| devices.contains(name));
            told.counts.protocols.clear();
        }
        Ok(told)
    }

    /// Returns the counts since the last request.
    fn read_gains(&mut self) -> Result<NamespaceCounts, String> {
        let now = self.read_counters()?.counts;
        let gained = now.since(&self.before);
        self.before = now;
        Ok(gained)
    }
}
