//! Admission of requests within the limits that a listener sets for its clients ([`Caps`]).
//!
//! The workload itself says how long a trial generates, and that time is checked. A rate is checked where the workload
//! paces itself, by the parameter that sets the pace; a workload that sends as fast as it can is refused where rates
//! are capped. Flows, memory and rates are counted over all clients together, because they are resources of the
//! machine.

use crate::caps::Caps;
use crate::message::TrialRequest;
use std::time::Duration;
use tare_traffic::{Error, ServerResources, TrialTask, Workload, WorkloadRegistry};

/// Resources that a trial takes from those that all clients share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrialResources {
    pub(crate) flows: u32,
    pub(crate) memory: u64,
    /// Offered rate, bits/s. 0 where rates are not capped.
    pub(crate) rate: u64,
    /// Threads, those of them that never sleep, and sockets.
    pub(crate) threads: u64,
    pub(crate) spinning: u64,
    pub(crate) sockets: u64,
}

/// Request that is within the limits. It can be served if the resources are free.
pub(crate) struct AdmittedTrial<'r> {
    pub(crate) workload: &'r dyn Workload,
    /// Task of the server, without addresses yet.
    pub(crate) task: TrialTask,
    /// Time for which the client generates traffic.
    pub(crate) duration: Duration,
    pub(crate) demand: TrialResources,
}

impl Caps {
    /// Returns the task of a request, of a client that reads the same clock or another one. Fails if the request exceeds
    /// a limit or needs an external program.
    pub(crate) fn admit<'r>(
        &self,
        request: &TrialRequest,
        registry: &'r WorkloadRegistry,
        one_clock: bool,
    ) -> Result<AdmittedTrial<'r>, Error> {
        let workload = registry.find(&request.workload)?;
        if !workload.programs().is_empty() {
            return refuse(format!(
                "{} starts programs, and a listener starts no programs for its clients: start the server of the workload by hand on the listener's machine, or use `tare run` there",
                request.workload
            ));
        }
        let mut task = TrialTask { one_clock, ..task_from_request(request, workload)? };
        let lasts = workload.duration(&task);
        if lasts > Duration::from(self.duration) {
            return refuse(format!(
                "{} for {lasts:?} is too long: this listener allows {}: use a shorter --duration, or raise --max-duration of the listener",
                request.workload, self.duration
            ));
        }
        task.answer_rate = self.rate.map(|most| offered_rate(workload, &task, most)).transpose()?;
        let server = ServerResources::for_task(workload, &task);
        let demand = TrialResources {
            flows: task.flows,
            memory: server.memory,
            rate: task.answer_rate.unwrap_or_default(),
            threads: server.threads,
            spinning: if server.spins { server.threads } else { 0 },
            sockets: server.sockets,
        };
        self.check(demand)?;
        Ok(AdmittedTrial { workload, task, duration: lasts, demand })
    }

    /// Checks the demand against the limits, as if no other trial were running.
    fn check(&self, demand: TrialResources) -> Result<(), Error> {
        if demand.flows > self.flows {
            return refuse(format!(
                "{} flows are too many: this listener allows {}: use fewer --flows, or raise --max-flows of the listener",
                demand.flows, self.flows
            ));
        }
        if demand.memory > self.memory {
            return refuse(format!(
                "the trial takes about {} of memory, and this listener allows {}: use fewer flows, smaller sizes and --buffer or longer intervals, or raise --max-memory of the listener",
                format_mebibytes(demand.memory),
                format_mebibytes(self.memory)
            ));
        }
        match self.rate.filter(|most| demand.rate > *most) {
            Some(most) => refuse(format!(
                "{} bit/s are too fast: this listener allows {most} bit/s: use a lower --rate, or raise --max-rate of the listener",
                demand.rate
            )),
            None => Ok(()),
        }
    }
}

/// Returns an error that tells the client why its request is refused.
pub(crate) fn refuse<T>(why: String) -> Result<T, Error> {
    Err(Error::Job(why))
}

/// Formats a number of bytes for people, in MiB.
pub(crate) fn format_mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// Returns the task of the server of this request, without addresses and the trial's number. The request came from
/// another machine: everything in it is checked.
pub(crate) fn task_from_request(
    request: &TrialRequest,
    workload: &dyn Workload,
) -> Result<TrialTask, Error> {
    let parameters = workload.resolve(&request.parameters)?;
    let alone =
        TrialTask::single_flow(&request.workload, parameters, request.duration, request.interval);
    let task = TrialTask { flows: request.flows, cpus: request.cpus.clone(), ..alone };
    task.validate_numbers()?;
    Ok(task)
}

