//! Expansion of a study's workloads: sweeps are unrolled, parameters resolved, times checked.

use crate::spec::WorkloadSpec;
use crate::weave::{slices, tried_lengths};
use crate::{Catalogue, Error, NameOrigin, SliceLength, Study};
use std::collections::BTreeSet;
use tare_record::finding::{SkippedWorkload, WorkloadStandIn};
use tare_record::{Finding, LONGEST_TRIAL, Metric, Nanos, WarmUpPolicy, WorkloadPlan};

/// Default duration of a trial.
const DURATION: Nanos = Nanos(10_000_000_000);
/// Default length of an interval record.
const INTERVAL: Nanos = Nanos(100_000_000);
/// Shortest interval record.
const SHORTEST_INTERVAL: Nanos = Nanos(1_000_000);
/// Smallest number of intervals in a trial; a shorter trial has too few to give a result.
const FEWEST_INTERVALS: u64 = 10;

/// Workloads of a study, or of a section of a study.
#[derive(Default)]
pub(crate) struct StudyWorkloads {
    pub(crate) plans: Vec<WorkloadPlan>,
    /// Findings about workloads that are left out or replaced.
    pub(crate) findings: Vec<Finding>,
    /// Names of workloads that are left out and that a user requested by name.
    pub(crate) refused: Vec<String>,
}

impl StudyWorkloads {
    /// Adds the findings and refused names of other workloads, each once.
    pub(crate) fn merge_findings(&mut self, other: Self) {
        for finding in other.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
        for name in other.refused {
            if !self.refused.contains(&name) {
                self.refused.push(name);
            }
        }
    }
}

/// Expands the requested workloads, or all workloads of the catalogue if none is requested, with the requested metrics.
pub(crate) fn expand_workloads(
    asked: Vec<WorkloadSpec>,
    study: &Study,
    catalogue: &dyn Catalogue,
) -> Result<StudyWorkloads, Error> {
    let asked = if asked.is_empty() {
        let named = |name: String| WorkloadSpec { name, ..WorkloadSpec::default() };
        catalogue.own_workloads().into_iter().map(named).collect()
    } else {
        asked
    };
    let mut all = StudyWorkloads::default();
    for workload in asked {
        match decide_workload(workload, catalogue)? {
            WorkloadDecision::Measured { workload, stands_for, finding } => {
                for one in expand_sweep(*workload) {
                    let stands_for = stands_for.clone();
                    all.plans.push(expand_workload(one, stands_for, study, catalogue)?);
                }
                all.findings.extend(finding);
            }
            WorkloadDecision::LeftOut { finding, refused } => {
                all.findings.push(finding);
                all.refused.extend(refused);
            }
        }
    }
    check_variants(&all.plans)?;
    Ok(all)
}

/// Decision on a requested workload.
enum WorkloadDecision {
    /// The workload, or its stand-in, is measured.
    Measured { workload: Box<WorkloadSpec>, stands_for: Option<String>, finding: Option<Finding> },
    /// The workload is left out; `refused` is its name if a user requested it.
    LeftOut { finding: Finding, refused: Option<String> },
}

