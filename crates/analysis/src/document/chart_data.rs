//! Chart data of a run: distributions, timelines of trials, parts of the CPU time.

use crate::Error;
use crate::compare::block_pairs::main_trials;
use crate::count::count as block_count;
use crate::document::distribution;
use crate::estimate::TrialEstimate;
use crate::estimate::machine_usage::{CpuTimeByKind, cpu_time_within};
use crate::estimate::trial_group::{TrialGroup, group_trials};
use crate::select::trial_traffic::TrialTraffic;
use tare_record::journal::Journal;
use tare_record::{
    ChartData, CpuCost, GIGABITS, Metric, Nanos, Plan, SaturatingSum as _, ThreadCpu, TrafficCount,
    Trial, TrialTimeline, WorkUnit, WorkloadPlan,
};
use tare_stats::describe::mean;

/// Returns the chart data of a run's main phase, in the order shapes × workloads × networks.
///
/// # Errors
/// Returns an error if a trial's histograms cannot be added up.
pub fn chart_data(journal: &Journal) -> Result<ChartData, Error> {
    let plan = &journal.run.plan;
    let groups = group_trials(plan, &main_trials(journal))?;
    Ok(ChartData {
        distributions: distribution::group_distributions(plan, &groups)?,
        courses: groups.iter().flat_map(|group| trial_timelines(plan, group)).collect(),
        costs: groups.iter().filter_map(|group| cpu_cost(plan, group)).collect(),
    })
}

/// Returns the timelines of a group's trials; trials that recorded no interval are left out.
fn trial_timelines(plan: &Plan, group: &TrialGroup<'_>) -> Vec<TrialTimeline> {
    let course = |(trial, estimate): &(&Trial, TrialEstimate)| {
        let traffic = TrialTraffic::from_trial(trial);
        let workload = &plan.workloads[group.workload];
        let (metric, unit) = primary_metric(workload, traffic.primary());
        let starts = trial.series.first()?.intervals.iter().map(|interval| interval.start);
        let rates = traffic.rates(traffic.primary());
        let points: Vec<(Nanos, f64)> =
            starts.zip(rates).map(|(start, rate)| (start, rate * unit)).collect();
        (!points.is_empty()).then(|| TrialTimeline {
            label: plan.networks[group.network].label.clone(),
            workload: WorkloadPlan::distinct_name(&plan.workloads, group.workload),
            shape: plan.shapes[group.shape].clone(),
            block: trial.block,
            metric,
            points,
            cut: estimate.cut,
            settled: estimate.settled,
        })
    };
    group.trials.iter().filter_map(course).collect()
}

/// Returns the primary metric of a trial, and the factor from its count per second to the metric's unit.
fn primary_metric(workload: &WorkloadPlan, primary: TrafficCount) -> (Metric, f64) {
    match primary {
        TrafficCount::Operations if workload.metrics.contains(&Metric::Connections) => {
            (Metric::Connections, 1.0)
        }
        TrafficCount::Operations if workload.metrics.contains(&Metric::Tps) => (Metric::Tps, 1.0),
        TrafficCount::Operations => (Metric::Transactions, 1.0),
        _ => (Metric::Throughput, GIGABITS),
    }
}

/// CPU time of one trial for a piece of work.
struct CpuTimePerWork {
    kinds: CpuTimeByKind,
    clients: Option<f64>,
    servers: Option<f64>,
}

/// Returns the parts of a group's CPU time. Returns `None` if no trial recorded it, or none did any work.
fn cpu_cost(plan: &Plan, group: &TrialGroup<'_>) -> Option<CpuCost> {
    let first = group
        .trials
        .iter()
        .map(|(trial, _)| TrialTraffic::from_trial(trial))
        .find(|one| one.len() > 0)?;
    let (count, work, unit) = match first.primary() {
        TrafficCount::Operations => (TrafficCount::Operations, WorkUnit::Operation, 1.0),
        _ => (TrafficCount::Bytes, WorkUnit::Gigabyte, 1e9),
    };
    let spent: Vec<CpuTimePerWork> = group
        .trials
        .iter()
        .filter_map(|(trial, estimate)| cpu_time_per_work(trial, estimate.cut, count, unit))
        .collect();
    let average =
        |part: fn(&CpuTimePerWork) -> f64| mean(&spent.iter().map(part).collect::<Vec<_>>());
    let side = |part: fn(&CpuTimePerWork) -> Option<f64>| {
        spent.iter().map(part).collect::<Option<Vec<_>>>().and_then(|all| mean(&all))
    };
    Some(CpuCost {
        label: plan.networks[group.network].label.clone(),
        workload: WorkloadPlan::distinct_name(&plan.workloads, group.workload),
        shape: plan.shapes[group.shape].clone(),
        work,
        user: average(|one| one.kinds.user)?,
        system: average(|one| one.kinds.system)?,
        softirq: average(|one| one.kinds.softirq)?,
        irq: average(|one| one.kinds.irq)?,
        clients: side(|one| one.clients),
        servers: side(|one| one.servers),
        blocks: block_count(spent.len()),
    })
}

