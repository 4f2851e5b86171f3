//! TCP congestion control of the bench's own network namespaces.
//!
//! Most peers have no option for it and use that of their namespace. A new namespace has the host's, so a host under bbr,
//! whose pacing limits streams within one machine, would decide the comparison. The kernel lets a namespace choose among
//! the controls that every user may use, and reno always is one.

use crate::container_programs::output_of;
use anyhow::bail;
use tare_network::Container;

/// Controls, the preferred one first: the kernel's default, and the one that every kernel has.
const PREFERRED: [&str; 2] = ["cubic", "reno"];

/// Sets a control if the kernel permits, and prints the one that the namespace then has.
const SCRIPT: &str = "file=/proc/sys/net/ipv4/tcp_congestion_control; \
                      { echo \"$1\" >$file; } 2>/dev/null; cat $file";

/// Sets the first of [`PREFERRED`] that all containers permit. Returns the control that all containers have.
///
/// # Errors
/// Fails if the containers have different controls: their tools could not be compared.
pub(crate) fn set<'c>(
    containers: impl Iterator<Item = &'c Box<dyn Container>> + Clone,
) -> anyhow::Result<String> {
    let mut controls = Vec::new();
    for wanted in PREFERRED {
        let said = containers.clone().map(|container| set_one(container.as_ref(), wanted));
        controls = said.collect::<anyhow::Result<Vec<String>>>()?;
        if controls.iter().all(|control| control == wanted) {
            break;
        }
    }
    common(&controls)
}

/// Sets a control in a container if it permits. Returns the control that it has.
fn set_one(container: &dyn Container, wanted: &str) -> anyhow::Result<String> {
    Ok(output_of(container, "sh", &["-c", SCRIPT, "sh", wanted])?.trim().to_owned())
}

/// Returns the control that all containers have.
fn common(controls: &[String]) -> anyhow::Result<String> {
    match controls {
        [first, rest @ ..] if !first.is_empty() && rest.iter().all(|one| one == first) => {
            Ok(first.clone())
        }
        _ => bail!("the containers have different TCP congestion controls: {controls:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_with_different_controls_are_not_compared() {
        let common = |controls: &[&str]| {
            common(&controls.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(common(&["reno", "reno"]).unwrap(), "reno");
        assert!(common(&["reno", "bbr"]).is_err());
        assert!(common(&["", ""]).is_err() && common(&[]).is_err());
    }
}
