//! `udp-search`: the highest rates without loss, and with no more than a chosen loss ratio.
//!
//! MLRsearch (RFC 9971) chooses the rate and duration of the next trial; each trial is a short `udp-rate`, all of them
//! over the same flows. In the first trial the sender goes as fast as it can: its rate is the upper limit of the
//! search. A trial in which the sender fell behind is repeated; in one in which it fell far behind, the datagrams not
//! sent count as lost (RFC 9971, section 4.9.1).

mod client;
mod search_result;
mod server;

use crate::udp::{BUFFER, GSO, Options, SIZE, WAIT};
use crate::{
    Client, Error, Parameter, ParameterKind, Server, TrialTask, Workload, WorkloadInfo, parameters,
    workers,
};
use client::SearchClient;
use server::SearchServer;
use std::time::Duration;
use tare_record::Metric;
use tare_stats::mlrsearch::SearchGoal;

/// Workload `udp-search`.
#[derive(Debug)]
pub(crate) struct UdpSearch;

/// Parameter for the loss ratio of the second goal.
const PDR: Parameter = Parameter {
    name: "pdr",
    summary: "share of datagrams that may be lost at the partial drop rate",
    kind: ParameterKind::Share,
    default: Some("0.5%"),
};

/// Range of a trial's duration, ms.
const TRIAL: ParameterKind = ParameterKind::Count { least: 1, most: 600_000 };

const INITIAL: Parameter = Parameter {
    name: "initial_trial",
    summary: "duration of the first trials, ms; an eighth of that of the last trials unless given",
    kind: TRIAL,
    default: None,
};

const FINAL: Parameter = Parameter {
    name: "final_trial",
    summary: "duration of the trials that decide, ms; a fiftieth of --duration unless given",
    kind: TRIAL,
    default: None,
};

impl Workload for UdpSearch {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "udp-search",
            summary: "the highest UDP rates without loss (NDR) and with little loss (PDR)",
            stands_for: "TRex with MLRsearch, RFC 2544 throughput",
            source: "https://www.rfc-editor.org/rfc/rfc9971",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Ndr, Metric::NdrPackets, Metric::Pdr, Metric::PdrPackets]
    }

    fn port_count(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[SIZE, PDR, INITIAL, FINAL, GSO, BUFFER, WAIT, workers::THREADS]
    }

    fn duration(&self, task: &TrialTask) -> Duration {
        Duration::from(task.duration).max(MIN_DURATION)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        Ok(Box::new(SearchServer::start(&with_search_time(task))?))
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        if task.peers > 1 {
            return Err(Error::Job(format!(
                "cannot run udp-search from {} clients at once: searches disturb one another: use one client and one process",
                task.peers
            )));
        }
        Ok(Box::new(SearchClient::connect(&with_search_time(task))?))
    }
}

/// Shortest duration in which a search finds anything: the sender's fastest rate may be fifty times that of a tunnel in
/// user space, and every trial with a loss costs a [`SETTLE`].
const MIN_DURATION: Duration = Duration::from_secs(2);

/// Returns the task, with enough time for a search.
fn with_search_time(task: &TrialTask) -> TrialTask {
    TrialTask { duration: UdpSearch.duration(task).into(), ..task.clone() }
}

/// Returns the options of the datagrams in a search: the wait for the last ones is short, as every trial pays for it.
fn options(task: &TrialTask) -> Result<Options, Error> {
    Ok(Options { settle: SETTLE, ..Options::from_parameters(&task.parameters)? })
}

/// Silence after the sender's last message by which the rest of a trial is considered lost.
const SETTLE: Duration = Duration::from_millis(50);

/// Returns the goals of the search: no loss, then the chosen ratio.
fn goals(task: &TrialTask) -> Result<[SearchGoal; 2], Error> {
    /// Width of the bounds to reach, relative to the upper bound: the difference that trials on a busy machine can
    /// resolve.
    const WIDTH: f64 = 0.02;
    /// Ratio of trials at a lower bound that may exceed the loss, as the RFC recommends.
    const EXCEED: f64 = 0.5;
    /// Number of full-length trials that decide about a load in any case.
    const SUM: u32 = 3;
    let given = |parameter: &Parameter| {
        let millis = parameters::optional_size(&task.parameters, parameter.name);
        millis.map(|millis| Duration::from_millis(millis as u64))
    };
    let full = given(&FINAL).unwrap_or_else(|| {
        (Duration::from(task.duration) / 50)
            .clamp(Duration::from_millis(10), Duration::from_secs(5))
    });
    let initial = given(&INITIAL).unwrap_or(full / 8).min(full);
    let pdr = parameters::number(&task.parameters, PDR.name)
        .ok_or_else(|| Error::Job("the task has no parameter `pdr`".to_owned()))?;
    Ok([0.0, pdr].map(|loss_ratio| SearchGoal {
        loss_ratio,
        exceed_ratio: EXCEED,
        initial_trial_duration: initial,
        final_trial_duration: full,
        duration_sum: full * SUM,
        width: WIDTH.max(loss_ratio),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::Nanos;

    #[test]
    fn trials_fit_the_duration_unless_they_are_given() {
        let mut task = crate::TrialTask::for_test("udp-search", vec![([127, 0, 0, 1], 7).into()]);
        task.duration = Nanos(10_000_000_000);
        let [none, some] = goals(&task).unwrap();
        assert_eq!((none.loss_ratio, some.loss_ratio), (0.0, 0.005));
        assert_eq!(none.final_trial_duration, Duration::from_millis(200));
        assert_eq!(none.initial_trial_duration, Duration::from_millis(25));
        task.parameters.insert("final_trial".to_owned(), 7.into());
        task.parameters.insert("initial_trial".to_owned(), 70.into());
        let [_, some] = goals(&task).unwrap();
        assert_eq!(some.final_trial_duration, Duration::from_millis(7));
        assert!(some.validate().is_ok());
    }

    #[test]
    fn searches_at_once_are_refused() {
        let task = crate::TrialTask::for_test("udp-search", vec![([127, 0, 0, 1], 7).into()]);
        let error = UdpSearch.connect(&TrialTask { peers: 2, ..task }).err().unwrap().to_string();
        assert!(error.starts_with("cannot run udp-search from 2 clients at once"), "{error}");
    }
}
