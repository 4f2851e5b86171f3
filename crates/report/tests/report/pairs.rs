//! Comparison of every pair of networks.

use tare_record::{Family, Metric, NetworkPair, Shape};
use tare_report::{Style, pairs};

fn pair(network: &str, beside: &str, metric: Metric, value: f64, half: f64) -> NetworkPair {
    let workload = if metric == Metric::Throughput { "tcp-stream" } else { "tcp-rr" };
    NetworkPair {
        workload: workload.to_owned(),
        shape: Shape::default(),
        metric,
        network: network.to_owned(),
        beside: beside.to_owned(),
        value,
        ci95: [value - half, value + half],
        p: if half < (value - 1.0).abs() { 0.000_3 } else { 0.41 },
        n: 10,
    }
}

fn three_networks() -> Vec<NetworkPair> {
    vec![
        pair("veth", "host", Metric::Throughput, 0.915, 0.0062),
        pair("bridge", "host", Metric::Throughput, 0.843, 0.0071),
        pair("bridge", "veth", Metric::Throughput, 0.9213, 0.0082),
        pair("veth", "host", Metric::LatencyP99, 1.092, 0.061),
        pair("bridge", "host", Metric::LatencyP99, 1.186, 0.07),
    ]
}

#[test]
fn a_row_a_pair_a_column_a_metric() {
    insta::assert_snapshot!(pairs(&three_networks(), &Style::PLAIN));
}

#[test]
fn shapes_are_told_apart() {
    let mut both = three_networks();
    for pair in three_networks() {
        let shape = Shape { family: Family::Ipv6, ..Shape::default() };
        both.push(NetworkPair { shape, ..pair });
    }
    let text = pairs(&both, &Style::PLAIN);
    assert!(text.starts_with("IPv4\n\n"), "{text}");
    assert!(text.contains("\nIPv6\n\n"), "{text}");
}

#[test]
fn no_pairs_are_said() {
    let text = pairs(&[], &Style::PLAIN);
    assert_eq!(text, "No two networks have two or more blocks in common.\n");
}
