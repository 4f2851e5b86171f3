//! The workloads of a study: sweeps unrolled, parameters resolved, times checked.

use crate::layer::{Method, WorkloadStudy};
use crate::{Catalogue, Error};
use std::collections::BTreeSet;
use tare_record::{Metric, Nanos, WarmUp, WorkloadPlan};

/// Trials last this long unless the study or a flag says otherwise.
const DURATION: Nanos = Nanos(10_000_000_000);
/// Interval records are this long unless the study or a flag says otherwise.
const INTERVAL: Nanos = Nanos(100_000_000);
/// A trial shorter than this holds too few intervals to say anything.
const FEWEST_INTERVALS: u64 = 10;

/// The workloads asked for, or all there are, with those of their metrics that are wanted.
pub(crate) fn workloads(
    asked: Vec<WorkloadStudy>,
    metrics: Option<&[Metric]>,
    method: &Method,
    catalogue: &dyn Catalogue,
) -> Result<Vec<WorkloadPlan>, Error> {
    let asked = if asked.is_empty() {
        let named = |name: String| WorkloadStudy { name, ..WorkloadStudy::default() };
        catalogue.workloads().into_iter().map(named).collect()
    } else {
        asked
    };
    let plans = asked
        .into_iter()
        .flat_map(variants)
        .map(|workload| expand_workload(workload, metrics, method, catalogue))
        .collect::<Result<Vec<_>, _>>()?;
    if plans.is_empty() {
        return Err(Error::NoWorkload);
    }
    check_metrics(&plans, metrics, catalogue)?;
    check_variants(&plans)?;
    Ok(plans.into_iter().filter(|plan| !plan.metrics.is_empty()).collect())
}

/// A workload for every combination of the parameters that are lists: a sweep.
fn variants(workload: WorkloadStudy) -> Vec<WorkloadStudy> {
    let list = workload
        .parameters
        .iter()
        .find_map(|(name, value)| value.as_array().map(|values| (name.clone(), values.clone())));
    let Some((name, values)) = list else {
        return vec![workload];
    };
    let with = |value| {
        let mut one = workload.clone();
        one.parameters.insert(name.clone(), value);
        one
    };
    values.into_iter().map(with).flat_map(variants).collect()
}

fn expand_workload(
    workload: WorkloadStudy,
    metrics: Option<&[Metric]>,
    method: &Method,
    catalogue: &dyn Catalogue,
) -> Result<WorkloadPlan, Error> {
    let name = workload.name;
    let measured = catalogue.metrics(&name).ok_or_else(|| Error::Workload {
        name: name.clone(),
        known: catalogue.workloads().join(", "),
    })?;
    let parameters = catalogue
        .resolve(&name, &workload.parameters)
        .map_err(|reason| Error::Parameter { reason })?;
    let duration = workload.duration.or(method.duration).map_or(DURATION, |span| span.0);
    let interval = method.interval.map_or(INTERVAL, |span| span.0);
    let warm_up = method.warm_up.map_or(WarmUp::Auto, |warm_up| warm_up.0);
    check_times(&name, duration, interval, warm_up)?;
    let wanted = |metric: &Metric| metrics.is_none_or(|wanted| wanted.contains(metric));
    Ok(WorkloadPlan {
        metrics: measured.into_iter().filter(wanted).collect(),
        name,
        parameters,
        duration,
        interval,
        warm_up,
    })
}

fn check_times(
    workload: &str,
    duration: Nanos,
    interval: Nanos,
    warm_up: WarmUp,
) -> Result<(), Error> {
    const DAY: Nanos = Nanos(86_400_000_000_000);
    if interval < Nanos(1_000_000) {
        return Err(Error::range(
            "interval",
            interval,
            "it is at least 1ms, or the clock is what is measured",
        ));
    }
    if duration > DAY || duration.0 / interval.0 < FEWEST_INTERVALS {
        let allowed = format!("it is from {FEWEST_INTERVALS} intervals ({interval} each) to a day");
        return Err(Error::range(&format!("the duration of {workload}"), duration, &allowed));
    }
    match warm_up {
        WarmUp::Fixed(length) if length.0 > duration.0 / 2 => Err(Error::range(
            &format!("the warm-up of {workload}"),
            length,
            &format!("at most half of the duration ({duration}) may be discarded"),
        )),
        _ => Ok(()),
    }
}

/// Every metric asked for is measured by some workload.
fn check_metrics(
    plans: &[WorkloadPlan],
    metrics: Option<&[Metric]>,
    catalogue: &dyn Catalogue,
) -> Result<(), Error> {
    let measured: BTreeSet<Metric> =
        plans.iter().filter_map(|plan| catalogue.metrics(&plan.name)).flatten().collect();
    // The tour's own list names the metrics of all its workloads; a run of one of them need not have all.
    let served = metrics.is_none_or(|wanted| wanted.iter().any(|metric| measured.contains(metric)));
    match metrics.and_then(<[Metric]>::first) {
        Some(metric) if !served => Err(Error::Metric {
            metric: metric.to_string(),
            measured: measured.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(", "),
        }),
        _ => Ok(()),
    }
}

/// No workload stands twice with the same parameters: its trials could not be told apart.
fn check_variants(plans: &[WorkloadPlan]) -> Result<(), Error> {
    let same = |one: &WorkloadPlan, other: &WorkloadPlan| {
        (&one.name, &one.parameters) == (&other.name, &other.parameters)
    };
    for (index, plan) in plans.iter().enumerate() {
        if plans[..index].iter().any(|other| same(other, plan)) {
            return Err(Error::Twice { workload: plan.name.clone() });
        }
    }
    Ok(())
}
