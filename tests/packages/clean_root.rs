//! Clean Debian systems: the root file systems of `target/roots`, each under a layer of the test's own, entered by pivot_root,
//! because the kernel forbids user namespaces to processes after chroot.

use crate::files;
use std::process::Command;
use support::schema::repository;

/// Script that enters the system and runs `$1` in it: all mounts are in a mount namespace that ends with the script.
const ENTER: &str = r#"
layer=$TARE_ROOTS/layer
mount -t tmpfs tmpfs "$layer"
mkdir "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=$TARE_ROOTS/$TARE_SUITE,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
cd "$layer/root"
mkdir packages old
mount --bind "$TARE_PACKAGES" packages
mount --rbind /sys sys
mount --rbind /dev dev
mount -t proc proc proc
pivot_root . old
cd /
umount -l /old
rmdir /old
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
exec /bin/sh -euc "$1"
"#;

/// Commands of the tests' scripts: `files` lists all files of the system, without users', temporary ones and the database of rpm, which
/// Debian's systems do not have before its first use; `as_user` runs a command as an ordinary user.
const COMMANDS: &str = r#"
files() { find / -xdev \( -path /home -o -path /tmp -o -path /root/.rpmdb -o -path /var/lib/rpm \) -prune -o -print | sort; }
as_user() { (cd /home/user && setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/user "$@"); }
useradd --create-home --uid 1000 user
"#;

/// Returns the output of a script in a fresh system of a suite.
#[track_caller]
pub(crate) fn run(suite: &str, script: &str) -> String {
    let roots = repository().join("target/roots");
    assert!(roots.join(suite).exists(), "no {suite}: cargo xtask test-system --only packages");
    let mut unshare = Command::new("setpriv");
    unshare.args(["--pdeathsig", "KILL", "--", "unshare", "--mount", "--propagation", "private"]);
    unshare.args(["--pid", "--fork", "--kill-child", "--", "/bin/sh", "-euc", ENTER, "sh"]);
    unshare.arg(format!("{COMMANDS}{script}"));
    unshare.env("TARE_ROOTS", roots).env("TARE_SUITE", suite);
    files::output(unshare.env("TARE_PACKAGES", files::directory()))
}