/// Decides whether a workload can be measured here, and chooses its stand-in if it cannot.
fn decide_workload(
    workload: WorkloadSpec,
    catalogue: &dyn Catalogue,
) -> Result<WorkloadDecision, Error> {
    let known = catalogue.metrics(&workload.name).is_some();
    let (reason, remedy) =
        match catalogue.missing_for_workload(&workload.name, &workload.parameters) {
            None if known => {
                let replaced = workload.stands_for.clone();
                let finding = replaced.as_ref().map(|of| {
                    Finding::WorkloadStandIn(WorkloadStandIn {
                        workload: of.name.clone(),
                        used: workload.name.clone(),
                        reason: of.reason.clone(),
                    })
                });
                let (workload, stands_for) = (Box::new(workload), replaced.map(|of| of.name));
                return Ok(WorkloadDecision::Measured { workload, stands_for, finding });
            }
            Some(missing) => (missing.reason, missing.remedy),
            None if workload.named_by == NameOrigin::BuiltIn || workload.stand_in.is_some() => {
                let remedy = "choose a workload from `tare list workloads`".to_owned();
                ("not in this build".to_owned(), remedy)
            }
            None => {
                let known = catalogue.workloads().join(", ");
                return Err(Error::Workload { name: workload.name, known });
            }
        };
    let Some(stand_in) = workload.stand_in.clone() else {
        let refused = (workload.named_by == NameOrigin::User).then(|| workload.name.clone());
        let finding =
            Finding::SkippedWorkload(SkippedWorkload { workload: workload.name, reason, remedy });
        return Ok(WorkloadDecision::LeftOut { finding, refused });
    };
    let finding = Finding::WorkloadStandIn(WorkloadStandIn {
        workload: workload.name.clone(),
        used: stand_in.name.clone(),
        reason: format!("{reason}; {remedy}"),
    });
    let stands_for = Some(workload.name.clone());
    let workload = WorkloadSpec {
        name: stand_in.name,
        parameters: stand_in.parameters,
        stand_in: None,
        ..workload
    };
    let workload = Box::new(workload);
    Ok(WorkloadDecision::Measured { workload, stands_for, finding: Some(finding) })
}

/// Checks that there is a workload to measure, and that the requested metrics are measured.
pub(crate) fn check_workloads(
    StudyWorkloads { plans, findings, .. }: &StudyWorkloads,
    metrics: Option<&[Metric]>,
    catalogue: &dyn Catalogue,
) -> Result<(), Error> {
    match (plans.is_empty(), findings.is_empty()) {
        (true, true) => Err(Error::NoWorkload),
        // All workloads are left out, and their findings say why.
        (true, false) => Ok(()),
        (false, _) => {
            check_metrics(plans, metrics, catalogue)?;
            check_variants(plans)
        }
    }
}

/// Expands a sweep: returns a workload for every combination of the parameters that are lists.
fn expand_sweep(workload: WorkloadSpec) -> Vec<WorkloadSpec> {
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
    values.into_iter().map(with).flat_map(expand_sweep).collect()
}

fn expand_workload(
    workload: WorkloadSpec,
    stands_for: Option<String>,
    study: &Study,
    catalogue: &dyn Catalogue,
) -> Result<WorkloadPlan, Error> {
    let (method, metrics) = (&study.method, study.metrics.as_deref());
    let name = workload.name;
    let measured = catalogue.metrics(&name).ok_or_else(|| Error::Workload {
        name: name.clone(),
        known: catalogue.workloads().join(", "),
    })?;
    let parameters = catalogue
        .resolve(&name, &workload.parameters)
        .map_err(|reason| Error::Parameter { reason })?;
    let duration = workload.duration.or(method.duration).map_or(DURATION, |span| span.0);
    let interval = method.interval.map_or_else(|| default_interval(duration), |span| span.0);
    let warm_up =
        workload.warm_up.or(method.warm_up).map_or(WarmUpPolicy::Auto, |warm_up| warm_up.0);
    check_times(&name, duration, interval, warm_up)?;
    let together = workload.woven_duration.map_or(duration, |span| span.0);
    let slices = slices(method.slice, together, &name, catalogue);
    let is_tried = slices.is_some() && method.slice == Some(SliceLength::Auto);
    let tried = catalogue.slice_kind(&name).filter(|_| is_tried).map(tried_lengths);
    let slice_lengths = tried.unwrap_or_default().to_vec();
    let wanted = |metric: &Metric| metrics.is_none_or(|wanted| wanted.contains(metric));
    Ok(WorkloadPlan {
        metrics: measured.into_iter().filter(wanted).collect(),
        name,
        parameters,
        duration,
        interval,
        warm_up,
        slices,
        slice_lengths,
        stands_for,
    })
}

/// Returns the length of an interval where none is stated: short enough for a short trial.
fn default_interval(duration: Nanos) -> Nanos {
    Nanos((duration.0 / FEWEST_INTERVALS).clamp(SHORTEST_INTERVAL.0, INTERVAL.0))
}

