//! Variants of networks: with `--ablate` a network is also measured with one change at a time, to explain it.

use tare_record::{AblationFactor, Cell, Finding};

/// Returns the labels of the variants of the networks among the cells.
pub(crate) fn variant_labels<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<String> {
    let is_ablated = |cell: &&Cell| {
        cell.findings.iter().any(|finding| matches!(finding, Finding::AblationEffects(_)))
    };
    let mut labels: Vec<&str> = Vec::new();
    for cell in cells.into_iter().filter(is_ablated) {
        if !labels.contains(&cell.label.as_str()) {
            labels.push(&cell.label);
        }
    }
    let of_network = |label: &str| {
        let label = label.to_owned();
        AblationFactor::ALL.map(|factor| format!("{label}{}", factor.option_suffix()))
    };
    labels.into_iter().flat_map(of_network).collect()
}
