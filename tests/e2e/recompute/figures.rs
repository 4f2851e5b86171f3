//! Figures of one trial, from the raw lines of the journal.

use base64::Engine as _;
use hdrhistogram::Histogram;
use serde_json::Value;
use support::list;

/// Figure of a metric over some intervals.
pub(crate) enum TrialFigure {
    Value(f64),
    /// Too few round trips lie beyond the percentile.
    TooFew,
    /// The journal has no data for the metric.
    Nothing,
}

impl TrialFigure {
    /// Makes a figure of a quotient if it is finite.
    fn from_quotient(value: f64) -> Self {
        if value.is_finite() { Self::Value(value) } else { Self::Nothing }
    }
}

/// Returns the intervals of each client.
pub(crate) fn clients(trial: &Value) -> Vec<Vec<&Value>> {
    let series = list(trial, "series").iter();
    series.map(|one| list(one, "intervals").iter().collect()).collect()
}

/// Returns a count per second over some intervals: the total of each client divided by its time, added up.
pub(crate) fn rate(clients: &[Vec<&Value>], from: usize, to: usize, counted: &str) -> f64 {
    let sum = |intervals: &[&Value], key: &str| -> f64 {
        let counts = intervals.iter().map(|interval| interval.pointer(key).unwrap_or(&Value::Null));
        // Intervals without a sample of TCP_INFO have no TCP counts.
        counts.map(|count| count.as_u64().unwrap_or(0) as f64).sum()
    };
    clients
        .iter()
        .map(|client| &client[from..to])
        .map(|kept| sum(kept, counted) / sum(kept, "/length") * 1e9)
        .sum()
}

/// Computes one figure over a range of a trial's intervals.
pub(crate) fn figure(
    trial: &Value,
    clients: &[Vec<&Value>],
    from: usize,
    to: usize,
    metric: &str,
) -> TrialFigure {
    // A busy machine may hold up a short trial so long that it has no whole interval.
    if from == to {
        return TrialFigure::Nothing;
    }
    let datagrams = |key: &str| -> f64 {
        let kept = clients.iter().flat_map(|client| &client[from..to]);
        kept.map(|interval| interval["datagrams"][key].as_u64().expect("a count") as f64).sum()
    };
    let counted = |key: &str| -> f64 {
        let kept = clients.iter().flat_map(|client| &client[from..to]);
        kept.map(|interval| interval[key].as_u64().expect("a count") as f64).sum()
    };
    match metric {
        "throughput" => TrialFigure::from_quotient(rate(clients, from, to, "/bytes") * 8.0 / 1e9),
        "transactions" | "connections" => {
            TrialFigure::from_quotient(rate(clients, from, to, "/operations"))
        }
        "retransmits" => TrialFigure::from_quotient(rate(clients, from, to, "/tcp/retransmits")),
        "loss" => TrialFigure::from_quotient(
            100.0 * (datagrams("sent") - datagrams("received")) / datagrams("sent"),
        ),
        "jitter" => {
            let kept = clients.iter().flat_map(|client| &client[from..to]);
            let sum: f64 = kept
                .map(|interval| &interval["datagrams"])
                .map(|one| {
                    one["jitter"].as_f64().expect("ns") * one["received"].as_f64().expect("n")
                })
                .sum();
            TrialFigure::from_quotient(sum / datagrams("received") / 1e3)
        }
        "cpu_busy" => {
            let time = |kinds| cpu(trial, kinds, clients, from, to, 1.0);
            match (time(&BUSY[..]), time(&ALL[..])) {
                (TrialFigure::Value(busy), TrialFigure::Value(all)) => {
                    TrialFigure::from_quotient(100.0 * busy / all)
                }
                _ => TrialFigure::Nothing,
            }
        }
        "softirq_core" => softirqs_of_one_core(trial, clients, from, to),
        "cpu_per_gb" => cpu(trial, &BUSY, clients, from, to, counted("bytes") / 1e9),
        "cpu_per_op" => cpu(trial, &BUSY, clients, from, to, counted("operations") * 1e-6),
        "cycles_per_byte" => executed(trial, clients, from, to, "cycles", counted("bytes")),
        "cycles_per_op" => executed(trial, clients, from, to, "cycles", counted("operations")),
        "instructions_per_byte" => {
            executed(trial, clients, from, to, "instructions", counted("bytes"))
        }
        "instructions_per_op" => {
            executed(trial, clients, from, to, "instructions", counted("operations"))
        }
        "cycles_per_packet" => executed(trial, clients, from, to, "cycles", datagrams("received")),
        "instructions_per_packet" => {
            executed(trial, clients, from, to, "instructions", datagrams("received"))
        }
        tail => {
            let needed = if trial["slices"].is_null() { 100.0 } else { 30.0 };
            latency(tail, needed, clients, from, to)
        }
    }
}

