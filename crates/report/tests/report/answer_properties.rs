//! Properties of the sentences above the tables: each network has its place, whatever was measured.

use crate::answer::{beside_host, difference, sentences};
use crate::fixture::{cell, document};
use proptest::prelude::*;
use tare_record::{Cell, Document, Metric, NetworkFailure, Shape};

/// Returns the labels that follow one another in a text, between backticks.
fn names(sentence: &str) -> Vec<&str> {
    sentence.split('`').skip(1).step_by(2).collect()
}

prop_compose! {
    /// Makes a document of networks with random ratios, a failed network and a silent one.
    fn documents()(
        networks in prop::collection::vec((0.2f64..4.0, 0.001f64..0.3, 0.5f64..2.0, 0.0f64..0.5, any::<bool>()), 1..9),
        clients in 1u32..3,
    ) -> Document {
        let mut cells = Vec::new();
        for clients in 1..=clients {
            let mut shape: Vec<Cell> = vec![
                cell("host", "tcp-stream", Metric::Throughput, 30.0, 1.0),
                cell("host", "udp-rr", Metric::LatencyP50, 30.0, 1.0),
                cell("host", "udp-rr", Metric::Loss, 0.0, 0.0),
            ];
            for (at, (value, half, latency, loss, has_ratio)) in networks.iter().enumerate() {
                let label = format!("network-{at}");
                let mut rate = beside_host(&label, "tcp-stream", Metric::Throughput, *value, *half);
                if !has_ratio {
                    rate.ratio = None;
                } else if at % 2 == 0 {
                    shape.push(beside_host(&label, "udp-rr", Metric::LatencyP50, *latency, *half));
                    shape.push(difference(&label, "udp-rr", Metric::Loss, [-loss, loss * 3.0]));
                }
                shape.push(rate);
            }
            // A run with a baseline has a ratio somewhere.
            shape.push(beside_host("last", "tcp-stream", Metric::Throughput, 1.0, 0.001));
            for cell in &mut shape {
                cell.shape = Shape { clients, ..Shape::default() };
            }
            cells.extend(shape);
        }
        let mut document = document(cells);
        let network = "gone".to_owned();
        document.failed.push(NetworkFailure { network, ..NetworkFailure::default() });
        document
    }
}

proptest! {
    #[test]
    fn each_network_has_its_place_in_one_sentence(document in documents()) {
        let told = sentences(&document);
        let shapes = document.cells.iter().map(|cell| cell.shape.clients).max().unwrap_or(1) as usize;
        for sentence in &told {
            prop_assert!(sentence.ends_with('.') && !sentence.contains("NaN"), "{}", sentence);
        }
        let mut labels: Vec<&str> = document.cells.iter().map(|cell| cell.label.as_str()).collect();
        labels.push("gone");
        labels.sort_unstable();
        labels.dedup();
        for label in labels.into_iter().filter(|label| *label != "host") {
            let count = told.iter().flat_map(|one| names(one)).filter(|name| *name == label).count();
            prop_assert_eq!(count, shapes, "{} in {:?}", label, told);
        }
    }
}
