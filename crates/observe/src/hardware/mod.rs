//! The processor's own counters over a trial: cycles, and instructions carried out.
//!
//! Every core is counted, whatever runs on it, where the kernel lets this user look at all of the machine; else tare's
//! agents are, which is less: not what softirqs and daemons do for them elsewhere. Counters are opened before a trial's
//! traffic and read with `/proc/stat`, at the same few moments.

mod refused;
mod scaled;

pub use refused::Refused;

use crate::files::Files;
use crate::sys::perf::{Depth, Event, Pair, Reading, Whose};
use rustix::io::Errno;
use scaled::Total;
use tare_record::{Counting, Executed, Hardware, HardwareSample, Nanos};

/// What is counted.
const EVENTS: [Event; 2] = [Event::CYCLES, Event::INSTRUCTIONS];

/// The most threads of agents that are counted one by one.
const MOST_THREADS: usize = 256;

/// One reading of all counters, core by core or thread by thread.
pub(crate) type Readings = Vec<[Reading; 2]>;

/// Counters that count.
#[derive(Debug)]
pub(crate) struct Counters {
    counted: Counting,
    pairs: Vec<Pair>,
}

/// Whose work can be counted by this user here.
///
/// # Errors
/// Why nobody's can be, and what would help.
pub fn counting() -> Result<Counting, Refused> {
    Counters::open(&Files::machine(), EVENTS, &[std::process::id()])
        .map(|counters| counters.counted)
}

impl Counters {
    /// The same with events that every machine has: ns that pass, and context switches.
    #[cfg(test)]
    pub(crate) fn of_software() -> Result<Self, Refused> {
        let events = [Event::CPU_CLOCK, Event::CONTEXT_SWITCHES];
        Self::open(&Files::machine(), events, &[std::process::id()])
    }

    /// Begins to count this machine's cores, or these processes, as far as that is allowed.
    pub(crate) fn machine(agents: &[u32]) -> Option<Self> {
        Self::open(&Files::machine(), EVENTS, agents).ok()
    }

    fn open(files: &Files, events: [Event; 2], agents: &[u32]) -> Result<Self, Refused> {
        let mut refused = match Self::of_cores(files, events) {
            Ok(counters) => return Ok(counters),
            Err(errno) => errno,
        };
        let threads = threads(files, agents);
        let lesser =
            [(Counting::Agents, Depth::Everything), (Counting::AgentsCode, Depth::Programs)];
        for (counted, depth) in lesser {
            // Of what is not there no part can be had either.
            if !matches!(refused, Errno::ACCESS | Errno::PERM) {
                break;
            }
            match of_threads(events, &threads, depth) {
                Ok(pairs) if !pairs.is_empty() => return Ok(Self { counted, pairs }),
                Ok(_) => {}
                Err(errno) => refused = errno,
            }
        }
        Err(Refused::new(refused, files))
    }

    /// All of what runs on every core that is online.
    fn of_cores(files: &Files, events: [Event; 2]) -> Result<Self, Errno> {
        let open = |core| Pair::open(events, Whose::Core(core), Depth::Everything);
        let pairs = online(files).into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { counted: Counting::Machine, pairs })
    }

    /// What was counted so far; nothing where a counter cannot be read.
    pub(crate) fn read(&self) -> Option<Readings> {
        self.pairs.iter().map(|pair| pair.read().ok()).collect()
    }

    /// What was counted, from readings at these moments; nothing where some counter never came to its turn, or was lost.
    pub(crate) fn told(&self, readings: &[(Nanos, Option<Readings>)]) -> Option<Hardware> {
        told(self.counted, readings)
    }
}

fn told(counted: Counting, readings: &[(Nanos, Option<Readings>)]) -> Option<Hardware> {
    let all = readings.iter().map(|(at, readings)| Some((*at, readings.as_ref()?)));
    let all: Vec<(Nanos, &Readings)> = all.collect::<Option<_>>()?;
    let (_, first) = all.first()?;
    let mut totals: Vec<[Total; 2]> = first.iter().map(|pair| pair.map(Total::from)).collect();
    let mut samples = Vec::new();
    for (at, readings) in &all {
        for (total, reading) in totals.iter_mut().flatten().zip(readings.iter().flatten()) {
            total.add(*reading);
        }
        let each = totals.iter().map(executed);
        let executed = match counted {
            Counting::Machine => each.collect(),
            Counting::Agents | Counting::AgentsCode => vec![each.fold(Executed::default(), plus)],
        };
        samples.push(HardwareSample { at: *at, executed });
    }
    let running = totals.iter().flatten().map(Total::running).fold(1.0, f64::min);
    (running > 0.0).then_some(Hardware { counted, running, samples })
}

fn executed([cycles, instructions]: &[Total; 2]) -> Executed {
    Executed { cycles: cycles.counted(), instructions: instructions.counted() }
}

fn plus(one: Executed, other: Executed) -> Executed {
    Executed {
        cycles: one.cycles + other.cycles,
        instructions: one.instructions + other.instructions,
    }
}

/// Counters of these threads. One that has ended meanwhile is not missed.
fn of_threads(events: [Event; 2], threads: &[u32], depth: Depth) -> Result<Vec<Pair>, Errno> {
    let mut pairs = Vec::new();
    for &thread in threads {
        match Pair::open(events, Whose::Thread(thread), depth) {
            Ok(pair) => pairs.push(pair),
            Err(Errno::SRCH) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(pairs)
}

/// All threads of these processes; none where they are too many to be read at every moment.
fn threads(files: &Files, processes: &[u32]) -> Vec<u32> {
    let of = |process: &u32| files.names(format!("proc/{process}/task"));
    let all: Vec<u32> =
        processes.iter().flat_map(of).filter_map(|thread| thread.parse().ok()).collect();
    if all.len() > MOST_THREADS { Vec::new() } else { all }
}

/// The cores that are online (`/sys/devices/system/cpu/online`): `0-3,6`.
fn online(files: &Files) -> Vec<u32> {
    let text = files.text("sys/devices/system/cpu/online").unwrap_or_default();
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse().ok()?..=to.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests;
