//! Entry into the sandbox: the private namespaces for the process itself, and the reasons for which the kernel refuses
//! them.
//!
//! Root needs only a mount namespace. Another user first enters a user namespace with the id of root in it, which owns
//! all namespaces that are made later. The process's own network namespace is never changed.

use crate::sys;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};
use std::fs;
use tare_network::Error;

/// Privilege with which the sandbox was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxPrivilege {
    /// The process may administer the machine.
    Root,
    /// The user is an ordinary one, with the id of root within a user namespace of their own.
    User,
}

const WHAT: &str = "enter the lab's private namespaces";
const ROOT: &str = "or run tare as root";

/// Makes the mount namespace of the process private, within a user namespace if that is needed.
pub(crate) fn enter_private_namespaces() -> Result<SandboxPrivilege, Error> {
    let privilege = match sys::unshare_mounts() {
        Ok(()) => SandboxPrivilege::Root,
        Err(Errno::PERM) => {
            become_root_of_a_user_namespace()?;
            SandboxPrivilege::User
        }
        Err(errno) => return Err(Error::new(WHAT, errno)),
    };
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(|errno| refusal(errno, &UserNamespaceSettings::read()))?;
    Ok(privilege)
}

/// Enters a user namespace in which the caller's own user and group are root, and a mount namespace that it owns.
fn become_root_of_a_user_namespace() -> Result<(), Error> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    sys::unshare_user_and_mounts().map_err(|errno| match errno {
        Errno::INVAL => Error::new(WHAT, "the process already has several threads"),
        errno => refusal(errno, &UserNamespaceSettings::read()),
    })?;
    // An unprivileged process may map its own group only after it has denied setgroups (user_namespaces(7)).
    let writes = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ];
    for (path, text) in writes {
        fs::write(path, text).map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => refusal(errno, &UserNamespaceSettings::read()),
            None => Error::new(WHAT, error),
        })?;
    }
    Ok(())
}

/// Settings of the machine that can forbid unprivileged user namespaces. `None` if the kernel has no such setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserNamespaceSettings {
    /// user.max_user_namespaces
    pub(crate) max_user_namespaces: Option<u64>,
    /// kernel.unprivileged_userns_clone, in kernels of Debian and Ubuntu.
    pub(crate) unprivileged_clone: Option<u64>,
    /// kernel.apparmor_restrict_unprivileged_userns, in kernels of Ubuntu.
    pub(crate) apparmor: Option<u64>,
    /// AppArmor profile that confines this process. `None` if no profile does.
    pub(crate) profile: Option<String>,
}

impl UserNamespaceSettings {
    /// Reads the settings.
    pub(crate) fn read() -> Self {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse().ok();
        Self {
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            profile: fs::read_to_string("/proc/self/attr/apparmor/current")
                .ok()
                .and_then(|label| enforced_profile(&label)),
        }
    }
}

/// Returns the profile of a label such as `docker-default (enforce)`. Returns `None` if the profile does not confine.
fn enforced_profile(label: &str) -> Option<String> {
    let (profile, mode) = label.trim_end_matches(['\n', '\0']).rsplit_once(" (")?;
    (mode == "enforce)" || mode == "kill)").then(|| profile.to_owned())
}

/// Returns the reason for which the kernel refused a private namespace, and the remedy that permits no more than is
/// needed.
pub(crate) fn refusal(errno: Errno, settings: &UserNamespaceSettings) -> Error {
    let profile = format!(
        "install the profile packaging/apparmor/tare, which allows user namespaces to this binary only, {ROOT}"
    );
    let (why, remedy) = if settings.apparmor == Some(1) {
        let why = "AppArmor forbids unprivileged user namespaces \
                   (kernel.apparmor_restrict_unprivileged_userns=1)";
        (why.to_owned(), profile)
    } else if settings.unprivileged_clone == Some(0) {
        let why = "unprivileged user namespaces are off (kernel.unprivileged_userns_clone=0)";
        (why.to_owned(), "run tare as root".to_owned())
    } else if settings.max_user_namespaces == Some(0) {
        let why = "user namespaces are off (user.max_user_namespaces=0)";
        (why.to_owned(), "run tare as root".to_owned())
    } else if errno == Errno::NOSPC || errno == Errno::USERS {
        let why = "the limit of user namespaces is reached (user.max_user_namespaces)";
        (why.to_owned(), "end programs that hold user namespaces".to_owned())
    } else if let Some(name) = &settings.profile {
        let why = format!("the AppArmor profile `{name}` of this process forbids user namespaces");
        (why, profile)
    } else {
        let why =
            format!("{errno}: a container runtime or security module forbids user namespaces");
        (why, "run tare outside of that container, or give the container CAP_SYS_ADMIN".to_owned())
    };
    Error::new(WHAT, why).with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_setting_and_never_opens_all() {
        let none = UserNamespaceSettings::default;
        let cases = [
            (
                UserNamespaceSettings { apparmor: Some(1), ..none() },
                "apparmor_restrict_unprivileged_userns",
            ),
            (
                UserNamespaceSettings { unprivileged_clone: Some(0), ..none() },
                "unprivileged_userns_clone",
            ),
            (
                UserNamespaceSettings { max_user_namespaces: Some(0), ..none() },
                "max_user_namespaces",
            ),
            (
                UserNamespaceSettings { profile: Some("shut".to_owned()), ..none() },
                "profile `shut`",
            ),
        ];
        for (settings, name) in cases {
            let error = refusal(Errno::PERM, &settings);
            assert!(error.why.contains(name), "{error}");
            assert!(!error.remedy.contains("sysctl"), "{}", error.remedy);
        }
        let full = refusal(
            Errno::NOSPC,
            &UserNamespaceSettings { max_user_namespaces: Some(9), ..none() },
        );
        assert!(full.why.contains("limit"), "{full}");
    }

    #[test]
    fn only_a_profile_that_is_enforced_confines() {
        assert_eq!(
            enforced_profile("docker-default (enforce)\n").as_deref(),
            Some("docker-default")
        );
        for label in ["unconfined\n", "tare (unconfined)\n", "new (complain)\0", ""] {
            assert_eq!(enforced_profile(label), None, "{label}");
        }
    }
}
