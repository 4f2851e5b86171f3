//! `--ablate`: beside every network, the same with one thing changed at a time.

use crate::choose::Chosen;
use crate::{Catalogue, Error};
use std::collections::BTreeSet;
use tare_network::{FindError, Options, Spelled};
use tare_record::{Ablation, Entry, Factor, Shape, Variant};

/// Adds the variants of all chosen networks to those that are measured, and says which belong together. What a network does
/// not take, or cannot have here, is left out: then there is nothing to change.
pub(crate) fn ablate(
    chosen: &mut Chosen,
    factors: &[Factor],
    shapes: &[Shape],
    catalogue: &dyn Catalogue,
) -> Result<Vec<Ablation>, Error> {
    let mut ablations = Vec::new();
    for entry in wholes(&chosen.entries, factors) {
        let whole: Spelled = entry.network.parse()?;
        let mut variants = Vec::new();
        for &factor in factors {
            let Some(changed) = changed(&whole, factor, shapes) else {
                continue;
            };
            match catalogue.lacks(&changed) {
                Ok(None) => {}
                Ok(Some(_)) | Err(FindError::Option { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let label = variant(&entry, factor);
            let there = chosen.entries.iter().any(|other| other.label == label);
            if !there {
                let network = changed.to_string();
                chosen.entries.push(Entry { label: label.clone(), network });
            }
            variants.push(Variant { factor, label });
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

/// The label of a network with one thing changed.
fn variant(entry: &Entry, factor: Factor) -> String {
    format!("{}{}", entry.label, factor.option())
}

/// The networks that are not themselves others with one thing changed.
fn wholes(entries: &[Entry], factors: &[Factor]) -> Vec<Entry> {
    let of_one = |entry| factors.iter().map(move |&factor| variant(entry, factor));
    let variants: BTreeSet<String> = entries.iter().flat_map(of_one).collect();
    entries.iter().filter(|entry| !variants.contains(&entry.label)).cloned().collect()
}

/// A network with one thing changed; nothing where it is so already.
fn changed(whole: &Spelled, factor: Factor, shapes: &[Shape]) -> Option<Spelled> {
    let before = &whole.options;
    let options = match factor {
        Factor::Netfilter => Options { plain: true, ..*before },
        // Without rules there is nothing that tracks.
        Factor::Conntrack if before.plain => return None,
        Factor::Conntrack => Options { untracked: true, ..*before },
        Factor::Mtu if !may_have_jumbo(before, shapes) => return None,
        Factor::Mtu => Options { mtu: Some(Factor::JUMBO), ..*before },
        Factor::Rps => Options { rps: true, ..*before },
        Factor::Gro | Factor::Gso | Factor::Tso | Factor::Checksum => {
            let off = factor.offload()?;
            if shapes.iter().any(|shape| shape.without.contains(off)) {
                return None;
            }
            Options { without: before.without.with(off), ..*before }
        }
    };
    (options != *before).then(|| Spelled { name: whole.name.clone(), options })
}

/// Whether larger packets than by default fit: between nodes it is the links that say, and a size that the user chose stays.
fn may_have_jumbo(options: &Options, shapes: &[Shape]) -> bool {
    let usual = Shape::default().mtu;
    options.mtu.is_none() && shapes.iter().all(|shape| shape.nodes == 1 && shape.mtu == usual)
}
