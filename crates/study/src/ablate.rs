//! `--ablate`: adds variants with one change each to every network.

use crate::network_selection::NetworkSelection;
use crate::{Catalogue, Error};
use std::collections::BTreeSet;
use tare_network::{FindError, NetworkOptions, NetworkSpec};
use tare_record::{Ablation, AblationFactor, AblationVariant, NetworkEntry, Shape};

/// Adds the variants of all selected networks to the measured networks, and returns which belong together. A change
/// that a network does not support, or cannot have here, is left out, as there is nothing to change.
pub(crate) fn ablate(
    chosen: &mut NetworkSelection,
    factors: &[AblationFactor],
    shapes: &[Shape],
    catalogue: &dyn Catalogue,
) -> Result<Vec<Ablation>, Error> {
    let mut ablations = Vec::new();
    for entry in unchanged_networks(&chosen.entries, factors) {
        let whole: NetworkSpec = entry.network.parse()?;
        let mut variants = Vec::new();
        for &factor in factors {
            let Some(changed) = with_factor(&whole, factor, shapes) else {
                continue;
            };
            match catalogue.missing_for_network(&changed) {
                Ok(None) => {}
                Ok(Some(_)) | Err(FindError::UnsupportedOption { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let label = variant_label(&entry, factor);
            let there = chosen.entries.iter().any(|other| other.label == label);
            if !there {
                let network = changed.to_string();
                chosen.entries.push(NetworkEntry { label: label.clone(), network });
            }
            variants.push(AblationVariant { factor, label });
        }
        if !variants.is_empty() {
            ablations.push(Ablation { label: entry.label, variants });
        }
    }
    if ablations.is_empty() {
        return Err(Error::NothingToAblate);
    }
    Ok(ablations)
}

/// Returns the label of a network with one change.
fn variant_label(entry: &NetworkEntry, factor: AblationFactor) -> String {
    format!("{}{}", entry.label, factor.option_suffix())
}

/// Returns the networks that are not variants of others.
fn unchanged_networks(entries: &[NetworkEntry], factors: &[AblationFactor]) -> Vec<NetworkEntry> {
    let of_one = |entry| factors.iter().map(move |&factor| variant_label(entry, factor));
    let variants: BTreeSet<String> = entries.iter().flat_map(of_one).collect();
    entries.iter().filter(|entry| !variants.contains(&entry.label)).cloned().collect()
}

/// Returns a network with one change, or `None` if the change does not apply.
fn with_factor(
    whole: &NetworkSpec,
    factor: AblationFactor,
    shapes: &[Shape],
) -> Option<NetworkSpec> {
    let before = &whole.options;
    let options = match factor {
        AblationFactor::Netfilter => NetworkOptions { plain: true, firewall: None, ..*before },
        // Without rules there is no connection tracking.
        AblationFactor::Conntrack if before.plain => return None,
        AblationFactor::Conntrack => NetworkOptions { untracked: true, ..*before },
        AblationFactor::Mtu if !may_have_jumbo(before, shapes) => return None,
        AblationFactor::Mtu => NetworkOptions { mtu: Some(AblationFactor::JUMBO), ..*before },
        AblationFactor::Rps => NetworkOptions { rps: true, ..*before },
        AblationFactor::Gro
        | AblationFactor::Gso
        | AblationFactor::Tso
        | AblationFactor::Checksum => {
            let off = factor.offload()?;
            if shapes.iter().any(|shape| shape.without.contains(off)) {
                return None;
            }
            NetworkOptions { without: before.without.with(off), ..*before }
        }
    };
    (options != *before).then(|| NetworkSpec { name: whole.name.clone(), options })
}

/// Returns true if larger packets than the default fit. Between nodes the links decide, and an MTU that the user chose
/// stays.
fn may_have_jumbo(options: &NetworkOptions, shapes: &[Shape]) -> bool {
    let usual = Shape::default().mtu;
    options.mtu.is_none() && shapes.iter().all(|shape| shape.nodes == 1 && shape.mtu == usual)
}