fn check_times(
    workload: &str,
    duration: Nanos,
    interval: Nanos,
    warm_up: WarmUpPolicy,
) -> Result<(), Error> {
    if interval < SHORTEST_INTERVAL {
        return Err(Error::range(
            "interval",
            interval,
            "at least 1ms; a shorter interval would measure the clock",
        ));
    }
    if duration > LONGEST_TRIAL || duration.0 / interval.0 < FEWEST_INTERVALS {
        let allowed =
            format!("a time from {FEWEST_INTERVALS} intervals ({interval} each) to a day");
        return Err(Error::range(&format!("the duration of {workload}"), duration, &allowed));
    }
    match warm_up {
        WarmUpPolicy::Fixed(length) if length.0 > duration.0 / 2 => Err(Error::range(
            &format!("the warm-up of {workload}"),
            length,
            &format!("at most half of the duration ({duration})"),
        )),
        _ => Ok(()),
    }
}

/// Checks that at least one of the requested metrics is measured by a workload.
fn check_metrics(
    plans: &[WorkloadPlan],
    metrics: Option<&[Metric]>,
    catalogue: &dyn Catalogue,
) -> Result<(), Error> {
    let measured: BTreeSet<Metric> =
        plans.iter().filter_map(|plan| catalogue.metrics(&plan.name)).flatten().collect();
    // The tour's own list names the metrics of all its workloads; a run of one of them does not need to have all.
    let served = metrics.is_none_or(|wanted| wanted.iter().any(|metric| measured.contains(metric)));
    match metrics.and_then(<[Metric]>::first) {
        Some(metric) if !served => Err(Error::Metric {
            metric: metric.to_string(),
            measured: measured.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(", "),
        }),
        _ => Ok(()),
    }
}

/// Checks that no workload has the same parameters twice: their trials could not be told apart.
///
/// # Errors
/// Fails with the name of a workload that is there twice.
pub fn check_variants(plans: &[WorkloadPlan]) -> Result<(), Error> {
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

#[cfg(test)]
mod tests {
    use crate::Study;
    use crate::test_data::TestCatalogue;
    use tare_record::{Finding, Metric};

    /// Machine without the program of one workload.
    const NO_TOOL: TestCatalogue = TestCatalogue {
        networks: &["host"],
        workloads: &["tcp-stream", "tool"],
        metrics: &[Metric::Throughput],
    };

    #[test]
    fn what_is_lacked_is_left_out_or_stood_in_for() {
        let plan = |stand_in: &str| {
            let text = format!(
                "[[workload]]\nname = 'tcp-stream'\n[[workload]]\nname = 'tool'\n{stand_in}"
            );
            Study::parse(&text, "test").and_then(|study| study.plan(&NO_TOOL, 7)).unwrap()
        };
        let left_out = plan("");
        let said: Vec<String> = left_out.findings.iter().map(Finding::to_string).collect();
        assert_eq!(said, ["tool was skipped: no tool; get it"]);
        assert!(matches!(left_out.findings[0], Finding::SkippedWorkload(_)));
        assert_eq!(
            (left_out.workloads.len(), &left_out.refused[..]),
            (1, &["tool".to_owned()][..])
        );
        let stood_in = plan("stand-in = { name = 'tcp-stream', parameters = { size = 64 } }");
        let said: Vec<String> = stood_in.findings.iter().map(Finding::to_string).collect();
        assert_eq!(said, ["tcp-stream was measured instead of tool: no tool; get it"]);
        assert_eq!((stood_in.workloads.len(), stood_in.refused.len()), (2, 0));
    }

    #[test]
    fn a_workload_replaces_that_of_the_source_by_name_and_with_the_reason() {
        let text =
            "[[workload]]\nname = 'tcp-stream'\nstands-for = { name = 'tool', reason = 'it dies' }";
        let plan = Study::parse(text, "test").and_then(|study| study.plan(&NO_TOOL, 7)).unwrap();
        assert_eq!(plan.workloads[0].stands_for.as_deref(), Some("tool"));
        let said: Vec<String> = plan.findings.iter().map(Finding::to_string).collect();
        assert_eq!(said, ["tcp-stream was measured instead of tool: it dies"]);
    }
}
