//! Latency figures: cumulative on a tail axis, as densities, and as percentiles side by side.

mod cumulative;
mod density;
mod percentiles;

use super::figure::Figure;
use super::networks::PageNetworks;
use super::subject::Subject;
use tare_record::{LatencyDistribution, LatencyHistogram, LatencyKind, Nanos};

/// Least number of latencies beyond a percentile for which it is shown.
const FEWEST_BEYOND: f64 = 100.0;

/// Latencies of one kind of a subject, of all networks.
struct SubjectLatencies<'a> {
    id: String,
    what: &'static str,
    heading: &'a str,
    each: Vec<&'a LatencyDistribution>,
}

/// Draws the figures of a subject's latencies. Empty if none were measured.
pub(crate) fn latencies(
    subject: &Subject<'_>,
    distributions: &[LatencyDistribution],
    networks: &PageNetworks<'_>,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for which in LatencyKind::ALL {
        let each: Vec<&LatencyDistribution> = distributions
            .iter()
            .filter(|one| one.which == which && subject.matches(&one.workload, &one.shape))
            .filter(|one| one.latencies.count() > 0)
            .collect();
        if each.is_empty() {
            continue;
        }
        let id = format!("{}-{}", which.name().replace('_', "-"), subject.id);
        let of =
            SubjectLatencies { id, what: latency_noun(which), heading: &subject.heading, each };
        figures.push(cumulative::figure(&of, networks));
        figures.push(density::figure(&of, networks));
        figures.push(percentiles::figure(&of, networks));
    }
    figures
}

fn latency_noun(which: LatencyKind) -> &'static str {
    match which {
        LatencyKind::RoundTrip => "round trip",
        LatencyKind::OneWay => "one-way trip",
        LatencyKind::Connect => "connection set-up",
    }
}

/// Returns a percentile, µs. Returns `None` if too few latencies lie beyond it.
fn percentile(latencies: &LatencyHistogram, share: f64) -> Option<f64> {
    let beyond = latencies.count() as f64 * (1.0 - share);
    let nanos = latencies.quantile(share).filter(|_| beyond >= FEWEST_BEYOND)?;
    Some(Nanos(nanos).as_micros_f64())
}

/// Formats a latency in µs.
fn micros(value: f64) -> String {
    super::subject::group_thousands(&crate::number::round_with_interval(value, None).0)
}
