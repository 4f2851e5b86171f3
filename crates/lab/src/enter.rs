//! Entering the lab: the namespaces that the process itself leaves, and why it may not.
//!
//! Root needs a mount namespace only. Anybody else first enters a user namespace in which they are root; whatever is
//! made later belongs to it. The process's own network namespace is never changed.

use crate::sys;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};
use std::fs;
use tare_network::Error;

/// By what right the lab stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The process may administer the machine.
    Root,
    /// An ordinary user, root within a user namespace of their own.
    User,
}

const WHAT: &str = "enter the lab's private namespaces";
const ROOT: &str = "or run tare as root";

/// Makes the process's mount namespace private, within a user namespace where that needs one.
pub(crate) fn private_namespaces() -> Result<Privilege, Error> {
    let privilege = match sys::unshare_mounts() {
        Ok(()) => Privilege::Root,
        Err(Errno::PERM) => {
            become_root_of_a_user_namespace()?;
            Privilege::User
        }
        Err(errno) => return Err(Error::new(WHAT, errno)),
    };
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(|errno| refusal(errno, &Settings::read()))?;
    Ok(privilege)
}

/// Enters a user namespace in which the caller's own user and group are root, and a mount namespace owned by it.
fn become_root_of_a_user_namespace() -> Result<(), Error> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    sys::unshare_user_and_mounts().map_err(|errno| match errno {
        Errno::INVAL => Error::new(WHAT, "the process has several threads already"),
        errno => refusal(errno, &Settings::read()),
    })?;
    // An unprivileged process may map its own group only once it has given up setgroups (user_namespaces(7)).
    let writes = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ];
    for (path, text) in writes {
        fs::write(path, text).map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => refusal(errno, &Settings::read()),
            None => Error::new(WHAT, error),
        })?;
    }
    Ok(())
}

/// The machine's settings that can forbid unprivileged user namespaces; nothing where the kernel has no such setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// user.max_user_namespaces
    pub(crate) most: Option<u64>,
    /// kernel.unprivileged_userns_clone, of Debian's and Ubuntu's kernels.
    pub(crate) clone: Option<u64>,
    /// kernel.apparmor_restrict_unprivileged_userns, of Ubuntu's.
    pub(crate) apparmor: Option<u64>,
    /// The AppArmor profile that confines this process; nothing where none does.
    pub(crate) profile: Option<String>,
}

impl Settings {
    /// Reads them.
    pub(crate) fn read() -> Self {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse().ok();
        Self {
            most: number("/proc/sys/user/max_user_namespaces"),
            clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            profile: fs::read_to_string("/proc/self/attr/apparmor/current")
                .ok()
                .and_then(|label| confining(&label)),
        }
    }
}

/// The profile of a label such as `docker-default (enforce)`; nothing for one that confines nothing.
fn confining(label: &str) -> Option<String> {
    let (profile, mode) = label.trim_end_matches(['\n', '\0']).rsplit_once(" (")?;
    (mode == "enforce)" || mode == "kill)").then(|| profile.to_owned())
}

/// Why the kernel refused a private namespace, and the remedy that opens no more than is needed.
pub(crate) fn refusal(errno: Errno, settings: &Settings) -> Error {
    let profile = format!(
        "install the profile packaging/apparmor/tare, which allows them to this one binary, {ROOT}"
    );
    let (why, remedy) = if settings.apparmor == Some(1) {
        let why = "AppArmor forbids unprivileged user namespaces \
                   (kernel.apparmor_restrict_unprivileged_userns=1)";
        (why.to_owned(), profile)
    } else if settings.clone == Some(0) {
        let why = "unprivileged user namespaces are off (kernel.unprivileged_userns_clone=0)";
        (why.to_owned(), "run tare as root".to_owned())
    } else if settings.most == Some(0) {
        let why = "user namespaces are off (user.max_user_namespaces=0)";
        (why.to_owned(), "run tare as root".to_owned())
    } else if errno == Errno::NOSPC || errno == Errno::USERS {
        let why = "the limit of user namespaces is reached (user.max_user_namespaces)";
        (why.to_owned(), "end the programs that hold them".to_owned())
    } else if let Some(name) = &settings.profile {
        (format!("AppArmor's profile `{name}`, which this process runs under, forbids it"), profile)
    } else {
        let why = format!("{errno}: a container runtime or security module forbids it");
        (why, "run tare outside of that container, or give the container CAP_SYS_ADMIN".to_owned())
    };
    Error::new(WHAT, why).with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_setting_and_never_opens_all() {
        let none = Settings::default;
        let cases = [
            (Settings { apparmor: Some(1), ..none() }, "apparmor_restrict_unprivileged_userns"),
            (Settings { clone: Some(0), ..none() }, "unprivileged_userns_clone"),
            (Settings { most: Some(0), ..none() }, "max_user_namespaces"),
            (Settings { profile: Some("shut".to_owned()), ..none() }, "profile `shut`"),
        ];
        for (settings, name) in cases {
            let error = refusal(Errno::PERM, &settings);
            assert!(error.why.contains(name), "{error}");
            assert!(!error.remedy.contains("sysctl"), "{}", error.remedy);
        }
        let full = refusal(Errno::NOSPC, &Settings { most: Some(9), ..none() });
        assert!(full.why.contains("limit"), "{full}");
    }

    #[test]
    fn only_a_profile_that_is_enforced_confines() {
        assert_eq!(confining("docker-default (enforce)\n").as_deref(), Some("docker-default"));
        for label in ["unconfined\n", "tare (unconfined)\n", "new (complain)\0", ""] {
            assert_eq!(confining(label), None, "{label}");
        }
    }
}
