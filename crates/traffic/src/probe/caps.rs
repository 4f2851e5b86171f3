//! What a listener allows: how long, how fast, how many, how much memory.
//!
//! Durations are held by asking the workload how long it generates. A rate is held where a workload paces itself, by
//! what is asked of it; one that goes as fast as it can is refused where rates are capped. Flows, memory and rates are
//! counted over all clients together, for they are the machine's.

use super::message::Request;
use crate::placement::{Cores, Role};
use crate::{Error, Kind, Registry, Task, Workload, parameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tare_record::Nanos;

/// What a listener allows its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// The longest that a trial may generate, ns.
    pub duration: Nanos,
    /// The most payload that all trials together may offer in one direction, bits/s; null: as much as they can.
    pub rate: Option<u64>,
    /// How many clients at once.
    pub clients: u32,
    /// How many flows of all clients at once.
    pub flows: u32,
    /// How much memory the trials of all clients at once may ask for, bytes: messages, socket buffers, records.
    pub memory: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(3600).into(),
            rate: None,
            clients: 16,
            flows: 1024,
            memory: 1 << 30,
        }
    }
}

/// What a trial takes of what there is for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) flows: u32,
    pub(super) memory: u64,
    /// Bits/s; nought where rates are not capped.
    pub(super) rate: u64,
}

/// A request that may be served, if there is room.
pub(super) struct Admitted<'r> {
    pub(super) workload: &'r dyn Workload,
    /// The server's task, still without addresses.
    pub(super) task: Task,
    /// How long the client will generate.
    pub(super) lasts: Duration,
    pub(super) demand: Demand,
}

/// What a flow takes beside its messages and socket buffers, bytes.
const PER_FLOW: u64 = 64 << 10;

/// What an interval record takes on each thread, bytes.
const PER_INTERVAL: u64 = 1 << 10;

impl Caps {
    /// The task of a request, where all of it is allowed.
    pub(super) fn admit<'r>(
        &self,
        request: &Request,
        registry: &'r Registry,
    ) -> Result<Admitted<'r>, Error> {
        let workload = registry.find(&request.workload)?;
        if !workload.programs().is_empty() {
            return refused(format!(
                "{} starts programs, which a listener does for nobody: start its server there by hand, or use `tare run` there",
                request.workload
            ));
        }
        let task = task(request, workload)?;
        let lasts = workload.lasts(&task);
        if lasts > Duration::from(self.duration) {
            return refused(format!(
                "{} for {lasts:?} is too long: this listener allows {} (--max-duration there, --duration here)",
                request.workload, self.duration
            ));
        }
        let demand = Demand {
            flows: task.flows,
            memory: memory(workload, &task),
            rate: self.rate.map_or(Ok(0), |most| rate(workload, &task, most))?,
        };
        self.check(demand)?;
        Ok(Admitted { workload, task, lasts, demand })
    }

    /// Whether this could be served if nothing else were.
    fn check(&self, demand: Demand) -> Result<(), Error> {
        if demand.flows > self.flows {
            return refused(format!(
                "{} flows are too many: this listener allows {} (--max-flows there, --flows here)",
                demand.flows, self.flows
            ));
        }
        if demand.memory > self.memory {
            return refused(format!(
                "this takes about {} of memory, and the listener allows {} (--max-memory there; fewer flows, smaller sizes and --buffer or longer intervals here)",
                mebibytes(demand.memory),
                mebibytes(self.memory)
            ));
        }
        match self.rate.filter(|most| demand.rate > *most) {
            Some(most) => refused(format!(
                "{} bit/s are too fast: this listener allows {most} (--max-rate there, --rate here)",
                demand.rate
            )),
            None => Ok(()),
        }
    }
}

/// A refusal in words.
pub(super) fn refused<T>(why: String) -> Result<T, Error> {
    Err(Error::Job(why))
}

/// Bytes, for people.
pub(super) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// What the server of this request is told, but for addresses and the trial's number. It came from another machine:
/// everything in it is checked.
pub(super) fn task(request: &Request, workload: &dyn Workload) -> Result<Task, Error> {
    let parameters = workload.resolve(&request.parameters)?;
    let alone =
        Task::of_one_flow(&request.workload, parameters, request.duration, request.interval);
    let task = Task { flows: request.flows, cpus: request.cpus.clone(), ..alone };
    task.check_numbers()?;
    Ok(task)
}

/// What a trial offers, bits/s, at most.
fn rate(workload: &dyn Workload, task: &Task, most: u64) -> Result<u64, Error> {
    match workload.offers(task) {
        Some(bits) => Ok(bits.ceil() as u64),
        None => refused(format!(
            "{} goes as fast as it can, and this listener allows {most} bit/s: give it a --rate, an --open-loop or a --pacing-rate, whichever it takes",
            task.workload
        )),
    }
}

