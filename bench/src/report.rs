//! Markdown report: for every row the ratio with its confidence interval, and the figures of every tool.

use crate::blocks::BenchResults;
use crate::checks::{RatioOutcome, judge};
use crate::contenders::{ContenderRuns, RowResult};
use crate::endpoints::{self, EndpointTimes};
use crate::network::socket_buffer;
use crate::peers::{PEERS, PeerTool, installed};
use crate::race::{RaceRules, compare};
use crate::round_scores::half_width;
use crate::rows::{ComparedFigure, RatioBound, RatioCheck};
use crate::settings::BenchSettings;
use crate::traffic::TrafficKind;
use std::fmt::Write as _;
use std::process::Command;
use tare_observe::environment;

/// Description of the machine and the tools.
pub(crate) struct MachineFacts {
    pub(crate) cores: Vec<u32>,
    lines: Vec<String>,
}

impl MachineFacts {
    /// Reads the properties of the machine and the versions of the tools.
    pub(crate) fn read() -> Self {
        let read = environment::read();
        let cpu = read.cpu.unwrap_or_else(|| "unknown CPU".to_owned());
        let kind = read.virtualisation.map_or_else(String::new, |kind| format!(", {kind}"));
        let congestion = read.congestion_control.unwrap_or_else(|| "unknown".to_owned());
        let right = if read.root { "as root" } else { "as an ordinary user" };
        let mut lines = vec![
            format!("{} cores, {cpu}{kind}", read.cores.len()),
            format!("kernel {}, the host's TCP congestion control {congestion}", read.kernel),
            format!("{right}; peers may ask for socket buffers of {} KiB", socket_buffer() >> 10),
        ];
        if let Some([one, ..]) = read.load {
            lines.push(format!("load average at the beginning {one:.2}"));
        }
        lines.push(format!("tare {}; {}", read.tare, versions()));
        Self { cores: read.cores, lines }
    }
}

/// Lists the versions that the peers print.
fn versions() -> String {
    let told: Vec<String> = PEERS.iter().map(|&peer| version(peer)).collect();
    told.join("; ")
}

fn version(peer: &dyn PeerTool) -> String {
    let name = peer.name();
    let Some(program) = installed(peer) else {
        return format!("{name} not installed");
    };
    let (_, arguments) = peer.program();
    if arguments.is_empty() {
        return format!("{name} of unknown version");
    }
    let said = Command::new(program).args(arguments).output();
    let text = said.map(|said| [said.stdout, said.stderr].concat()).unwrap_or_default();
    format!("{name} {}", number(&String::from_utf8_lossy(&text)))
}

/// Returns the first word with a digit and a dot: a version number.
fn number(text: &str) -> String {
    let is_version =
        |word: &&str| word.contains('.') && word.contains(|letter: char| letter.is_ascii_digit());
    let word = text
        .split(|letter: char| letter.is_whitespace() || "-,_#()".contains(letter))
        .find(is_version);
    word.unwrap_or("of unknown version").to_owned()
}

/// Writes the whole report.
pub(crate) fn markdown(
    settings: &BenchSettings,
    machine: &MachineFacts,
    results: &BenchResults,
) -> String {
    let rules = settings.rules();
    let mut text = String::from("# tare beside its peers\n\n");
    introduction(&mut text, settings, &rules);
    for line in &machine.lines {
        let _ = writeln!(text, "- {line}");
    }
    let controls: Vec<&str> = results.congestion.iter().map(String::as_str).collect();
    let _ = writeln!(text, "- TCP congestion control of all tools: {}", controls.join(", "));
    text.push_str("\n## Ratios\n\n");
    text.push_str(
        "| row | traffic | network | against | ratio [95 %] | ± | n | to reach | result |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for outcome in &results.outcomes {
        for &check in outcome.row.checks {
            ratio_line(&mut text, outcome, check, &rules);
        }
    }
    if let Some(endpoints) = &results.endpoints {
        endpoints_line(&mut text, endpoints);
    }
    let _ = writeln!(text, "\n{}", widths(results, settings));
    text.push_str(
        "\n## Figures\n\nMedians over all runs, the least and the most. A contender that was clearly behind the best of its side, \
         or not among the best three, left after the block that is named.\n\n",
    );
    text.push_str("| row | network | tool | figure | unit | lost | CPU s/GB | runs | left |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for outcome in &results.outcomes {
        for tally in &outcome.tallies {
            figure_line(&mut text, outcome, tally, &rules);
        }
    }
    text
}

