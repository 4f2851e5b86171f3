//! Which networks are compared, with which baseline, and which cannot be.

use crate::{Catalogue, Error, Origin};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use tare_network::{FindError, Missing, Offloads, Spelled};
use tare_record::{Entry, Shape, Skipped};

/// The networks, sorted into those that run here and those that do not.
#[derive(Default)]
pub(crate) struct Chosen {
    /// The offloads that each is to do without.
    without: Offloads,
    pub(crate) entries: Vec<Entry>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) refused: Vec<String>,
    /// The labels of those that do not run here.
    pub(crate) absent: Vec<String>,
}

/// Sorts the networks that were asked for; `all` stands for all of the lab, `PLACE:all` for all of another place, `core` for
/// the few that one begins with. Only where one is named does a run leave its own namespaces.
pub(crate) fn choose(
    asked: &[String],
    named_by: Origin,
    shapes: &[Shape],
    without: Offloads,
    catalogue: &dyn Catalogue,
) -> Result<Chosen, Error> {
    let mut chosen = Chosen { without, ..Chosen::default() };
    for text in asked {
        if let Some(names) = group(text, catalogue) {
            for name in names {
                let already = chosen.entries.iter().any(|entry| entry.label == name);
                if !already {
                    chosen.add(&name, &name, shapes, catalogue)?;
                }
            }
        } else {
            let (label, name) = labelled(text);
            if label.is_empty() && !name.is_empty() {
                return Err(Error::NoLabel { given: text.clone() });
            }
            match (named_by, chosen.add(label, name, shapes, catalogue)) {
                (Origin::User, Ok(Some(missing))) => chosen.refused.push(missing),
                (Origin::BuiltIn, Err(error @ (Error::Network(_) | Error::Spelling(_)))) => {
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

/// The networks that a word stands for, where it stands for several.
fn group(text: &str, catalogue: &dyn Catalogue) -> Option<Vec<String>> {
    let of = |place: &str| {
        catalogue.networks().into_iter().filter(|name| place_of(name) == place).collect()
    };
    match text {
        "all" => Some(of("")),
        "core" => Some(catalogue.core()),
        _ => text.strip_suffix(":all").map(of),
    }
}

/// The place of a network, which stands before the colon; the lab has no name.
fn place_of(name: &str) -> &str {
    name.split_once(':').map_or("", |(place, _)| place)
}

/// A label and a network's name; where no label stands, the name is its own. What follows a `+` or a `:` is the network's.
fn labelled(text: &str) -> (&str, &str) {
    match text.split_once('=') {
        Some((label, name)) if !label.contains(['+', ':']) || is_address(label) => (label, name),
        _ => (text, text),
    }
}

/// Whether it is a machine's address, by which a probe is labelled; one of IPv6 may name its device.
fn is_address(text: &str) -> bool {
    text.split('%').next().is_some_and(|address| address.parse::<IpAddr>().is_ok())
}

/// The label of a network as it is spelled in a study.
pub(crate) fn label_of(text: &str) -> &str {
    labelled(text).0
}

impl Chosen {
    /// Leaves out a network of a built-in study that this build does not have.
    fn leave_out(&mut self, label: &str, name: &str, error: &Error) {
        let reason = match error {
            Error::Network(FindError::Name { .. }) => "this build does not have it".to_owned(),
            other => format!("this build does not have it so: {other}"),
        };
        self.absent.push(label.to_owned());
        self.skipped.push(Skipped {
            network: name.to_owned(),
            reason,
            remedy:
                "see `tare list networks` for what it has, and name another by --network LABEL=NAME"
                    .to_owned(),
        });
    }

    /// Adds one network; gives its name back when it cannot run here.
    fn add(
        &mut self,
        label: &str,
        name: &str,
        shapes: &[Shape],
        catalogue: &dyn Catalogue,
    ) -> Result<Option<String>, Error> {
        let spelled: Spelled = name.parse()?;
        let misfit = misfit(&catalogue.nodes(&spelled)?, shapes);
        let lacks = match misfit {
            None => self.lacks(&spelled, catalogue)?,
            misfit => misfit,
        };
        match lacks.or_else(|| catalogue.lacks_room(&spelled, shapes)) {
            None => {
                self.entries.push(Entry { label: label.to_owned(), network: spelled.to_string() });
                Ok(None)
            }
            Some(missing) => {
                self.absent.push(label.to_owned());
                self.skipped.push(Skipped {
                    network: spelled.to_string(),
                    reason: missing.reason,
                    remedy: missing.remedy,
                });
                Ok(Some(spelled.to_string()))
            }
        }
    }
}

impl Chosen {
    /// What a network lacks here; also that its offloads cannot be switched off, where they are to be.
    fn lacks(
        &self,
        spelled: &Spelled,
        catalogue: &dyn Catalogue,
    ) -> Result<Option<Missing>, Error> {
        let missing = catalogue.lacks(spelled)?;
        if missing.is_some() || self.without.is_empty() {
            return Ok(missing);
        }
        let mut bare = spelled.clone();
        bare.options.without = bare.options.without.and(self.without);
        match catalogue.lacks(&bare) {
            Ok(missing) => Ok(missing),
            Err(FindError::Option { .. }) => Ok(Some(Missing {
                reason: "its devices are the machine's own, and tare changes nothing of it"
                    .to_owned(),
                remedy: "leave it out, or leave out --without".to_owned(),
            })),
            Err(error) => Err(error.into()),
        }
    }
}

/// Why a network cannot have one of these shapes: each is measured over all networks, or there would be no ratios.
pub(crate) fn misfit(nodes: &RangeInclusive<u32>, shapes: &[Shape]) -> Option<Missing> {
    let shape = shapes.iter().find(|shape| !nodes.contains(&shape.nodes))?;
    let (least, most) = (nodes.start(), nodes.end());
    let reason = match (shape.nodes < *least, *most) {
        (true, _) => format!("only for {least} nodes or more"),
        (false, 1) => "only for one node".to_owned(),
        (false, _) => format!("only for {most} nodes at most"),
    };
    let remedy = match (least, most) {
        (least, most) if least == most => format!("use --nodes {least}"),
        _ => format!("use --nodes from {least} to {most}"),
    };
    Some(Missing { reason, remedy })
}

/// The baseline: as asked, or `host` where it is under comparison, or the first network.
pub(crate) fn baseline(
    asked: Option<&str>,
    entries: &[Entry],
    absent: &[String],
) -> Result<String, Error> {
    let has = |label: &str| entries.iter().any(|entry| entry.label == label);
    match asked {
        Some(label) if has(label) => Ok(label.to_owned()),
        // A baseline that cannot run here is no slip of the user's; the table then has figures without ratios.
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
        assert_eq!(labelled("bridge"), ("bridge", "bridge"));
        assert_eq!(labelled("a=bridge"), ("a", "bridge"));
        let limited = "bridge+rate=1gbit";
        assert_eq!(labelled(limited), (limited, limited));
        assert_eq!(labelled("slow=bridge+rate=1gbit"), ("slow", limited));
        assert_eq!(labelled("=bridge"), ("", "bridge"));
        assert_eq!(labelled("cni:a=b.conf"), ("cni:a=b.conf", "cni:a=b.conf"));
        assert_eq!(labelled("fe80::2%eth0=probe"), ("fe80::2%eth0", "probe"));
        assert_eq!(labelled("x=cni:a=b.conf"), ("x", "cni:a=b.conf"));
    }
}