/// Returns the highest rate that a trial offers, bits/s. Fails if the workload does not pace itself.
fn offered_rate(workload: &dyn Workload, task: &TrialTask, most: u64) -> Result<u64, Error> {
    match workload.offered_load(task) {
        Some(bits) => Ok(bits.ceil() as u64),
        None => refuse(format!(
            "{} sends as fast as it can, and this listener allows {most} bit/s: use --rate, --open-loop or --pacing-rate, whichever {} has",
            task.workload, task.workload
        )),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use tare_record::Nanos;
    use tare_record::Placement;

    /// Returns the registry of all workloads, external tools included.
    fn registry() -> WorkloadRegistry {
        tare_traffic::workloads().into_iter().chain(tare_tools::workloads()).collect()
    }

    /// Returns a request for one flow of this workload, 100 ms long.
    pub(crate) fn request(workload: &str) -> TrialRequest {
        TrialRequest {
            workload: workload.to_owned(),
            parameters: Default::default(),
            flows: 1,
            cpus: Placement::Free,
            duration: Nanos(100_000_000),
            interval: Nanos(10_000_000),
        }
    }

    fn refusal(caps: &Caps, request: &TrialRequest) -> String {
        caps.admit(request, &registry(), false)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn what_is_within_the_caps_is_admitted_with_what_it_takes() {
        let registry = registry();
        let request = TrialRequest { flows: 3, ..request("tcp-rr") };
        let admitted = Caps::default().admit(&request, &registry, false).unwrap();
        assert_eq!(admitted.workload.info().name, "tcp-rr");
        assert_eq!((admitted.task.flows, admitted.demand.flows), (3, 3));
        assert_eq!(admitted.duration, Duration::from_millis(100));
        assert!(admitted.demand.memory > 0);
        assert_eq!(admitted.demand.sockets, 6);
    }

    #[test]
    fn what_is_beyond_a_cap_is_refused_by_its_name() {
        let caps =
            Caps { duration: Nanos(1_000_000_000), flows: 4, memory: 100 << 20, ..Caps::default() };
        let good = request("tcp-stream");
        assert_eq!(refusal(&caps, &good), "");
        assert!(refusal(&caps, &request("iperf3")).contains("starts programs"));
        let long = TrialRequest { duration: Nanos(2_000_000_000), ..good.clone() };
        assert!(refusal(&caps, &long).contains("--max-duration"), "{}", refusal(&caps, &long));
        let wide = TrialRequest { flows: 5, ..good.clone() };
        assert!(refusal(&caps, &wide).contains("--max-flows"), "{}", refusal(&caps, &wide));
        let buffers = [("buffer".to_owned(), "512M".into())].into();
        let fat = TrialRequest { parameters: buffers, ..good.clone() };
        assert!(refusal(&caps, &fat).contains("--max-memory"), "{}", refusal(&caps, &fat));
        let fine = TrialRequest { interval: Nanos(1_000), duration: Nanos(900_000_000), ..good };
        assert!(refusal(&caps, &fine).contains("--max-memory"), "{}", refusal(&caps, &fine));
    }

    #[test]
    fn what_cannot_be_paced_is_refused_where_rates_are_capped() {
        let caps = Caps { rate: Some(1_000_000), ..Caps::default() };
        let why = refusal(&caps, &request("tcp-stream"));
        assert!(why.contains("as fast as it can") && why.contains("1000000"), "{why}");
        let paced = |flows| TrialRequest {
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
            (TrialRequest { workload: "tcp".to_owned(), ..good.clone() }, "tcp-rr"),
            (TrialRequest { flows: 0, ..good.clone() }, "flows"),
            (TrialRequest { interval: Nanos(0), ..good.clone() }, "intervals"),
            (TrialRequest { interval: Nanos(u64::MAX), ..good.clone() }, "intervals"),
            (
                TrialRequest {
                    parameters: [("colour".to_owned(), "x".into())].into(),
                    ..good.clone()
                },
                "colour",
            ),
            (
                TrialRequest { parameters: [("request".to_owned(), (-1).into())].into(), ..good },
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
            let request = TrialRequest {
                flows,
                duration: Nanos(duration),
                interval: Nanos(interval),
                parameters: [("request".to_owned(), size.into())].into(),
                ..request("tcp-rr")
            };
            let caps = Caps::default();
            if let Ok(admitted) = caps.admit(&request, &registry(), false) {
                prop_assert!(admitted.demand.memory <= caps.memory && admitted.demand.flows <= caps.flows);
            }
        }
    }
}
