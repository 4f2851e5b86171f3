//! Figures of each client of a trial, and the fairness among the clients, beside the figures of all clients together.

use crate::estimate::figures::figures;
use crate::estimate::metric_figure::MetricFigure;
use crate::select::trial_traffic::TrialTraffic;
use std::collections::BTreeMap;
use tare_record::{HistogramError, Metric, MetricFormula, Trial, WorkloadPlan};
use tare_stats::describe;

/// Figures of each client of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientFigures {
    /// Figures by client, for every metric that a single client can have.
    pub figures: BTreeMap<u32, BTreeMap<Metric, MetricFigure>>,
    /// Fairness among the clients: the shared rate, and Jain's index of it. `None` if the workload has no such rate, or
    /// an index cannot be computed.
    pub fairness: Option<(Metric, MetricFigure)>,
}

/// Computes the figures of each client. Returns `None` if there is only one client.
pub(crate) fn client_figures(
    trial: &Trial,
    traffic: &TrialTraffic<'_>,
    plan: &WorkloadPlan,
    cut: usize,
) -> Result<Option<ClientFigures>, HistogramError> {
    if trial.series.len() < 2 {
        return Ok(None);
    }
    let metrics: Vec<Metric> = plan.metrics.iter().copied().filter(is_client_metric).collect();
    let mut all = BTreeMap::new();
    for (series, alone) in trial.series.iter().zip(traffic.per_client()) {
        all.insert(series.client, figures(trial, &alone, &metrics, cut)?);
    }
    let fairness = shared_rate(&metrics).and_then(|rate| Some((rate, rate_fairness(&all, rate)?)));
    Ok(Some(ClientFigures { figures: all, fairness }))
}

/// Returns `true` if one of several clients can have a figure of this metric: the machine's CPU time belongs to no
/// client, and a search has one result.
fn is_client_metric(metric: &Metric) -> bool {
    use MetricFormula::{CpuBusy, CpuPer, EventsPer, Search, SoftirqCore};
    !matches!(metric.formula(), CpuBusy | SoftirqCore | CpuPer { .. } | EventsPer(..) | Search(..))
}

/// Returns the rate that clients share: the primary rate of the workload.
pub(crate) fn shared_rate(metrics: &[Metric]) -> Option<Metric> {
    let rates = [Metric::Throughput, Metric::Transactions, Metric::Tps, Metric::Connections];
    rates.into_iter().find(|rate| metrics.contains(rate))
}

/// Computes the fairness of a rate. Returns `None` if a client lacks the rate, or if all rates are 0.
fn rate_fairness(
    clients: &BTreeMap<u32, BTreeMap<Metric, MetricFigure>>,
    rate: Metric,
) -> Option<MetricFigure> {
    let shares = |read: fn(f64, f64) -> f64| -> Option<Vec<f64>> {
        let share = |figures: &BTreeMap<Metric, MetricFigure>| match figures.get(&rate) {
            Some(&MetricFigure::Value { value, uncut }) => Some(read(value, uncut)),
            _ => None,
        };
        clients.values().map(share).collect()
    };
    let value = describe::fairness(&shares(|value, _| value)?)?;
    let uncut = describe::fairness(&shares(|_, uncut| uncut)?)?;
    Some(MetricFigure::Value { value, uncut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::estimate;
    use crate::test_data::{trial, workload};
    use tare_record::Series;

    /// Returns a trial in which client i carries `megabytes[i]` in each of ten intervals of 100 ms.
    fn trial_of_clients(megabytes: &[u64]) -> Trial {
        let mut all = trial("bridge", 0, &[]);
        all.series = (0..)
            .zip(megabytes)
            .map(|(client, &megabytes)| {
                let one = trial("bridge", 0, &[megabytes * 1_000_000; 10]);
                Series::new(client, one.series[0].intervals.clone())
            })
            .collect();
        all
    }

    #[test]
    fn clients_add_up_to_the_aggregate_and_share_as_jain_says() {
        let machine = [Metric::CpuBusy, Metric::SoftirqCore];
        let plan = workload("s", &[&[Metric::Throughput][..], &machine].concat());
        let found = estimate(&trial_of_clients(&[10, 20, 30]), &plan).unwrap();
        let clients = found.clients.unwrap();
        let value = |figure: &MetricFigure| match figure {
            MetricFigure::Value { value, .. } => *value,
            other => panic!("{other:?}"),
        };
        let each: Vec<f64> =
            clients.figures.values().map(|one| value(&one[&Metric::Throughput])).collect();
        for (one, expected) in each.iter().zip([0.8, 1.6, 2.4]) {
            assert!((one - expected).abs() < 1e-9, "{each:?}");
        }
        let sum: f64 = each.iter().sum();
        assert!((sum - value(&found.figures[&Metric::Throughput])).abs() < 1e-9);
        let has_any = |one: &BTreeMap<Metric, _>| machine.iter().any(|of| one.contains_key(of));
        assert!(!clients.figures.values().any(has_any), "{machine:?}");
        let (rate, index) = clients.fairness.unwrap();
        assert_eq!(rate, Metric::Throughput);
        assert!((value(&index) - 36.0 / 42.0).abs() < 1e-9);
    }

    #[test]
    fn one_client_is_the_aggregate_and_silence_is_shared_in_no_way() {
        let plan = workload("s", &[Metric::Throughput]);
        assert_eq!(estimate(&trial_of_clients(&[10]), &plan).unwrap().clients, None);
        let silent = estimate(&trial_of_clients(&[0, 0]), &plan).unwrap().clients.unwrap();
        assert_eq!((silent.figures.len(), silent.fairness), (2, None));
        let latency =
            estimate(&trial_of_clients(&[1, 1]), &workload("s", &[Metric::LatencyP50])).unwrap();
        assert_eq!(latency.clients.unwrap().fairness, None);
    }
}
