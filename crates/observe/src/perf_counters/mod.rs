//! Hardware counters of the processor over a trial: cycles and instructions.
//!
//! If the kernel lets this user observe the whole machine, every core is counted, whatever runs on it. Otherwise only
//! tare's agents are counted, which leaves out the work that softirqs and daemons do for them elsewhere. Counters are
//! opened before a trial's traffic and read together with `/proc/stat`, at the same few moments.

mod multiplexed_total;
mod unavailable;

pub use unavailable::CountersUnavailable;

use crate::files::MachineFiles;
use crate::sys::perf::{EventPair, EventReading, PerfEvent, PerfTarget, PrivilegeScope};
use multiplexed_total::MultiplexedTotal;
use rustix::io::Errno;
use tare_record::{CounterScope, HardwareCounters, HardwareEventCounts, HardwareSample, Nanos};

/// Counted events.
const EVENTS: [PerfEvent; 2] = [PerfEvent::CYCLES, PerfEvent::INSTRUCTIONS];

/// Most threads of agents that are counted one by one.
const MAX_THREADS: usize = 256;

/// One reading of all counters, by core or by thread.
pub(crate) type PerfReadings = Vec<[EventReading; 2]>;

/// Open hardware counters.
#[derive(Debug)]
pub(crate) struct PerfCounters {
    counted: CounterScope,
    pairs: Vec<EventPair>,
}

/// Returns the work that this user can count here: the whole machine's or the agents'.
///
/// # Errors
/// Returns the reason and a remedy if nothing can be counted.
pub fn available_scope() -> Result<CounterScope, CountersUnavailable> {
    PerfCounters::open(&MachineFiles::machine(), EVENTS, &[std::process::id()])
        .map(|counters| counters.counted)
}

impl PerfCounters {
    /// Opens counters of events that every machine has: elapsed ns, and context switches.
    #[cfg(test)]
    pub(crate) fn open_software() -> Result<Self, CountersUnavailable> {
        let events = [PerfEvent::CPU_CLOCK, PerfEvent::CONTEXT_SWITCHES];
        Self::open(&MachineFiles::machine(), events, &[std::process::id()])
    }

    /// Opens counters of this machine's cores, or of these processes, as far as that is permitted.
    pub(crate) fn open_machine(agents: &[u32]) -> Option<Self> {
        Self::open(&MachineFiles::machine(), EVENTS, agents).ok()
    }

    fn open(
        files: &MachineFiles,
        events: [PerfEvent; 2],
        agents: &[u32],
    ) -> Result<Self, CountersUnavailable> {
        let mut refused = match Self::open_cores(files, events) {
            Ok(counters) => return Ok(counters),
            Err(errno) => errno,
        };
        let threads = list_threads(files, agents);
        let lesser = [
            (CounterScope::Agents, PrivilegeScope::UserAndKernel),
            (CounterScope::AgentsCode, PrivilegeScope::UserOnly),
        ];
        for (counted, depth) in lesser {
            // If a counter does not exist, a part of it does not exist either.
            if !matches!(refused, Errno::ACCESS | Errno::PERM) {
                break;
            }
            match open_threads(events, &threads, depth) {
                Ok(pairs) if !pairs.is_empty() => return Ok(Self { counted, pairs }),
                Ok(_) => {}
                Err(errno) => refused = errno,
            }
        }
        Err(CountersUnavailable::new(refused, files))
    }

    /// Opens counters of everything that runs on the cores that are online.
    fn open_cores(files: &MachineFiles, events: [PerfEvent; 2]) -> Result<Self, Errno> {
        let open =
            |core| EventPair::open(events, PerfTarget::Core(core), PrivilegeScope::UserAndKernel);
        let pairs = online_cores(files).into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { counted: CounterScope::Machine, pairs })
    }

    /// Reads all counters. Returns `None` if a counter cannot be read.
    pub(crate) fn read(&self) -> Option<PerfReadings> {
        self.pairs.iter().map(|pair| pair.read().ok()).collect()
    }

    /// Computes the counts from readings at these moments. Returns `None` if a counter was never scheduled, or was
    /// lost.
    pub(crate) fn to_record(
        &self,
        readings: &[(Nanos, Option<PerfReadings>)],
    ) -> Option<HardwareCounters> {
        to_record(self.counted, readings)
    }
}

fn to_record(
    counted: CounterScope,
    readings: &[(Nanos, Option<PerfReadings>)],
) -> Option<HardwareCounters> {
    let all = readings.iter().map(|(at, readings)| Some((*at, readings.as_ref()?)));
    let all: Vec<(Nanos, &PerfReadings)> = all.collect::<Option<_>>()?;
    let (_, first) = all.first()?;
    let mut totals: Vec<[MultiplexedTotal; 2]> =
        first.iter().map(|pair| pair.map(MultiplexedTotal::from)).collect();
    let mut samples = Vec::new();
    for (at, readings) in &all {
        for (total, reading) in totals.iter_mut().flatten().zip(readings.iter().flatten()) {
            total.add(*reading);
        }
        let each = totals.iter().map(event_counts);
        let executed = match counted {
            CounterScope::Machine => each.collect(),
            CounterScope::Agents | CounterScope::AgentsCode => {
                vec![each.fold(HardwareEventCounts::default(), add_counts)]
            }
        };
        samples.push(HardwareSample { at: *at, executed });
    }
    let running = totals.iter().flatten().map(MultiplexedTotal::running_share).fold(1.0, f64::min);
    (running > 0.0).then_some(HardwareCounters { counted, running, samples })
}

fn event_counts([cycles, instructions]: &[MultiplexedTotal; 2]) -> HardwareEventCounts {
    HardwareEventCounts { cycles: cycles.counted(), instructions: instructions.counted() }
}

fn add_counts(one: HardwareEventCounts, other: HardwareEventCounts) -> HardwareEventCounts {
    HardwareEventCounts {
        cycles: one.cycles + other.cycles,
        instructions: one.instructions + other.instructions,
    }
}

/// Opens counters of these threads. A thread that has ended in the meantime is skipped.
fn open_threads(
    events: [PerfEvent; 2],
    threads: &[u32],
    depth: PrivilegeScope,
) -> Result<Vec<EventPair>, Errno> {
    let mut pairs = Vec::new();
    for &thread in threads {
        match EventPair::open(events, PerfTarget::Thread(thread), depth) {
            Ok(pair) => pairs.push(pair),
            Err(Errno::SRCH) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(pairs)
}

/// Returns all threads of these processes. The list is empty if they are too many to be read at every moment.
fn list_threads(files: &MachineFiles, processes: &[u32]) -> Vec<u32> {
    let of = |process: &u32| files.names(format!("proc/{process}/task"));
    let all: Vec<u32> =
        processes.iter().flat_map(of).filter_map(|thread| thread.parse().ok()).collect();
    if all.len() > MAX_THREADS { Vec::new() } else { all }
}

/// Returns the cores that are online (`/sys/devices/system/cpu/online`): `0-3,6`.
fn online_cores(files: &MachineFiles) -> Vec<u32> {
    let text = files.text("sys/devices/system/cpu/online").unwrap_or_default();
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse().ok()?..=to.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests;
