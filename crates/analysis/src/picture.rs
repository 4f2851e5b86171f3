//! What lies beneath a run's figures: distributions, courses of trials, where CPU time went.

use crate::Error;
use crate::distribution;
use crate::estimate::Estimate;
use crate::group::{Group, groups};
use crate::machine::{Kinds, kinds};
use crate::pair::main_trials;
use crate::traffic::{Count, Traffic};
use tare_record::journal::Journal;
use tare_record::{
    Course, CpuCost, Metric, Nanos, Picture, Plan, ThreadCpu, Trial, Work, WorkloadPlan,
};
use tare_stats::describe::mean;

/// Bits of a byte in units of 10⁹.
const GIGABITS: f64 = 8.0 / 1e9;

/// Everything that is looked at beside a run's figures, over its main phase, in the order shapes × workloads ×
/// networks.
///
/// # Errors
/// When a trial's histograms cannot be added up.
pub fn picture(journal: &Journal) -> Result<Picture, Error> {
    let plan = &journal.run.plan;
    let groups = groups(plan, &main_trials(journal))?;
    Ok(Picture {
        distributions: distribution::of_groups(plan, &groups)?,
        courses: groups.iter().flat_map(|group| courses(plan, group)).collect(),
        costs: groups.iter().filter_map(|group| cost(plan, group)).collect(),
    })
}

/// How the trials of a group went; those that recorded no interval are left out.
fn courses(plan: &Plan, group: &Group<'_>) -> Vec<Course> {
    let course = |(trial, estimate): &(&Trial, Estimate)| {
        let traffic = Traffic::of(trial);
        let workload = &plan.workloads[group.workload];
        let (metric, unit) = rate(workload, traffic.primary());
        let starts = trial.series.first()?.intervals.iter().map(|interval| interval.start);
        let rates = traffic.rates(traffic.primary());
        let points: Vec<(Nanos, f64)> =
            starts.zip(rates).map(|(start, rate)| (start, rate * unit)).collect();
        (!points.is_empty()).then(|| Course {
            label: plan.networks[group.network].label.clone(),
            workload: WorkloadPlan::variant(&plan.workloads, group.workload),
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

/// The metric that a trial is about, and what turns its count per second into the metric's unit.
fn rate(workload: &WorkloadPlan, primary: Count) -> (Metric, f64) {
    match primary {
        Count::Operations if workload.metrics.contains(&Metric::Connections) => {
            (Metric::Connections, 1.0)
        }
        Count::Operations if workload.metrics.contains(&Metric::Tps) => (Metric::Tps, 1.0),
        Count::Operations => (Metric::Transactions, 1.0),
        _ => (Metric::Throughput, GIGABITS),
    }
}

/// CPU time of one trial for a piece of work.
struct Spent {
    kinds: Kinds,
    clients: Option<f64>,
    servers: Option<f64>,
}

/// Where a group's CPU time went; nothing where no trial kept it, or none did any work.
fn cost(plan: &Plan, group: &Group<'_>) -> Option<CpuCost> {
    let first =
        group.trials.iter().map(|(trial, _)| Traffic::of(trial)).find(|one| one.len() > 0)?;
    let (count, work, unit) = match first.primary() {
        Count::Operations => (Count::Operations, Work::Operation, 1.0),
        _ => (Count::Bytes, Work::Gigabyte, 1e9),
    };
    let spent: Vec<Spent> = group
        .trials
        .iter()
        .filter_map(|(trial, estimate)| spent(trial, estimate.cut, count, unit))
        .collect();
    let average = |part: fn(&Spent) -> f64| mean(&spent.iter().map(part).collect::<Vec<_>>());
    let side = |part: fn(&Spent) -> Option<f64>| {
        spent.iter().map(part).collect::<Option<Vec<_>>>().and_then(|all| mean(&all))
    };
    Some(CpuCost {
        label: plan.networks[group.network].label.clone(),
        workload: WorkloadPlan::variant(&plan.workloads, group.workload),
        shape: plan.shapes[group.shape].clone(),
        work,
        user: average(|one| one.kinds.user)?,
        system: average(|one| one.kinds.system)?,
        softirq: average(|one| one.kinds.softirq)?,
        irq: average(|one| one.kinds.irq)?,
        clients: side(|one| one.clients),
        servers: side(|one| one.servers),
        blocks: u32::try_from(spent.len()).unwrap_or(u32::MAX),
    })
}

/// CPU time of a trial's steady part for so much (`unit`) that was counted in it.
fn spent(trial: &Trial, cut: usize, count: Count, unit: f64) -> Option<Spent> {
    let traffic = Traffic::of(trial);
    let kept = cut..traffic.len();
    let work = traffic.sum(kept.clone(), count) as f64 / unit;
    if work <= 0.0 {
        return None;
    }
    let all = kinds(&trial.meanwhile.samples, traffic.span(kept.clone())?)?;
    let side = |threads: &[ThreadCpu]| {
        let kept = threads.get(kept.clone())?;
        let busy: u64 = kept.iter().map(|one| one.user.0 + one.system.0).sum();
        Some(Nanos(busy).as_secs_f64() / work)
    };
    Some(Spent {
        kinds: all.per(work),
        clients: side(&trial.agents.clients),
        servers: side(&trial.agents.servers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{journal, plan, transactions, trial, workload};
    use tare_record::{CpuUse, MachineSample};

    /// One core that spends so many ms of every 100 in programs and in the kernel.
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
        trial.agents.clients = vec![
            ThreadCpu { user: ms(1), system: ms(system / 2) };
            trial.series[0].intervals.len()
        ];
    }

    #[test]
    fn a_trial_is_told_interval_by_interval_with_its_warm_up() {
        let plan = plan(&["host"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let trials = vec![trial("host", 3, &[1_250_000; 10]), trial("host", 4, &[])];
        let courses = picture(&journal(plan, trials)).unwrap().courses;
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
            let course = &picture(&journal(plan, trials)).unwrap().courses[0];
            assert_eq!((course.metric, course.points[5].1), (expected, 500.0));
        }
    }

    #[test]
    fn cpu_time_is_that_of_the_steady_part_for_a_piece_of_work() {
        let plan = plan(&["host", "veth"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        // 1 GB a second: 20 ms in programs and 60 ms in the kernel of every 100 ms, which carry 0.1 GB.
        let mut busy = trial("host", 0, &[100_000_000; 10]);
        machine(&mut busy, 20, 60);
        let unwatched = trial("veth", 0, &[100_000_000; 10]);
        let costs = picture(&journal(plan, vec![busy, unwatched])).unwrap().costs;
        let [cost] = &costs[..] else { panic!("{costs:?}") };
        assert_eq!((cost.work, cost.blocks, cost.softirq), (Work::Gigabyte, 1, 0.0));
        assert!((cost.user - 0.2).abs() < 1e-9 && (cost.system - 0.6).abs() < 1e-9, "{cost:?}");
        assert!((cost.total() - 0.8).abs() < 1e-9);
        assert!((cost.clients.unwrap() - 0.31).abs() < 1e-9 && cost.servers.is_none(), "{cost:?}");
    }
}
