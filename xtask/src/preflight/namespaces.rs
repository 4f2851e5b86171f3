//! Check that the lab can make namespaces, as root and as an ordinary user.

use super::PreflightProblem;
use crate::process;
use crate::repository::Repository;
use std::fs;
use std::process::Command;

/// User as whom root runs tests of an ordinary user.
const NOBODY: &str = "65534";

/// Settings that forbid user namespaces: file, forbidding value, name, remedy.
const SETTINGS: [(&str, &str, &str, &str); 3] = [
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "user.max_user_namespaces=0",
        "sudo sysctl user.max_user_namespaces=15000",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "kernel.unprivileged_userns_clone=0",
        "sudo sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts them",
        "give the tests' programs an AppArmor profile, see packaging/README.md",
    ),
];

/// Makes a network namespace, as root if the caller is root, and as an ordinary user.
pub(super) fn check(repository: &Repository) -> Option<PreflightProblem> {
    if !rustix::process::geteuid().is_root() {
        let failure = process::failure(&mut in_user_namespace(repository.command("unshare")))?;
        return Some(no_user_namespaces(&failure, cause(), true));
    }
    if let Some(failure) = process::failure(repository.command("unshare").args(["--net", "true"])) {
        return Some(no_network_namespaces(&failure));
    }
    let mut setpriv = repository.command("setpriv");
    setpriv.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--", "unshare"]);
    // The ordinary user may lack permission to enter the checkout.
    let failure = process::failure(in_user_namespace(setpriv).current_dir("/"))?;
    Some(no_user_namespaces(&failure, cause(), false))
}

fn in_user_namespace(mut unshare: Command) -> Command {
    unshare.args(["--user", "--map-root-user", "--net", "true"]);
    unshare
}

fn no_network_namespaces(failure: &str) -> PreflightProblem {
    PreflightProblem {
        missing: format!("root cannot make a network namespace ({failure})"),
        untested: "lab, traffic and e2e are",
        remedy: "run in a container with CAP_SYS_ADMIN, or on the host".to_owned(),
    }
}

/// Returns the setting that forbids user namespaces, with its remedy. Returns `None` if no setting does.
fn cause() -> Option<(&'static str, &'static str)> {
    SETTINGS.iter().find_map(|(file, forbids, name, remedy)| {
        let value = fs::read_to_string(file).ok()?;
        (value.trim() == *forbids).then_some((*name, *remedy))
    })
}

fn no_user_namespaces(
    failure: &str,
    cause: Option<(&str, &str)>,
    root_helps: bool,
) -> PreflightProblem {
    let (name, remedy) = cause.unwrap_or((failure, "allow user namespaces on this machine"));
    if root_helps {
        PreflightProblem {
            missing: format!("no user namespaces ({name})"),
            untested: "lab, traffic and e2e are",
            remedy: format!("run as root, or: {remedy}"),
        }
    } else {
        PreflightProblem {
            missing: format!("no user namespaces for ordinary users ({name})"),
            untested: "the half of lab and e2e that runs as an ordinary user is",
            remedy: remedy.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forbidding_setting_has_its_remedy() {
        let (_, _, name, remedy) = SETTINGS[0];
        let problem = no_user_namespaces("unshare failed", Some((name, remedy)), true);
        assert_eq!(problem.missing, "no user namespaces (user.max_user_namespaces=0)");
        assert_eq!(problem.remedy, "run as root, or: sudo sysctl user.max_user_namespaces=15000");
    }

    #[test]
    fn an_unknown_cause_is_quoted() {
        let problem = no_user_namespaces("unshare failed: No space left", None, false);
        assert_eq!(
            problem.missing,
            "no user namespaces for ordinary users (unshare failed: No space left)"
        );
        assert!(!problem.remedy.contains("as root"), "{}", problem.remedy);
    }
}
