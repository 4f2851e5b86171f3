//! Selection of the networks under comparison, of the baseline, and of the networks that cannot run.

use crate::label::split_label;
use crate::spec::NameOrigin;
use crate::{Catalogue, Error};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use tare_network::{FindError, NetworkSpec, Offloads, UnmetRequirement};
use tare_record::{NetworkEntry, Shape, SkippedNetwork, check_label};

/// Networks of a study, sorted into those that run here and those that do not.
#[derive(Default)]
pub(crate) struct NetworkSelection {
    /// Offloads that are disabled on every network.
    without: Offloads,
    pub(crate) entries: Vec<NetworkEntry>,
    pub(crate) skipped: Vec<SkippedNetwork>,
    pub(crate) refused: Vec<String>,
    /// Labels of the networks that do not run here.
    pub(crate) absent: Vec<String>,
}

/// Sorts the requested networks. `all` stands for all networks of the lab, `PLACE:all` for all of another place, `core`
/// for a small selection. A run uses another place than its own namespaces only if a network of it is named.
pub(crate) fn select_networks(
    asked: &[String],
    named_by: NameOrigin,
    shapes: &[Shape],
    without: Offloads,
    catalogue: &dyn Catalogue,
) -> Result<NetworkSelection, Error> {
    let mut chosen = NetworkSelection { without, ..NetworkSelection::default() };
    for text in asked {
        if let Some(names) = expand_group(text, catalogue) {
            for name in names {
                let already = chosen.entries.iter().any(|entry| entry.label == name);
                if !already {
                    chosen.add(&name, &name, shapes, catalogue)?;
                }
            }
        } else {
            let (label, name) = split_label(text);
            if label.is_empty() && !name.is_empty() {
                return Err(Error::NoLabel { given: text.clone() });
            }
            if !text.is_empty() {
                check_label(label)?;
            }
            match (named_by, chosen.add(label, name, shapes, catalogue)) {
                (NameOrigin::User, Ok(Some(missing))) => chosen.refused.push(missing),
                (NameOrigin::BuiltIn, Err(error @ (Error::Network(_) | Error::Spelling(_)))) => {
                    chosen.leave_out(label, name, &error);
                }
                (_, added) => drop(added?),
            }
        }
    }
    let mut labels = BTreeSet::new();
    for entry in &chosen.entries {
        if !labels.insert(&entry.label) {
            return Err(Error::Label { label: entry.label.clone() });
        }
    }
    if chosen.entries.is_empty() && chosen.skipped.is_empty() {
        return Err(Error::NoNetwork);
    }
    Ok(chosen)
}

/// Returns the networks that a word stands for, or `None` if it names a single network.
fn expand_group(text: &str, catalogue: &dyn Catalogue) -> Option<Vec<String>> {
    let of = |place: &str| {
        catalogue.networks().into_iter().filter(|name| place_of(name) == place).collect()
    };
    match text {
        "all" => Some(of("")),
        "core" => Some(catalogue.core_networks()),
        _ => text.strip_suffix(":all").map(of),
    }
}

/// Returns the place of a network, which precedes the colon; it is empty for the lab.
fn place_of(name: &str) -> &str {
    name.split_once(':').map_or("", |(place, _)| place)
}

impl NetworkSelection {
    /// Leaves out a network of a built-in study that this build does not have.
    fn leave_out(&mut self, label: &str, name: &str, error: &Error) {
        let reason = match error {
            Error::Network(FindError::UnknownName { .. }) => "not in this build".to_owned(),
            other => format!("not in this build with these options: {other}"),
        };
        self.absent.push(label.to_owned());
        let remedy = "choose a network from `tare list networks` with --network LABEL=NAME";
        let (name, remedy) = (name.to_owned(), remedy.to_owned());
        self.skipped.push(SkippedNetwork::new(label, name, reason, remedy));
    }

    /// Adds one network. Returns its name if it cannot run here.
    fn add(
        &mut self,
        label: &str,
        name: &str,
        shapes: &[Shape],
        catalogue: &dyn Catalogue,
    ) -> Result<Option<String>, Error> {
        let spelled: NetworkSpec = name.parse()?;
        let misfit = unsupported_nodes(&spelled, shapes, catalogue)?;
        let lacks = match misfit {
            None => self.missing_for_network(&spelled, catalogue)?,
            misfit => misfit,
        };
        match lacks.or_else(|| catalogue.missing_room(&spelled, shapes)) {
            None => {
                self.entries
                    .push(NetworkEntry { label: label.to_owned(), network: spelled.to_string() });
                Ok(None)
            }
            Some(missing) => {
                self.absent.push(label.to_owned());
                let UnmetRequirement { reason, remedy } = missing;
                let network = spelled.to_string();
                self.skipped.push(SkippedNetwork::new(label, network.clone(), reason, remedy));
                Ok(Some(network))
            }
        }
    }
}