/// Writes how the results were made.
fn introduction(text: &mut String, settings: &BenchSettings, rules: &RaceRules) {
    let _ = writeln!(
        text,
        "Made by `make bench`: at most {} blocks, each run of a tool {} s, order by seed {}. The first {} blocks ran \
         every\ncontender once and chose tare's try and the peer of each row. Ratios are the figure of the one over that of \
         the other, from\nthe n later blocks alone, in rounds, with their 95 % intervals. A row ended once its intervals were ± \
         {} % or narrower (±: how\nfar the interval reaches above the ratio). `within noise` says that the interval holds \
         the bound. Each row's tools all run on\nthe same cores.\n",
        settings.blocks,
        settings.seconds,
        settings.seed,
        rules.selection_blocks,
        settings.precision
    );
}

/// Lists the ratios whose intervals are wider than requested.
fn widths(results: &BenchResults, settings: &BenchSettings) -> String {
    let rules = settings.rules();
    let (mut wide, mut narrow) = (Vec::new(), 0);
    for outcome in &results.outcomes {
        for &check in outcome.row.checks {
            let Some(compared) = compare(outcome, check, &rules) else {
                continue;
            };
            let half = half_width(&compared.ratio);
            if half <= rules.precision {
                narrow += 1;
            } else {
                let (row, network) = (outcome.row.name, &outcome.network);
                let against = compared.peer.name();
                wide.push(format!(
                    "{row} over {network} against {against} (± {:.1} %)",
                    100.0 * half
                ));
            }
        }
    }
    let wanted = settings.precision;
    match wide.as_slice() {
        [] if narrow == 0 => "No tools were compared.".to_owned(),
        [] => format!("All {narrow} ratios of tools are ± {wanted} % or narrower."),
        _ => format!(
            "{narrow} of {} ratios of tools are ± {wanted} % or narrower. Wider after the last block: {}.",
            narrow + wide.len(),
            wide.join(", ")
        ),
    }
}

fn ratio_line(text: &mut String, outcome: &RowResult, check: RatioCheck, rules: &RaceRules) {
    let row = outcome.row;
    let what = match check.measure {
        ComparedFigure::Rate => row.title.to_owned(),
        ComparedFigure::CpuPerGb => format!("{}: CPU per GB", row.title),
    };
    let wanted = match check.bound {
        RatioBound::AtLeast(least) => format!("≥ {least}"),
        RatioBound::AtMost(most) => format!("≤ {most}"),
        RatioBound::Agrees(share, _) => format!("1 ± {share}"),
    };
    let (name, network) = (row.name, &outcome.network);
    let place = row.traffic.place;
    let _ = match judge(outcome, check, rules) {
        RatioOutcome::NotCompared(why) => {
            writeln!(
                text,
                "| {name} | {what}, {place} | {network} | – | – | – | – | {wanted} | not compared: {why} |"
            )
        }
        RatioOutcome::Compared { ours, peer, ratio, word } => {
            let several = row.tries.len() > 1;
            let pair = if several { format!("{ours} / {peer}") } else { peer };
            writeln!(
                text,
                "| {name} | {what}, {place} | {network} | {pair} | {:.3} [{:.3}, {:.3}] | {:.1} % | {} | {wanted} | {word} |",
                ratio.value,
                ratio.ci95[0],
                ratio.ci95[1],
                100.0 * half_width(&ratio),
                ratio.n
            )
        }
    };
}

