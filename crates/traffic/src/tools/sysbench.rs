//! What sysbench is told in private, and what it says of a run.

use super::calling::Reading;
use super::progress;
use super::words::{after, leading};
use crate::Error;
use tare_record::{Interval, Metric};

/// What sysbench is told on its standard input, as a file of options: there a password is nobody else's to read.
///
/// # Errors
/// When no quotation marks can hold it: it knows two, and no way to write one inside itself.
pub(crate) fn password(password: &str) -> Result<String, Error> {
    let quote = ['"', '\''].into_iter().find(|quote| !password.contains([*quote, '\n']));
    let quote = quote.ok_or_else(|| {
        Error::Job(
            "sysbench cannot be told this password, which has both kinds of quotation marks or a line's end in it: give the user another one"
                .to_owned(),
        )
    })?;
    Ok(format!("mysql-password={quote}{password}{quote}\n"))
}

/// Reads a report of sysbench 1.0 or 1.1, with its interval reports.
pub(crate) fn read(text: &str) -> Result<Reading, String> {
    let line = |name: &str| text.lines().map(str::trim).find_map(|line| line.strip_prefix(name));
    let missing = |what: &str| format!("its report does not say {what}");
    let transactions = line("transactions:").ok_or_else(|| missing("how many transactions"))?;
    let count = leading(transactions).ok_or_else(|| missing("how many transactions"))?;
    let mut reading = Reading { operations: count as u64, ..Reading::default() };
    let per_second = |line: &str| after(line, "(");
    reading.state(Metric::Tps, per_second(transactions));
    reading.state(Metric::Errors, line("ignored errors:").and_then(per_second));
    // Its mean has two digits of a millisecond, its sum has more.
    let sum = line("sum:").and_then(leading);
    reading.state(Metric::LatencyMean, sum.filter(|_| count > 0.0).map(|sum| sum * 1000.0 / count));
    reading.state(Metric::LatencyP95, line("95th percentile:").and_then(leading).map(micros));
    reading.state(Metric::LatencyMax, line("max:").and_then(leading).map(micros));
    if !reading.stated.contains_key(&Metric::Tps) {
        return Err(missing("how many transactions a second"));
    }
    reading.intervals = intervals(text);
    Ok(reading)
}

fn micros(milliseconds: f64) -> f64 {
    milliseconds * 1000.0
}

/// Its interval reports: `[ 2s ] thds: 4 tps: 99529.08 qps: …`.
fn intervals(text: &str) -> Vec<Interval> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix('['));
    progress::intervals(lines.filter_map(|line| Some((leading(line)?, after(line, "tps:")?))))
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
        assert_eq!(password("a b").unwrap(), "mysql-password=\"a b\"\n");
        assert_eq!(password("a\" b").unwrap(), "mysql-password='a\" b'\n");
        assert!(password("\"'").is_err() && password("a\nmysql-host=b").is_err());
    }

    #[test]
    fn a_newer_report_says_the_same() {
        let reading = read(V_1_1).unwrap();
        assert_eq!(reading.stated[&Metric::Tps], 8_201.55);
        assert_eq!(reading.stated[&Metric::Errors], 0.5);
        assert!((reading.stated[&Metric::LatencyP95] - 550.0).abs() < 1e-6);
    }

    #[test]
    fn a_report_without_transactions_is_none() {
        assert!(read("").is_err() && read("transactions: many").is_err());
        assert!(read("transactions: 5").unwrap_err().contains("a second"));
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