impl NetworkSelection {
    /// Returns the missing requirement of a network, which may be that its offloads cannot be disabled as requested.
    fn missing_for_network(
        &self,
        spelled: &NetworkSpec,
        catalogue: &dyn Catalogue,
    ) -> Result<Option<UnmetRequirement>, Error> {
        let missing = catalogue.missing_for_network(spelled)?;
        if missing.is_some() || self.without.is_empty() {
            return Ok(missing);
        }
        let mut bare = spelled.clone();
        bare.options.without = bare.options.without.union(self.without);
        match catalogue.missing_for_network(&bare) {
            Ok(missing) => Ok(missing),
            Err(FindError::UnsupportedOption { .. }) => Ok(Some(UnmetRequirement {
                reason: "tare does not change devices of the host".to_owned(),
                remedy: "remove the network, or --without".to_owned(),
            })),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the reason why a network cannot have one of these shapes, or `None`. Each shape is measured over all
/// networks, as there would be no ratios otherwise.
pub(crate) fn unsupported_nodes(
    network: &NetworkSpec,
    shapes: &[Shape],
    catalogue: &dyn Catalogue,
) -> Result<Option<UnmetRequirement>, FindError> {
    let nodes = catalogue.nodes(network)?;
    let has_pairs = shapes.iter().any(|shape| shape.node_pair.is_some());
    if has_pairs && !catalogue.has_node_pairs(network) {
        return Ok(Some(UnmetRequirement {
            reason: "it is not on pairs of a cluster's nodes".to_owned(),
            remedy: "leave --node-pairs out, or measure it in a run of its own".to_owned(),
        }));
    }
    Ok(unsupported_node_count(&nodes, shapes))
}

fn unsupported_node_count(
    nodes: &RangeInclusive<u32>,
    shapes: &[Shape],
) -> Option<UnmetRequirement> {
    let shape = shapes.iter().find(|shape| !nodes.contains(&shape.nodes))?;
    let (least, most) = (nodes.start(), nodes.end());
    let reason = match (shape.nodes < *least, *most) {
        (true, _) => format!("runs on {least} nodes or more"),
        (false, 1) => "runs on one node only".to_owned(),
        (false, _) => format!("runs on {most} nodes at most"),
    };
    let remedy = match (least, most) {
        (least, most) if least == most => format!("use --nodes {least}"),
        _ => format!("use --nodes from {least} to {most}"),
    };
    Some(UnmetRequirement { reason, remedy })
}

/// Returns the label of the baseline: the requested one, or `host` if it is under comparison, or the first network.
pub(crate) fn choose_baseline(
    asked: Option<&str>,
    entries: &[NetworkEntry],
    absent: &[String],
) -> Result<String, Error> {
    let has = |label: &str| entries.iter().any(|entry| entry.label == label);
    match asked {
        Some(label) if has(label) => Ok(label.to_owned()),
        // A baseline that cannot run here is not an error of the user; the table then has figures without ratios.
        Some(label) if absent.iter().any(|one| one == label) => Ok(label.to_owned()),
        Some(label) => Err(Error::Baseline {
            baseline: label.to_owned(),
            labels: entries.iter().map(|entry| entry.label.as_str()).collect::<Vec<_>>().join(", "),
        }),
        None if has("host") => Ok("host".to_owned()),
        None => Ok(entries.first().map(|entry| entry.label.clone()).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_stands_before_the_colon() {
        assert_eq!((place_of("bridge"), place_of("docker:none+veth")), ("", "docker"));
    }

    #[test]
    fn an_option_with_a_value_is_no_label() {
        assert_eq!(split_label("bridge"), ("bridge", "bridge"));
        assert_eq!(split_label("a=bridge"), ("a", "bridge"));
        let limited = "bridge+rate=1gbit";
        assert_eq!(split_label(limited), (limited, limited));
        assert_eq!(split_label("slow=bridge+rate=1gbit"), ("slow", limited));
        assert_eq!(split_label("=bridge"), ("", "bridge"));
        assert_eq!(split_label("cni:a=b.conf"), ("cni:a=b.conf", "cni:a=b.conf"));
        assert_eq!(split_label("fe80::2%eth0=probe"), ("fe80::2%eth0", "probe"));
        assert_eq!(split_label("x=cni:a=b.conf"), ("x", "cni:a=b.conf"));
    }
}
