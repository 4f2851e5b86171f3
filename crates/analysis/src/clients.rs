//! What each client of a trial got, and how evenly: figures beside those of all clients together.

use crate::estimate::Figure;
use crate::figures::figures;
use crate::traffic::Traffic;
use std::collections::BTreeMap;
use tare_record::{HistogramError, Metric, Trial, WorkloadPlan};
use tare_stats::describe;

/// What each client of a trial got.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clients {
    /// By client: its figure of every metric that a client can have by itself.
    pub figures: BTreeMap<u32, BTreeMap<Metric, Figure>>,
    /// How evenly the workload's rate was shared among them: which rate, and Jain's index of it.
    pub fairness: Option<(Metric, Figure)>,
}

/// What each client got; nothing where there is only one.
pub(crate) fn clients(
    trial: &Trial,
    traffic: &Traffic<'_>,
    plan: &WorkloadPlan,
    cut: usize,
) -> Result<Option<Clients>, HistogramError> {
    if trial.series.len() < 2 {
        return Ok(None);
    }
    let metrics: Vec<Metric> = plan.metrics.iter().copied().filter(is_a_clients).collect();
    let mut all = BTreeMap::new();
    for (series, alone) in trial.series.iter().zip(traffic.alone()) {
        all.insert(series.client, figures(trial, &alone, &metrics, cut)?);
    }
    let fairness = shared(&metrics).and_then(|rate| Some((rate, fairness(&all, rate)?)));
    Ok(Some(Clients { figures: all, fairness }))
}

/// Whether one of several clients has a figure of its own: the machine's CPU time is nobody's, and a search is one.
fn is_a_clients(metric: &Metric) -> bool {
    use Metric::{CpuBusy, CpuPerGb, CpuPerOp, Ndr, NdrPackets, Pdr, PdrPackets};
    !matches!(metric, CpuBusy | CpuPerGb | CpuPerOp | Ndr | NdrPackets | Pdr | PdrPackets)
        && !metric.of_hardware()
}

/// What clients share: the rate that the workload is about.
pub(crate) fn shared(metrics: &[Metric]) -> Option<Metric> {
    let rates = [Metric::Throughput, Metric::Transactions, Metric::Tps, Metric::Connections];
    rates.into_iter().find(|rate| metrics.contains(rate))
}

/// How evenly a rate was shared.
fn fairness(clients: &BTreeMap<u32, BTreeMap<Metric, Figure>>, rate: Metric) -> Option<Figure> {
    let shares = |read: fn(f64, f64) -> f64| -> Option<Vec<f64>> {
        let share = |figures: &BTreeMap<Metric, Figure>| match figures.get(&rate) {
            Some(&Figure::Value { value, uncut }) => Some(read(value, uncut)),
            _ => None,
        };
        clients.values().map(share).collect()
    };
    let value = describe::fairness(&shares(|value, _| value)?)?;
    let uncut = describe::fairness(&shares(|_, uncut| uncut)?)?;
    Some(Figure::Value { value, uncut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::estimate;
    use crate::made_up::{trial, workload};
    use tare_record::Series;

    /// A trial in which client i had `megabytes[i]` in each of ten intervals of 100 ms.
    fn of(megabytes: &[u64]) -> Trial {
        let mut all = trial("bridge", 0, &[]);
        all.series = (0..)
            .zip(megabytes)
            .map(|(client, &megabytes)| {
                let one = trial("bridge", 0, &[megabytes * 1_000_000; 10]);
                Series::of(client, one.series[0].intervals.clone())
            })
            .collect();
        all
    }

    #[test]
    fn clients_add_up_to_the_aggregate_and_share_as_jain_says() {
        let plan = workload("s", &[Metric::Throughput, Metric::CpuBusy]);
        let found = estimate(&of(&[10, 20, 30]), &plan).unwrap();
        let clients = found.clients.unwrap();
        let value = |figure: &Figure| match figure {
            Figure::Value { value, .. } => *value,
            other => panic!("{other:?}"),
        };
        let each: Vec<f64> =
            clients.figures.values().map(|one| value(&one[&Metric::Throughput])).collect();
        for (one, expected) in each.iter().zip([0.8, 1.6, 2.4]) {
            assert!((one - expected).abs() < 1e-9, "{each:?}");
        }
        let sum: f64 = each.iter().sum();
        assert!((sum - value(&found.figures[&Metric::Throughput])).abs() < 1e-9);
        assert!(clients.figures.values().all(|one| !one.contains_key(&Metric::CpuBusy)));
        let (rate, index) = clients.fairness.unwrap();
        assert_eq!(rate, Metric::Throughput);
        assert!((value(&index) - 36.0 / 42.0).abs() < 1e-9);
    }

    #[test]
    fn one_client_is_the_aggregate_and_silence_is_shared_in_no_way() {
        let plan = workload("s", &[Metric::Throughput]);
        assert_eq!(estimate(&of(&[10]), &plan).unwrap().clients, None);
        let silent = estimate(&of(&[0, 0]), &plan).unwrap().clients.unwrap();
        assert_eq!((silent.figures.len(), silent.fairness), (2, None));
        let latency = estimate(&of(&[1, 1]), &workload("s", &[Metric::LatencyP50])).unwrap();
        assert_eq!(latency.clients.unwrap().fairness, None);
    }
}
