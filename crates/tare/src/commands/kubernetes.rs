//! `tare kubernetes`: what concerns a cluster without measuring it.

use crate::cli::{KubernetesAction, KubernetesArguments};
use crate::exit::{CommandExit, usage_error};
use crate::output;

/// Does what is asked.
pub(crate) fn run(arguments: &KubernetesArguments) -> anyhow::Result<CommandExit> {
    let KubernetesAction::Rbac(rbac) = &arguments.action;
    if !is_name(&rbac.namespace) {
        return Err(usage_error(anyhow::anyhow!(
            "invalid namespace {:?}: a name has letters a to z, digits and hyphens",
            rbac.namespace
        )));
    }
    output::print(&tare_kubernetes::role_manifest(&rbac.namespace))?;
    Ok(CommandExit::Done)
}

/// Returns whether a text can be the name of a namespace (RFC 1123, 2.1). What is printed goes to a cluster.
fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_become_part_of_the_manifest() {
        assert!(["default", "net-1", "a"].iter().all(|name| is_name(name)));
        let long = "a".repeat(64);
        for wrong in ["", "-a", "a-", "A", "a b", "a\n---", long.as_str()] {
            assert!(!is_name(wrong), "{wrong:?}");
        }
    }
}
