//! Counters of a network's pods during trials: a probe in each pod reports on request what its network namespace has
//! counted. It needs no privileges.

use crate::objects::PodNetwork;
use crate::running_pod::RunningPod;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::sync::Arc;
use tare_netns_probe::{NetnsCounters, parse_snapshot};
use tare_network::{CounterWatch, NamespaceCounts, Process};

/// Maximum number of watched pods: the first client and the servers come first.
const MAX_PODS: usize = 16;

/// Watch over the counters of pods.
pub(crate) struct PodWatch {
    pods: Vec<WatchedPod>,
}

impl PodWatch {
    /// Starts to watch pods: each network namespace through the first pod that is in it, and no pod that does not
    /// answer. A node's namespace has devices of others, whose counters say nothing about this network: it is left out.
    pub(crate) fn start(pods: &[Arc<RunningPod>], network: PodNetwork) -> Self {
        if network == PodNetwork::Host {
            return Self { pods: Vec::new() };
        }
        let mut known = BTreeSet::new();
        let watched = pods.iter().take(MAX_PODS).filter_map(|pod| {
            let (watched, namespace) = WatchedPod::start(pod)?;
            known.insert(namespace).then_some(watched)
        });
        Self { pods: watched.collect() }
    }
}

impl CounterWatch for PodWatch {
    fn read_gains(&mut self) -> Vec<NamespaceCounts> {
        let mut gained = Vec::new();
        // A pod that does not answer once is gone, with its network.
        self.pods.retain_mut(|pod| pod.read_gains().map(|gains| gained.push(gains)).is_some());
        gained.retain(|gains| !gains.is_empty());
        gained
    }
}

/// Watched pod, and its counters at the last request.
struct WatchedPod {
    _probe: Box<dyn Process>,
    input: Box<dyn Write + Send>,
    lines: BufReader<Box<dyn Read + Send>>,
    before: NamespaceCounts,
}

impl WatchedPod {
    /// Starts the probe in a pod. Returns it with the id of its network namespace.
    fn start(pod: &RunningPod) -> Option<(Self, String)> {
        let mut probe = pod.start_probe(&["--count", &pod.member]).ok()?;
        let (input, output) = (probe.take_input()?, probe.take_output()?);
        let mut watched = Self {
            _probe: Box::new(probe),
            input,
            lines: BufReader::new(output),
            before: NamespaceCounts::default(),
        };
        let NetnsCounters { namespace, counts } = watched.read_counters()?;
        watched.before = counts;
        Some((watched, namespace))
    }

    /// Requests the counters so far.
    fn read_counters(&mut self) -> Option<NetnsCounters> {
        self.input.write_all(b"\n").and_then(|()| self.input.flush()).ok()?;
        let mut line = String::new();
        self.lines.read_line(&mut line).ok().filter(|&length| length > 0)?;
        parse_snapshot(&line).ok()?.counted
    }

    /// Returns the counts since the last request.
    fn read_gains(&mut self) -> Option<NamespaceCounts> {
        let now = self.read_counters()?.counts;
        let gained = now.since(&self.before);
        self.before = now;
        Some(gained)
    }
}
