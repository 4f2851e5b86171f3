//! Line on the last trial: its intervals as a sparkline, and its figure.

use tare_record::Trial;

/// Sparkline characters in eighths of a line, the lowest first.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Largest width of a sparkline, columns.
const COLUMNS: usize = 32;

/// Draws the intervals of a trial.
pub(super) fn trial_sparkline(trial: &Trial) -> String {
    sparkline(&rates(trial))
}

/// Returns the operations completed by all clients in each interval, or the bytes received if there are no operations.
fn rates(trial: &Trial) -> Vec<f64> {
    let intervals = trial.series.iter().map(|series| series.intervals.len()).min().unwrap_or(0);
    let sum = |of: fn(&tare_record::Interval) -> u64| -> Vec<f64> {
        let at =
            |at: usize| trial.series.iter().map(|series| of(&series.intervals[at])).sum::<u64>();
        (0..intervals).map(|n| at(n) as f64).collect()
    };
    let operations = sum(|interval| interval.operations);
    if operations.iter().any(|count| *count > 0.0) {
        operations
    } else {
        sum(|interval| interval.bytes)
    }
}

/// Draws values as a sparkline that starts at 0 and ends at the largest value. Neighbours are averaged if there are too
/// many values.
fn sparkline(values: &[f64]) -> String {
    let together = values.len().div_ceil(COLUMNS).max(1);
    let means: Vec<f64> = values
        .chunks(together)
        .map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64)
        .collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let block = |value: &f64| {
        let eighths = if most > 0.0 { (value / most * 8.0).ceil() as usize } else { 0 };
        EIGHTHS[eighths.saturating_sub(1).min(EIGHTHS.len() - 1)]
    };
    means.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_is_seen() {
        let mut bytes = [80u64; 64];
        bytes[..8].fill(10);
        assert_eq!(
            sparkline(&bytes.map(|b| b as f64)),
            format!("{}{}", "▁".repeat(4), "█".repeat(28))
        );
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }
}
