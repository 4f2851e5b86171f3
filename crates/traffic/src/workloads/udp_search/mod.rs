//! `udp-search`: the highest rates at which nothing, and no more than a chosen share, is lost.
//!
//! MLRsearch (RFC 9971) says which rate to try next, and for how long; each trial is a short `udp-rate`, all of them
//! over the same flows. First of all the sender goes as fast as it can: beyond that nobody can search. A trial in which
//! it fell behind is done again; one in which it fell far behind counts what it did not send as lost (RFC 9971, section
//! 4.9.1).

mod found;
mod searcher;
mod server;

use crate::udp::{BUFFER, GSO, Options, SIZE, WAIT};
use crate::{About, Client, Error, Kind, Parameter, Server, Task, Workload, lanes, parameters};
use searcher::Searching;
use server::Answering;
use std::time::Duration;
use tare_record::Metric;
use tare_stats::mlrsearch::Goal;

/// The workload.
#[derive(Debug)]
pub(crate) struct UdpSearch;

/// The loss ratio of the second goal.
const PDR: Parameter = Parameter {
    name: "pdr",
    summary: "the share of datagrams that may be lost at the partial drop rate",
    kind: Kind::Share,
    default: Some("0.5%"),
};

/// What a trial may last, ms.
const TRIAL: Kind = Kind::Count { least: 1, most: 600_000 };

const INITIAL: Parameter = Parameter {
    name: "initial_trial",
    summary: "ms of the first trials; an eighth of the last ones unless given",
    kind: TRIAL,
    default: None,
};

const FINAL: Parameter = Parameter {
    name: "final_trial",
    summary: "ms of the trials that decide; a fiftieth of the duration unless given",
    kind: TRIAL,
    default: None,
};

impl Workload for UdpSearch {
    fn about(&self) -> About {
        About {
            name: "udp-search",
            summary: "the highest UDP rates without loss (NDR) and with little of it (PDR)",
            stands_for: "TRex with MLRsearch, RFC 2544 throughput",
            source: "https://www.rfc-editor.org/rfc/rfc9971",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Ndr, Metric::NdrPackets, Metric::Pdr, Metric::PdrPackets]
    }

    fn ports(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[SIZE, PDR, INITIAL, FINAL, GSO, BUFFER, WAIT, lanes::THREADS]
    }

    fn lasts(&self, task: &Task) -> Duration {
        Duration::from(task.duration).max(LEAST)
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        Ok(Box::new(Answering::start(&in_time(task))?))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        if task.peers > 1 {
            return Err(Error::Job(format!(
                "udp-search from {} clients at once: searches disturb one another, use one client and one process",
                task.peers
            )));
        }
        Ok(Box::new(Searching::connect(&in_time(task))?))
    }
}

/// What is searched in less time was not found: the sender's fastest may be fifty times what a tunnel in user space
/// carries, and every trial that loses costs a [`SETTLE`].
const LEAST: Duration = Duration::from_secs(2);

/// The task, with time enough to find anything.
fn in_time(task: &Task) -> Task {
    Task { duration: UdpSearch.lasts(task).into(), ..task.clone() }
}

/// How datagrams are carried in a search: it waits less for the last ones, as every trial pays for that.
fn options(task: &Task) -> Result<Options, Error> {
    Ok(Options { settle: SETTLE, ..Options::of(&task.parameters)? })
}

/// After the sender's last word, silence of this length means that the rest of a trial is lost.
const SETTLE: Duration = Duration::from_millis(50);

/// What is searched for: no loss, then the chosen ratio.
fn goals(task: &Task) -> Result<[Goal; 2], Error> {
    /// How close the bounds have to be, as a share of the upper one: what trials of a busy machine can tell apart.
    const WIDTH: f64 = 0.02;
    /// The share of trials that may lose more at a lower bound, as the RFC recommends.
    const EXCEED: f64 = 0.5;
    /// So many full-length trials decide about a load in any case.
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
        .ok_or_else(|| Error::Job("the task says no `pdr`".to_owned()))?;
    Ok([0.0, pdr].map(|loss_ratio| Goal {
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
        let mut task = crate::Task::made_up("udp-search", vec![([127, 0, 0, 1], 7).into()]);
        task.duration = Nanos(10_000_000_000);
        let [none, some] = goals(&task).unwrap();
        assert_eq!((none.loss_ratio, some.loss_ratio), (0.0, 0.005));
        assert_eq!(none.final_trial_duration, Duration::from_millis(200));
        assert_eq!(none.initial_trial_duration, Duration::from_millis(25));
        task.parameters.insert("final_trial".to_owned(), 7.into());
        task.parameters.insert("initial_trial".to_owned(), 70.into());
        let [_, some] = goals(&task).unwrap();
        assert_eq!(some.final_trial_duration, Duration::from_millis(7));
        assert!(some.checked().is_ok());
    }

    #[test]
    fn searches_at_once_are_refused() {
        let task = crate::Task::made_up("udp-search", vec![([127, 0, 0, 1], 7).into()]);
        let error = UdpSearch.connect(&Task { peers: 2, ..task }).err().unwrap().to_string();
        assert!(error.starts_with("udp-search from 2 clients at once"), "{error}");
    }
}
