//! Password option and report of sysbench.

use crate::adapters::parse::{first_number, number_after};
use crate::adapters::progress;
use crate::report::ToolReport;
use tare_record::{Interval, LatencyHistogram, Metric};
use tare_traffic::Error;

/// Returns the option file with the password, which sysbench reads from standard input: there no other user can read
/// it.
///
/// # Errors
/// When no quotation marks can hold the password: sysbench knows two kinds, and no way to escape one.
pub(crate) fn password_option(password: &str) -> Result<String, Error> {
    let quote = ['"', '\''].into_iter().find(|quote| !password.contains([*quote, '\n']));
    let quote = quote.ok_or_else(|| {
        Error::Job(
            "cannot pass the password to sysbench: the password has both kinds of quotation marks or a line end: give the user another password"
                .to_owned(),
        )
    })?;
    Ok(format!("mysql-password={quote}{password}{quote}\n"))
}

/// Parses a report of sysbench 1.0 or 1.1, with its interval reports.
pub(crate) fn read(text: &str) -> Result<ToolReport, String> {
    let line = |name: &str| text.lines().map(str::trim).find_map(|line| line.strip_prefix(name));
    let missing = |what: &str| format!("the report has no {what}");
    let transactions = line("transactions:").ok_or_else(|| missing("number of transactions"))?;
    let count = first_number(transactions).ok_or_else(|| missing("number of transactions"))?;
    let mut reading = ToolReport { operations: count as u64, ..ToolReport::default() };
    let per_second = |line: &str| number_after(line, "(");
    reading.add_figure(Metric::Tps, per_second(transactions));
    reading.add_figure(Metric::Errors, line("ignored errors:").and_then(per_second));
    // The report's mean has two decimals of a millisecond. Its sum is more precise.
    let sum = line("sum:").and_then(first_number);
    reading.add_figure(
        Metric::LatencyMean,
        sum.filter(|_| count > 0.0).map(|sum| sum * 1000.0 / count),
    );
    reading.add_figure(
        Metric::LatencyP95,
        line("95th percentile:").and_then(first_number).map(micros),
    );
    reading.add_figure(Metric::LatencyMax, line("max:").and_then(first_number).map(micros));
    if !reading.stated.contains_key(&Metric::Tps) {
        return Err(missing("transactions per second"));
    }
    reading.intervals = intervals(text);
    reading.latencies = histogram(text);
    Ok(reading)
}

fn micros(milliseconds: f64) -> f64 {
    milliseconds * 1000.0
}

/// Parses the histogram of latencies, `       0.030 |****      12` a line: ms, a bar, and a count. Returns `None` if the
/// report has none. Its steps are 1.8 %.
fn histogram(text: &str) -> Option<LatencyHistogram> {
    let bucket = |line: &str| {
        let (milliseconds, bar) = line.split_once('|')?;
        let milliseconds: f64 = milliseconds.trim().parse().ok()?;
        let count: u64 = bar.split_whitespace().last()?.parse().ok()?;
        milliseconds.is_finite().then_some(((milliseconds * 1e6) as u64, count))
    };
    let buckets: Vec<(u64, u64)> = text.lines().filter_map(bucket).collect();
    if buckets.is_empty() { None } else { LatencyHistogram::from_counts(buckets).ok() }
}

/// Parses the interval reports: `[ 2s ] thds: 4 tps: 99529.08 qps: …`.
fn intervals(text: &str) -> Vec<Interval> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix('['));
    progress::intervals_from_rates(
        lines.filter_map(|line| Some((first_number(line)?, number_after(line, "tps:")?))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tare_record::Nanos;

    const V_1_0_20: &str = include_str!("../../fixtures/sysbench/1.0.20.txt");
    const V_1_1: &str = include_str!("../../fixtures/sysbench/1.1.0.txt");

    #[test]
    fn a_report_is_read_to_its_last_digit() {
        let reading = read(V_1_0_20).unwrap();
        let is = |metric, expected: f64| (reading.stated[&metric] - expected).abs() < 1e-6;
        assert_eq!(reading.stated[&Metric::Tps], 98_005.60);
        assert_eq!(reading.stated[&Metric::Errors], 0.0);
        assert!(is(Metric::LatencyP95, 50.0) && is(Metric::LatencyMax, 8_120.0));
        assert!(is(Metric::LatencyMean, 7_948_020.0 / 196_488.0));
        assert_eq!(reading.operations, 196_488);
        let counted: Vec<u64> = reading.intervals.iter().map(|one| one.operations).collect();
        assert_eq!(counted, [96_828, 99_529]);
        assert_eq!(reading.intervals[1].start, Nanos(1_000_000_000));
    }

    #[test]
    fn a_password_is_quoted() {
        assert_eq!(password_option("a b").unwrap(), "mysql-password=\"a b\"\n");
        assert_eq!(password_option("a\" b").unwrap(), "mysql-password='a\" b'\n");
        assert!(password_option("\"'").is_err() && password_option("a\nmysql-host=b").is_err());
    }

    #[test]
    fn a_newer_report_says_the_same() {
        let reading = read(V_1_1).unwrap();
        assert_eq!(reading.stated[&Metric::Tps], 8_201.55);
        assert_eq!(reading.stated[&Metric::Errors], 0.5);
        assert!((reading.stated[&Metric::LatencyP95] - 550.0).abs() < 1e-6);
    }

    #[test]
    fn a_histogram_is_read_where_the_report_has_one() {
        const HISTOGRAM: &str = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.266 |*                                        6
       0.301 |**************************************** 338
       0.330 |                                         3
       8.122 |                                         1
";
        assert_eq!(read(V_1_0_20).unwrap().latencies, None);
        let reading = read(&format!("{HISTOGRAM} \n{V_1_0_20}")).unwrap();
        let latencies = reading.latencies.unwrap();
        assert_eq!(latencies.count(), 348);
        let micros = |share| latencies.quantile(share).map(|nanos| (nanos as f64 / 1e3).round());
        assert_eq!((micros(0.01), micros(0.95)), (Some(266.0), Some(301.0)));
        assert_eq!(micros(1.0), Some(8_122.0));
        assert_eq!(reading.stated, read(V_1_0_20).unwrap().stated);
    }

    #[test]
    fn a_report_without_transactions_is_none() {
        assert!(read("").is_err() && read("transactions: many").is_err());
        assert!(read("transactions: 5").unwrap_err().contains("per second"));
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,60}", cut in 0usize..3000) {
            let _ = read(&text);
            let cut = V_1_0_20.char_indices().nth(cut).map_or(V_1_0_20.len(), |(at, _)| at);
            let _ = read(&V_1_0_20[..cut]);
        }
    }
}