/// Returns a latency of one of three kinds: its maximum, or a percentile with as many samples beyond it as are needed.
pub(crate) fn latency(
    metric: &str,
    needed: f64,
    clients: &[Vec<&Value>],
    from: usize,
    to: usize,
) -> TrialFigure {
    let kinds = ["latency", "one_way", "connect"].into_iter();
    let mut named =
        kinds.filter_map(|kind| Some((kind, metric.strip_prefix(kind)?.strip_prefix('_')?)));
    let named = named.next();
    let (kind, point) = named.unwrap_or_else(|| panic!("the metric {metric} is new to this test"));
    let Some(all) = latencies(clients, from, to, kind) else { return TrialFigure::Nothing };
    if point == "max" {
        return if all.is_empty() {
            TrialFigure::Nothing
        } else {
            TrialFigure::Value(all.max() as f64 / 1e3)
        };
    }
    let percent = point.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
    let percent = percent.unwrap_or_else(|| panic!("the metric {metric} is new to this test"));
    let beyond = all.len() as f64 * (100.0 - percent) / 100.0;
    if beyond + super::TOLERANCE < needed {
        return TrialFigure::TooFew;
    }
    TrialFigure::Value(all.value_at_quantile(percent / 100.0) as f64 / 1e3)
}

/// Kinds of work of a busy core.
const BUSY: [&str; 4] = ["user", "system", "softirq", "irq"];

/// Kinds of a core's time. Time stolen by the hypervisor is not included, because the core was not available.
const ALL: [&str; 5] = ["user", "system", "softirq", "irq", "idle"];

/// Returns the seconds of these kinds of work on all cores between the beginning of one interval and the end of
/// another, per `unit`.
pub(crate) fn cpu(
    trial: &Value,
    kinds: &[&str],
    clients: &[Vec<&Value>],
    from: usize,
    to: usize,
    unit: f64,
) -> TrialFigure {
    let Some(samples) = trial["meanwhile"]["samples"].as_array() else {
        return TrialFigure::Nothing;
    };
    let all_cores = |sample: &Value, kind: &str| {
        list(sample, "cores").iter().map(|core| number(core, kind)).sum()
    };
    let cores = samples.first().map_or(0, |first| list(first, "cores").len());
    let grown = |up_to: &dyn Fn(&Value) -> f64| growth(samples, clients, from, to, up_to);
    cpu_by_clock(grown, cores, &all_cores, kinds)
        .map_or(TrialFigure::Nothing, |time| TrialFigure::from_quotient(time / 1e9 / unit))
}

/// Returns the time of these kinds of work by the rule of docs/METHOD.md, "CPU time", ns: cores are busy when they are neither idle
/// nor stolen, and the busy kinds share that time as they were counted. `grown` is the growth of a value of the samples,
/// `counted` the time of a kind in a sample.
fn cpu_by_clock(
    grown: impl Fn(&dyn Fn(&Value) -> f64) -> Option<f64>,
    cores: usize,
    counted: &dyn Fn(&Value, &str) -> f64,
    kinds: &[&str],
) -> Option<f64> {
    let grown_kind = |kind: &str| grown(&|sample| counted(sample, kind));
    let passed = grown(&|sample| number(sample, "at") * cores as f64)?;
    let available = (passed - grown_kind("steal")?).max(0.0);
    let ticks = BUSY.iter().map(|kind| grown_kind(kind)).sum::<Option<f64>>()?;
    let counted_idle = grown_kind("idle")?;
    if ticks + counted_idle <= 0.0 {
        return Some(0.0);
    }
    let idle = counted_idle.min(available);
    let busy = available - idle;
    let time = |kind: &&str| match *kind {
        "idle" => Some(idle),
        "system" if ticks <= 0.0 => Some(busy),
        _ if ticks <= 0.0 => Some(0.0),
        kind => Some(grown_kind(kind)? * busy / ticks),
    };
    kinds.iter().map(time).sum()
}