/// Returns the CPU time of a trial's steady part for every `unit` counts.
fn cpu_time_per_work(
    trial: &Trial,
    cut: usize,
    count: TrafficCount,
    unit: f64,
) -> Option<CpuTimePerWork> {
    let traffic = TrialTraffic::from_trial(trial);
    let kept = cut..traffic.len();
    let work = traffic.sum(kept.clone(), count) as f64 / unit;
    if work <= 0.0 {
        return None;
    }
    let all = cpu_time_within(&trial.meanwhile.samples, traffic.span(kept.clone())?)?;
    let side = |threads: &[ThreadCpu]| {
        let kept = threads.get(kept.clone())?;
        let busy: u64 = kept.iter().map(|one| one.user.0 + one.system.0).saturating_sum();
        Some(Nanos(busy).as_secs_f64() / work)
    };
    Some(CpuTimePerWork {
        kinds: all.divided_by(work),
        clients: side(&trial.agents.clients),
        servers: side(&trial.agents.servers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{journal, plan, transactions, trial, workload};
    use tare_record::{CpuUse, MachineSample};

    /// Adds samples of one core that spends so many ms of every 100 in programs and in the kernel.
    fn machine(trial: &mut Trial, user: u64, system: u64) {
        let ms = |n: u64| Nanos(n * 1_000_000);
        trial.meanwhile.samples = (0..=10)
            .map(|at| MachineSample {
                at: ms(at * 100),
                cores: vec![CpuUse {
                    user: ms(at * user),
                    system: ms(at * system),
                    idle: ms(at * (100 - user - system)),
                    ..CpuUse::default()
                }],
            })
            .collect();
        trial.agents.clients =
            vec![
                ThreadCpu { user: ms(1), system: ms(system / 2), ..ThreadCpu::default() };
                trial.series[0].intervals.len()
            ];
    }

    #[test]
    fn a_trial_is_told_interval_by_interval_with_its_warm_up() {
        let plan = plan(&["host"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let trials = vec![trial("host", 3, &[1_250_000; 10]), trial("host", 4, &[])];
        let courses = chart_data(&journal(plan, trials)).unwrap().courses;
        let [course] = &courses[..] else { panic!("{courses:?}") };
        assert_eq!((course.block, course.metric, course.cut), (3, Metric::Throughput, 1));
        assert_eq!(course.points.len(), 10);
        assert_eq!(course.points[2].0, Nanos(200_000_000));
        assert!((course.points[2].1 - 0.1).abs() < 1e-12);
    }

    #[test]
    fn what_transactions_are_called_is_the_workloads_to_say() {
        for (asked, expected) in [
            (Metric::Connections, Metric::Connections),
            (Metric::Tps, Metric::Tps),
            (Metric::LatencyP50, Metric::Transactions),
        ] {
            let plan = plan(&["host"], vec![workload("tcp-rr", &[asked])]);
            let trials = vec![transactions("host", 0, &vec![vec![1_000; 50]; 10])];
            let course = &chart_data(&journal(plan, trials)).unwrap().courses[0];
            assert_eq!((course.metric, course.points[5].1), (expected, 500.0));
        }
    }

    #[test]
    fn cpu_time_is_that_of_the_steady_part_for_a_piece_of_work() {
        let plan = plan(&["host", "veth"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        // 1 GB a second: of every 100 ms, which carry 0.1 GB, 20 ms are in programs and 60 ms in the kernel.
        let mut busy = trial("host", 0, &[100_000_000; 10]);
        machine(&mut busy, 20, 60);
        let unwatched = trial("veth", 0, &[100_000_000; 10]);
        let costs = chart_data(&journal(plan, vec![busy, unwatched])).unwrap().costs;
        let [cost] = &costs[..] else { panic!("{costs:?}") };
        assert_eq!((cost.work, cost.blocks, cost.softirq), (WorkUnit::Gigabyte, 1, 0.0));
        assert!((cost.user - 0.2).abs() < 1e-9 && (cost.system - 0.6).abs() < 1e-9, "{cost:?}");
        assert!((cost.total() - 0.8).abs() < 1e-9);
        assert!((cost.clients.unwrap() - 0.31).abs() < 1e-9 && cost.servers.is_none(), "{cost:?}");
    }
}
