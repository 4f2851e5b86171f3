//! Units as a source prints them, so that a table has one unit.

use tare_record::Metric;

/// Bits in a byte.
const BITS: f64 = 8.0;

/// Returns the factor from the metric's own unit to a printed one: 1,000 from Gbit/s to `Mb/s`. Returns `None` if the
/// printed unit is unknown or not of this kind.
pub(super) fn factor(metric: Metric, printed: &str) -> Option<f64> {
    if printed == metric.unit() {
        return Some(1.0);
    }
    match metric.unit() {
        "Gbit/s" => rate(printed),
        "1/s" => ["tps", "1/s", "/s"].contains(&printed).then_some(1.0),
        _ => None,
    }
}

/// Returns the factor from Gbit/s to a unit of rates: a prefix, bits or bytes, and `/s` in one of its spellings.
fn rate(printed: &str) -> Option<f64> {
    let amount = ["/sec", "/s", "ps"].iter().find_map(|suffix| printed.strip_suffix(suffix))?;
    let mut chars = amount.chars();
    let prefix = match chars.next()? {
        'G' => 1.0,
        'M' => 1e3,
        'K' | 'k' => 1e6,
        _ => return None,
    };
    match chars.as_str() {
        "b" | "bit" | "bits" => Some(prefix),
        "B" | "byte" | "bytes" | "Byte" | "Bytes" => Some(prefix / BITS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_the_sources_are_known() {
        let of = |printed| factor(Metric::Throughput, printed);
        assert_eq!(["Gbits/s", "Gbits/sec", "Gbit/s"].map(of), [Some(1.0); 3]);
        assert_eq!(["Mb/s", "Mbps", "GB/sec"].map(of), [Some(1e3), Some(1e3), Some(0.125)]);
        assert_eq!(["tps", "furlongs", "", "b/s"].map(of), [None; 4]);
        assert_eq!(factor(Metric::Tps, "tps"), Some(1.0));
        assert_eq!(factor(Metric::LatencyP50, "µs"), Some(1.0));
        assert_eq!(factor(Metric::LatencyP50, "ms"), None);
    }
}
