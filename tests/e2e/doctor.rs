//! Test of `tare doctor`: what it says of the machine's resolution follows from its null comparison.

use crate::recompute::numbers::quantile;
use serde_json::Value;
use support::program::{Tare, User};
use support::{ScratchDirectory, list, schema, text};

#[test]
fn the_resolution_is_predicted_from_the_null_comparison() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    let before = scratch.names();
    let doctor = tare.run(&["doctor", "--json"]).expect(0).json();
    schema::check(&doctor, "doctor.json");
    let resolution = &doctor["resolution"];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{resolution:#}"));
    let blocks = number(&resolution["blocks"]);
    let metrics = list(resolution, "metrics");
    let unknown = list(resolution, "unknown");
    // A busy machine may have one block in ten seconds, and then no spread, or a block in which nothing arrived.
    assert!(blocks >= 1.0 && (metrics.is_empty() || blocks >= 2.0), "{resolution:#}");
    let known = metrics.iter().map(|metric| &metric["metric"]);
    let mut told: Vec<&str> =
        known.chain(unknown).map(|metric| metric.as_str().expect("a metric")).collect();
    told.sort_unstable();
    assert_eq!(told, ["latency_p50", "throughput", "transactions"], "{resolution:#}");
    let in_a_minute = (blocks * 60.0 / number(&resolution["seconds"])).floor();
    let reach = |blocks: f64| quantile(0.975, blocks as usize - 1) / blocks.sqrt();
    for metric in metrics {
        let high = number(&metric["ci95"][1]) / number(&metric["ratio"]);
        let expected = (high.ln() * reach(in_a_minute) / reach(blocks)).exp_m1();
        let predicted = number(&metric["half_width"]);
        assert!((predicted - expected).abs() < 1e-6 * expected.max(1e-3), "{metric}: {expected}");
    }
    let checks = list(&doctor, "checks");
    let told = checks.iter().filter(|check| check["name"] == "resolution");
    let states: Vec<&str> = told.map(|check| text(check, "state")).collect();
    let expected = [("warn", unknown.is_empty()), ("ok", metrics.is_empty())];
    let expected = expected.iter().filter(|(_, absent)| !absent).map(|(state, _)| *state);
    assert_eq!(states, expected.collect::<Vec<_>>(), "{checks:?}");
    assert_eq!(scratch.names(), before, "nothing is left");
}
