//! Check of a listener's report: a listener may belong to a stranger, and its report goes into the record.

use tare_traffic::{SideReport, TrialTask};

/// Most parameters that a report states: the job's own, and what the kernel granted.
const MAX_PARAMETERS: usize = 64;

/// Most findings of a report.
const MAX_FINDINGS: usize = 64;

/// Checks that a report can be of this trial. Returns what is wrong with it in one line.
pub(crate) fn check_report(report: &SideReport, task: &TrialTask) -> Result<(), String> {
    let intervals = task.duration.0 / task.interval.0.max(1);
    let most = usize::try_from(intervals).unwrap_or(usize::MAX);
    let is_longest = |count: usize| count <= most;
    let problem = if report.series.len() > 1 || report.series.iter().any(|one| one.client != 0) {
        "it has records of other clients"
    } else if !report.series.iter().all(|one| is_longest(one.intervals.len()))
        || !is_longest(report.cpu_by_interval.len())
    {
        "it has more intervals than the trial"
    } else if report.series.iter().any(|one| !one.stated.is_empty()) || report.search.is_some() {
        "it has figures of another workload"
    } else if report.parameters.len() > MAX_PARAMETERS || report.findings.len() > MAX_FINDINGS {
        "it has too many parameters or findings"
    } else {
        return Ok(());
    };
    Err(format!(
        "the report does not belong to the trial: {problem}: use the same tare on both machines"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::finding::PortExhaustion;
    use tare_record::{Finding, Interval, Metric, Nanos, RateSearch, Series, ThreadCpu};

    #[test]
    fn a_report_of_something_else_is_refused() {
        let task = TrialTask::single_flow("tcp-rr", Default::default(), Nanos(30), Nanos(10));
        let series = |client, count| Series::new(client, vec![Interval::default(); count]);
        let good = SideReport { series: vec![series(0, 3)], ..SideReport::default() };
        assert_eq!(check_report(&good, &task), Ok(()));
        let stated = Series { stated: [(Metric::Throughput, 1.0)].into(), ..series(0, 1) };
        let many = (0..65).map(|number| (number.to_string(), number.into())).collect();
        for (bad, word) in [
            (SideReport { series: vec![series(1, 1)], ..good.clone() }, "other clients"),
            (SideReport { series: vec![series(0, 1); 2], ..good.clone() }, "other clients"),
            (SideReport { series: vec![series(0, 4)], ..good.clone() }, "more intervals"),
            (
                SideReport { cpu_by_interval: vec![ThreadCpu::default(); 4], ..good.clone() },
                "more intervals",
            ),
            (SideReport { series: vec![stated], ..good.clone() }, "another workload"),
            (
                SideReport { search: Some(RateSearch::default()), ..good.clone() },
                "another workload",
            ),
            (SideReport { parameters: many, ..good.clone() }, "too many"),
            (
                SideReport {
                    findings: vec![Finding::PortExhaustion(PortExhaustion { times: 1 }); 65],
                    ..good
                },
                "too many",
            ),
        ] {
            let problem = check_report(&bad, &task).unwrap_err();
            assert!(problem.contains(word), "{problem}");
        }
    }
}