/// What a trial may take in this process and its sockets, bytes: not less than it will, as far as its parameters tell.
fn memory(workload: &dyn Workload, task: &Task) -> u64 {
    let sizes: u64 = workload
        .parameters()
        .iter()
        .filter(|parameter| matches!(parameter.kind, Kind::Bytes { .. }))
        .filter_map(|parameter| parameters::optional_size(&task.parameters, parameter.name))
        .map(|size| size as u64)
        .fold(0, u64::saturating_add);
    let threads = parameters::optional_size(&task.parameters, crate::lanes::THREADS.name)
        .unwrap_or_else(|| Cores::of(&task.cpus, Role::Server).list().len())
        .clamp(1, task.flows.max(1) as usize) as u64;
    let flows = u64::from(task.flows).saturating_mul(sizes.saturating_add(PER_FLOW));
    let intervals = task.duration.0 / task.interval.0.max(1);
    flows.saturating_add(intervals.saturating_mul(threads).saturating_mul(PER_INTERVAL))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::workloads;
    use proptest::prelude::*;
    use tare_record::Placement;

    /// A request for one flow of this workload, 100 ms long.
    pub(in crate::probe) fn request(workload: &str) -> Request {
        Request {
            workload: workload.to_owned(),
            parameters: Default::default(),
            flows: 1,
            cpus: Placement::Free,
            duration: Nanos(100_000_000),
            interval: Nanos(10_000_000),
        }
    }

    fn refusal(caps: &Caps, request: &Request) -> String {
        caps.admit(request, &workloads()).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_is_within_the_caps_is_admitted_with_what_it_takes() {
        let registry = workloads();
        let request = Request { flows: 3, ..request("tcp-rr") };
        let admitted = Caps::default().admit(&request, &registry).unwrap();
        assert_eq!(admitted.workload.about().name, "tcp-rr");
        assert_eq!((admitted.task.flows, admitted.demand.flows), (3, 3));
        assert_eq!(admitted.lasts, Duration::from_millis(100));
        assert!(admitted.demand.memory >= 3 * PER_FLOW);
    }

    #[test]
    fn what_is_beyond_a_cap_is_refused_by_its_name() {
        let caps =
            Caps { duration: Nanos(1_000_000_000), flows: 4, memory: 100 << 20, ..Caps::default() };
        let good = request("tcp-stream");
        assert_eq!(refusal(&caps, &good), "");
        assert!(refusal(&caps, &request("iperf3")).contains("starts programs"));
        let long = Request { duration: Nanos(2_000_000_000), ..good.clone() };
        assert!(refusal(&caps, &long).contains("--max-duration"), "{}", refusal(&caps, &long));
        let wide = Request { flows: 5, ..good.clone() };
        assert!(refusal(&caps, &wide).contains("--max-flows"), "{}", refusal(&caps, &wide));
        let buffers = [("buffer".to_owned(), "512M".into())].into();
        let fat = Request { parameters: buffers, ..good.clone() };
        assert!(refusal(&caps, &fat).contains("--max-memory"), "{}", refusal(&caps, &fat));
        let fine = Request { interval: Nanos(1_000), duration: Nanos(900_000_000), ..good };
        assert!(refusal(&caps, &fine).contains("--max-memory"), "{}", refusal(&caps, &fine));
    }

    #[test]
    fn what_cannot_be_paced_is_refused_where_rates_are_capped() {
        let caps = Caps { rate: Some(1_000_000), ..Caps::default() };
        let why = refusal(&caps, &request("tcp-stream"));
        assert!(why.contains("as fast as it can") && why.contains("1000000"), "{why}");
        let paced = |flows| Request {
            parameters: [("pacing_rate".to_owned(), "400kbit".into())].into(),
            flows,
            ..request("tcp-stream")
        };
        assert_eq!(refusal(&caps, &paced(2)), "");
        let why = refusal(&caps, &paced(3));
        assert!(why.contains("1200000 bit/s are too fast"), "{why}");
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        let caps = Caps::default();
        let good = request("tcp-rr");
        for (bad, word) in [
            (Request { workload: "tcp".to_owned(), ..good.clone() }, "tcp-rr"),
            (Request { flows: 0, ..good.clone() }, "flows"),
            (Request { interval: Nanos(0), ..good.clone() }, "intervals"),
            (Request { interval: Nanos(u64::MAX), ..good.clone() }, "intervals"),
            (
                Request { parameters: [("colour".to_owned(), "x".into())].into(), ..good.clone() },
                "colour",
            ),
            (
                Request { parameters: [("request".to_owned(), (-1).into())].into(), ..good },
                "request",
            ),
        ] {
            let why = refusal(&caps, &bad);
            assert!(why.contains(word), "{why}");
        }
    }

    proptest! {
        #[test]
        fn no_numbers_break_the_check(flows: u32, duration: u64, interval: u64, size: u64) {
            let request = Request {
                flows,
                duration: Nanos(duration),
                interval: Nanos(interval),
                parameters: [("request".to_owned(), size.into())].into(),
                ..request("tcp-rr")
            };
            let caps = Caps::default();
            if let Ok(admitted) = caps.admit(&request, &workloads()) {
                prop_assert!(admitted.demand.memory <= caps.memory && admitted.demand.flows <= caps.flows);
            }
        }
    }
}
