//! Latencies: cumulative on a tail axis, as densities, and as percentiles side by side.

mod cumulative;
mod density;
mod percentiles;

use super::figure::Figure;
use super::networks::Networks;
use super::subject::Subject;
use tare_record::{Distribution, Latency, LatencyHistogram, Nanos};

/// The fewest latencies beyond a percentile for which it is shown.
const FEWEST_BEYOND: f64 = 100.0;

/// All latencies of one kind of a subject.
struct Latencies<'a> {
    id: String,
    what: &'static str,
    heading: &'a str,
    each: Vec<&'a Distribution>,
}

/// The figures of a subject's latencies; none where none were measured.
pub(crate) fn latencies(
    subject: &Subject<'_>,
    distributions: &[Distribution],
    networks: &Networks<'_>,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for which in Latency::ALL {
        let each: Vec<&Distribution> = distributions
            .iter()
            .filter(|one| one.which == which && subject.is(&one.workload, &one.shape))
            .filter(|one| one.latencies.count() > 0)
            .collect();
        if each.is_empty() {
            continue;
        }
        let id = format!("{}-{}", which.name().replace('_', "-"), subject.id);
        let of = Latencies { id, what: what(which), heading: &subject.heading, each };
        figures.push(cumulative::figure(&of, networks));
        figures.push(density::figure(&of, networks));
        figures.push(percentiles::figure(&of, networks));
    }
    figures
}

fn what(which: Latency) -> &'static str {
    match which {
        Latency::RoundTrip => "round trip",
        Latency::OneWay => "way from client to server",
        Latency::Connect => "connection set-up",
    }
}

/// A percentile, µs; nothing where too few latencies lie beyond it.
fn percentile(latencies: &LatencyHistogram, share: f64) -> Option<f64> {
    let beyond = latencies.count() as f64 * (1.0 - share);
    let nanos = latencies.quantile(share).filter(|_| beyond >= FEWEST_BEYOND)?;
    Some(Nanos(nanos).as_micros_f64())
}

/// A latency as it is read.
fn micros(value: f64) -> String {
    super::subject::grouped(&crate::number::measured(value, None).0)
}
