//! CSV of latency distributions, from which any program can draw a density or a cumulative curve.

use crate::Error;
use crate::csv_table::CsvTable;
use tare_record::{LatencyDistribution, Nanos};

const COLUMNS: [&str; 10] = [
    "label",
    "workload",
    "shape",
    "latency",
    "from_us",
    "to_us",
    "count",
    "share",
    "cumulative",
    "density_per_us",
];

/// Writes one row for each bucket of each distribution (RFC 4180, with a heading row): its bounds in µs, its number of
/// latencies, their share of all, the share at or below it, and the share per µs.
///
/// # Errors
/// Fails if a shape cannot be written as JSON.
pub fn density(distributions: &[LatencyDistribution]) -> Result<String, Error> {
    let mut table = CsvTable::with_heads(COLUMNS)?;
    for distribution in distributions {
        let shape = serde_json::to_string(&distribution.shape)?;
        let all = distribution.latencies.count() as f64;
        let mut below = 0;
        for (low, high, count) in distribution.latencies.buckets() {
            below += count;
            let share = count as f64 / all;
            // A bucket holds whole nanoseconds, its first and its last included.
            let width = Nanos(high + 1 - low).as_micros_f64();
            table.push([
                distribution.label.as_str(),
                distribution.workload.as_str(),
                &shape,
                distribution.which.name(),
                &Nanos(low).as_micros_f64().to_string(),
                &Nanos(high + 1).as_micros_f64().to_string(),
                &count.to_string(),
                &share.to_string(),
                &(below as f64 / all).to_string(),
                &(share / width).to_string(),
            ])?;
        }
    }
    table.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::{LatencyHistogram, LatencyKind, Shape};

    #[test]
    fn shares_add_up_and_the_density_is_per_microsecond() {
        let latencies = LatencyHistogram::from_nanos([1_000, 1_000, 1_001, 3_000]).unwrap();
        let one = LatencyDistribution {
            label: "host".to_owned(),
            workload: "tcp-rr".to_owned(),
            shape: Shape::default(),
            which: LatencyKind::RoundTrip,
            latencies,
        };
        let text = density(&[one]).unwrap();
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<Vec<String>> = reader
            .records()
            .map(|row| row.unwrap().iter().skip(3).map(str::to_owned).collect())
            .collect();
        assert_eq!(rows[0], ["latency", "1", "1.001", "2", "0.5", "0.5", "500"]);
        assert_eq!(rows[1][..3], ["latency", "1.001", "1.002"]);
        assert_eq!(rows.last().unwrap()[5], "1");
    }
}
