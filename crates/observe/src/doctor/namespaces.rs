//! Whether this user may make the lab's namespaces.
//!
//! Root may. Others need a user namespace of their own, which three settings can forbid: the number allowed, Debian's
//! `kernel.unprivileged_userns_clone`, and AppArmor (Ubuntu 23.10 and later), which can allow it to one program by a
//! profile. The remedy is never to open user namespaces for every program: the restriction protects the machine.

use super::Check;
use crate::files::Files;

const NAME: &str = "namespaces";

pub(super) fn check(files: &Files, root: bool) -> Check {
    if root {
        return Check::ok(NAME, "root may make them");
    }
    let setting = |path: &str| files.value::<u64>(format!("proc/sys/{path}"));
    if !files.exists("proc/self/ns/user") || setting("user/max_user_namespaces") == Some(0) {
        return Check::fail(
            NAME,
            "user namespaces are switched off (user.max_user_namespaces is 0, or the kernel has none)",
            "run tare as root",
        );
    }
    if setting("kernel/unprivileged_userns_clone") == Some(0) {
        return Check::fail(
            NAME,
            "user namespaces are root's alone (kernel.unprivileged_userns_clone is 0)",
            "run tare as root",
        );
    }
    if setting("kernel/apparmor_restrict_unprivileged_userns") == Some(1) && !has_profile(files) {
        return Check::fail(
            NAME,
            "AppArmor forbids user namespaces to programs without a profile \
             (kernel.apparmor_restrict_unprivileged_userns is 1)",
            "install the profile for this one program: see packaging/README.md; or run tare as root",
        );
    }
    Check::ok(NAME, "an ordinary user may make them")
}

/// Whether AppArmor has put this process under a profile, which then decides instead of the restriction.
fn has_profile(files: &Files) -> bool {
    files
        .text("proc/self/attr/apparmor/current")
        .or_else(|| files.text("proc/self/attr/current"))
        .is_some_and(|label| label.trim_end_matches('\0') != "unconfined")
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use crate::files::lay_out;

    const USER: (&str, &str) = ("proc/self/ns/user", "");
    const ALLOWED: (&str, &str) = ("proc/sys/user/max_user_namespaces", "31000\n");
    const RESTRICTED: (&str, &str) =
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");

    fn state(machine: &[(&str, &str)]) -> (State, String) {
        let root = tempfile::tempdir().unwrap();
        let check = check(&lay_out(root.path(), machine), false);
        (check.state, check.detail)
    }

    #[test]
    fn root_needs_no_permission() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(check(&Files::under(root.path()), true).state, State::Ok);
    }

    #[test]
    fn each_setting_that_forbids_is_named() {
        assert_eq!(state(&[USER, ALLOWED]).0, State::Ok);
        let cases: [(&[(&str, &str)], &str); 4] = [
            (&[], "the kernel has none"),
            (&[USER, ("proc/sys/user/max_user_namespaces", "0")], "user.max_user_namespaces"),
            (
                &[USER, ALLOWED, ("proc/sys/kernel/unprivileged_userns_clone", "0")],
                "kernel.unprivileged_userns_clone",
            ),
            (&[USER, ALLOWED, RESTRICTED], "kernel.apparmor_restrict_unprivileged_userns"),
        ];
        for (machine, name) in cases {
            let (state, detail) = state(machine);
            assert_eq!(state, State::Fail);
            assert!(detail.contains(name), "{detail}");
        }
    }

    #[test]
    fn a_profile_for_this_program_lifts_the_restriction() {
        let label = |text| ("proc/self/attr/apparmor/current", text);
        assert_eq!(state(&[USER, ALLOWED, RESTRICTED, label("tare (unconfined)\n")]).0, State::Ok);
        assert_eq!(state(&[USER, ALLOWED, RESTRICTED, label("unconfined\n")]).0, State::Fail);
    }
}
