//! Latency distributions drawn in a terminal, for `tare report --plot latency`.

use crate::latency_bins::LatencyBins;
use crate::scale::{format_tick, log_ticks};
use crate::shape_facts::SharedFacts;
use crate::style::{Style, Tone};
use crate::text::{one_line, width, wrap};
use std::fmt::Write as _;
use tare_record::{LatencyDistribution, LatencyKind, Nanos};

/// Block characters of one to eight eighths of a line.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Least width of a ridge, columns.
const NARROWEST: usize = 20;

/// Quantiles to the right of a ridge, and the width of each, columns.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];
const FIGURE: usize = 9;

/// Draws the distributions as ridges of block characters, a row for each network. Distributions of one kind share a
/// logarithmic axis.
#[must_use]
pub fn plot(distributions: &[LatencyDistribution], style: &Style) -> String {
    let measured: Vec<&LatencyDistribution> =
        distributions.iter().filter(|one| one.latencies.count() > 0).collect();
    if measured.is_empty() {
        return "No latencies were measured.\n".to_owned();
    }
    let together = |a: &&LatencyDistribution, b: &&LatencyDistribution| {
        (&a.workload, &a.shape, a.which.name()) == (&b.workload, &b.shape, b.which.name())
    };
    let mut groups: Vec<Vec<&LatencyDistribution>> = Vec::new();
    for one in &measured {
        match groups.iter_mut().find(|group| together(&group[0], one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let shared = SharedFacts::find(measured.iter().map(|one| &one.shape));
    let mut out = String::new();
    for group in &groups {
        let heading = heading(group[0], &shared);
        let _ = writeln!(out, "{}\n", style.paint(Tone::Strong, &one_line(&heading)));
        let _ = writeln!(out, "{}", ridges(group, *style));
    }
    let reading = "density of latencies over all blocks: each row is scaled to its own peak · the axis is \
                   logarithmic · – fewer than 100 samples beyond it";
    let _ = writeln!(out, "{}", wrap(reading, usize::from(style.width)));
    out
}

fn heading(one: &LatencyDistribution, shared: &SharedFacts) -> String {
    let what = match one.which {
        LatencyKind::RoundTrip => "round trips, µs",
        LatencyKind::OneWay => "from client to server, µs",
        LatencyKind::Connect => "connection set-up, µs",
    };
    let mut words = vec![one.workload.replace(',', ", ")];
    words.extend(shared.differing(&one.shape));
    words.push(what.to_owned());
    words.join(" · ")
}

/// Draws a row for each network, and the axis below.
fn ridges(group: &[&LatencyDistribution], style: Style) -> String {
    let names = group.iter().map(|one| width(&one_line(&one.label))).max().unwrap_or(0) + 2;
    let figures = FIGURE * QUANTILES.len();
    let columns = usize::from(style.width).saturating_sub(names + figures).max(NARROWEST);
    let bins = LatencyBins::covering(group, columns);
    let mut out = " ".repeat(names + columns);
    for (name, _) in QUANTILES {
        let _ = write!(out, "{name:>FIGURE$}");
    }
    out.push('\n');
    for one in group {
        let name = one_line(&one.label);
        let blank = " ".repeat(names - width(&name));
        let _ =
            write!(out, "{}{blank}{}", style.paint(Tone::Strong, &name), ridge(&bins.shares(one)));
        for (_, share) in QUANTILES {
            let _ = write!(out, "{:>FIGURE$}", quantile(one, share));
        }
        out.push('\n');
    }
    let axis = axis(&bins);
    let _ = writeln!(out, "{}{}", " ".repeat(names), style.paint(Tone::Faint, axis.trim_end()));
    out
}

/// Draws shares as blocks. The largest share has the height of a line.
fn ridge(shares: &[f64]) -> String {
    let most = shares.iter().copied().fold(0.0, f64::max);
    let block = |share: &f64| {
        let eighths = (share / most * EIGHTHS.len() as f64).ceil() as usize;
        // Every share above 0 is visible.
        eighths.checked_sub(1).map_or(' ', |at| EIGHTHS[at.min(EIGHTHS.len() - 1)])
    };
    shares.iter().map(block).collect()
}

/// Draws round latencies below their positions on the axis.
fn axis(bins: &LatencyBins) -> String {
    let mut line = String::new();
    for value in log_ticks(bins.from, bins.to, (bins.count / 10).max(2) as u32) {
        let words = format_tick(value);
        let at = bins.position(value).round().max(0.0) as usize;
        let begin = at.saturating_sub(width(&words) / 2);
        let used = width(&line);
        if (used == 0 || begin > used) && begin + width(&words) <= bins.count {
            line.push_str(&" ".repeat(begin - used));
            line.push_str(&words);
        }
    }
    line
}

fn quantile(one: &LatencyDistribution, share: f64) -> String {
    let beyond = one.latencies.count() as f64 * (1.0 - share);
    match one.latencies.quantile(share) {
        Some(nanos) if beyond >= 100.0 => {
            crate::number::round_with_interval(Nanos(nanos).as_micros_f64(), None).0
        }
        _ => crate::columns::NOTHING.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency_bins::tests::distribution;

    #[test]
    fn ridges_stand_on_one_axis_with_their_percentiles() {
        let fast: Vec<u64> = (0..2_000).map(|n| 20_000 + n * 5).collect();
        let slow: Vec<u64> = (0..2_000).map(|n| 60_000 + n * 20).collect();
        let all = [distribution("host", &fast), distribution("bridge", &slow)];
        let text = plot(&all, &Style { width: 80, colour: false });
        insta::assert_snapshot!(text);
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }

    #[test]
    fn no_latencies_are_said() {
        assert_eq!(plot(&[], &Style::PLAIN), "No latencies were measured.\n");
        assert_eq!(
            plot(&[distribution("host", &[])], &Style::PLAIN),
            "No latencies were measured.\n"
        );
    }
}