fn endpoints_line(text: &mut String, endpoints: &EndpointTimes) {
    let name = endpoints::NAME;
    let wanted = format!("≥ {}, under {} s", endpoints::TIMES, endpoints::LONGEST);
    let Some(ratio) = endpoints.ratio() else {
        let _ = writeln!(
            text,
            "| {name} | – | bridge | `ip -batch` | – | – | – | {wanted} | not compared |"
        );
        return;
    };
    let (ours, ip): (Vec<f64>, Vec<f64>) = endpoints.pairs.iter().copied().unzip();
    let kept = ratio.value >= endpoints::TIMES && median(&ours) < endpoints::LONGEST;
    let word = if kept { "reached" } else { "missed" };
    let _ = writeln!(
        text,
        "| {name} | 1,000 endpoints: {:.2} s, {:.2} s | bridge | `ip -batch` | {:.2} [{:.2}, {:.2}] times as fast | \
         {:.1} % | {} | {wanted} | {word} |",
        median(&ours),
        median(&ip),
        ratio.value,
        ratio.ci95[0],
        ratio.ci95[1],
        100.0 * half_width(&ratio),
        ratio.n
    );
    let down = median(&endpoints.removals);
    let word = if down < endpoints::LONGEST { "reached" } else { "missed" };
    let _ = writeln!(
        text,
        "| {name} | 1,000 endpoints removed, until the kernel has none of them left | bridge | – | {down:.2} s | – | {} | \
         under {} s | {word} |",
        endpoints.removals.len(),
        endpoints::LONGEST
    );
}

fn figure_line(text: &mut String, outcome: &RowResult, tally: &ContenderRuns, rules: &RaceRules) {
    let (row, network, name) = (outcome.row.name, &outcome.network, tally.name());
    let all = |measure| -> Vec<f64> {
        tally.runs().filter_map(|run| outcome.figure(run, measure, rules.seconds)).collect()
    };
    let left = tally.left.map_or_else(String::new, |block| block.to_string());
    let rates = all(ComparedFigure::Rate);
    if rates.is_empty() {
        let why = tally.failure.as_deref().unwrap_or("nothing");
        let _ = writeln!(text, "| {row} | {network} | {name} | failed: {why} | | | | 0 | {left} |");
        return;
    }
    let (figure, unit) = match outcome.row.traffic.kind {
        TrafficKind::TcpStream => (spread(&rates, 1.0, 1), "Gbit/s"),
        TrafficKind::UdpStream => (spread(&rates, 1e3, 1), "10³ datagrams/s received"),
        TrafficKind::TcpRr | TrafficKind::UdpRr => (spread(&rates, 1e3, 1), "10³/s"),
        TrafficKind::TcpCrr => (spread(&rates, 1e3, 2), "10³ connections/s"),
    };
    let loss = match outcome.row.traffic.kind {
        TrafficKind::UdpStream => {
            let losses: Vec<f64> = tally.runs().map(|run| run.reading.loss).collect();
            format!("{:.2} %", 100.0 * median(&losses))
        }
        _ => String::new(),
    };
    let cpu = match all(ComparedFigure::CpuPerGb).as_slice() {
        [] => String::new(),
        costs => match outcome.row.traffic.kind {
            TrafficKind::TcpStream => format!("{:.3}", median(costs)),
            _ => String::new(),
        },
    };
    let _ = writeln!(
        text,
        "| {row} | {network} | {name} | {figure} | {unit} | {loss} | {cpu} | {} | {left} |",
        rates.len()
    );
}

/// Formats figures as `median (least–most)` in a unit.
fn spread(figures: &[f64], unit: f64, digits: usize) -> String {
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min) / unit;
    let most = figures.iter().copied().fold(0.0, f64::max) / unit;
    format!("{:.digits$} ({least:.digits$}–{most:.digits$})", median(figures) / unit)
}

fn median(figures: &[f64]) -> f64 {
    tare_stats::describe::median(figures).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_the_number_alone() {
        assert_eq!(number("iperf 3.12 (cJSON 1.7.15)"), "3.12");
        assert_eq!(number("iperf version 2.1.8 (12 August 2022) pthreads"), "2.1.8");
        assert_eq!(number("sockperf, version 3.7-no.git "), "3.7");
        assert_eq!(number("nuttcp-6.1.2"), "6.1.2");
        assert_eq!(number("nothing of the kind"), "of unknown version");
    }

    #[test]
    fn a_spread_is_told_in_its_unit() {
        assert_eq!(spread(&[3_000.0, 1_000.0, 2_000.0], 1e3, 1), "2.0 (1.0–3.0)");
    }
}