/// Returns the largest share of softirqs in the time of one core, %.
fn softirqs_of_one_core(
    trial: &Value,
    clients: &[Vec<&Value>],
    from: usize,
    to: usize,
) -> TrialFigure {
    let samples = trial["meanwhile"]["samples"].as_array();
    let Some(samples) = samples.filter(|samples| !samples.is_empty()) else {
        return TrialFigure::Nothing;
    };
    let mut largest: Option<f64> = None;
    for core in 0..list(&samples[0], "cores").len() {
        let one = |sample: &Value, kind: &str| number(&list(sample, "cores")[core], kind);
        let grown = |up_to: &dyn Fn(&Value) -> f64| growth(samples, clients, from, to, up_to);
        let time = |kinds: &[&str]| cpu_by_clock(grown, 1, &one, kinds);
        let (Some(softirqs), Some(all)) = (time(&["softirq", "irq"]), time(&ALL)) else {
            return TrialFigure::Nothing;
        };
        let share = if all > 0.0 { 100.0 * softirqs / all } else { 0.0 };
        largest = Some(largest.map_or(share, |so_far| so_far.max(share)));
    }
    largest.map_or(TrialFigure::Nothing, TrialFigure::Value)
}

/// Returns the hardware counts of a kind over these intervals, per `unit`.
fn executed(
    trial: &Value,
    clients: &[Vec<&Value>],
    from: usize,
    to: usize,
    kind: &str,
    unit: f64,
) -> TrialFigure {
    let samples = trial["meanwhile"]["hardware"]["samples"].as_array();
    let Some(samples) = samples else { return TrialFigure::Nothing };
    let up_to = |sample: &Value| list(sample, "executed").iter().map(|one| number(one, kind)).sum();
    growth(samples, clients, from, to, up_to)
        .map_or(TrialFigure::Nothing, |grown| TrialFigure::from_quotient(grown / unit))
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().expect("a number")
}

/// Returns the growth of a sampled value over these intervals. Returns `None` if there are none, or if they were not sampled.
fn growth(
    samples: &[Value],
    clients: &[Vec<&Value>],
    from: usize,
    to: usize,
    up_to: impl Fn(&Value) -> f64,
) -> Option<f64> {
    if from == to {
        return None;
    }
    let last = clients[0][to - 1];
    let ends = [number(clients[0][from], "start"), number(last, "start") + number(last, "length")];
    let points: Vec<(f64, f64)> =
        samples.iter().map(|sample| (number(sample, "at"), up_to(sample))).collect();
    let [start, end] = ends.map(|end| interpolate(&points, end));
    Some(end? - start?)
}

/// Interpolates a value linearly between two points. Returns `None` if it is more than a tick outside of all points.
fn interpolate(points: &[(f64, f64)], moment: f64) -> Option<f64> {
    const TICK: f64 = 1e7;
    let (first, last) = (points.first()?, points.last()?);
    if moment > last.0 {
        return (moment <= last.0 + TICK).then_some(last.1);
    }
    if moment < first.0 {
        return (moment >= first.0 - TICK).then_some(first.1);
    }
    let pair = points.windows(2).find(|pair| pair[0].0 <= moment && moment <= pair[1].0)?;
    let [(x, y), (x_end, y_end)] = [pair[0], pair[1]];
    Some(if x_end > x { y + (y_end - y) * (moment - x) / (x_end - x) } else { y_end })
}

/// Returns all latencies of a kind in some intervals, ns. Returns `None` if none were recorded.
fn latencies(
    clients: &[Vec<&Value>],
    from: usize,
    to: usize,
    kind: &str,
) -> Option<Histogram<u64>> {
    let mut reader = hdrhistogram::serialization::Deserializer::new();
    let kept = clients.iter().flat_map(|client| &client[from..to]);
    let mut all: Option<Histogram<u64>> = None;
    for text in kept.filter_map(|interval| interval[kind].as_str()) {
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
        let one: Histogram<u64> = reader.deserialize(&mut bytes.as_slice()).expect("a histogram");
        let sum = all.get_or_insert_with(|| Histogram::new(3).expect("three digits"));
        sum.add(one).expect("a histogram that grows");
    }
    all
}
