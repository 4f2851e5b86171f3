//! Gives the program its version with the commit that it was built from, for `tare --version`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = package.join("../..");
    println!("cargo::rerun-if-env-changed=TARE_COMMIT");
    // A file that does not exist would be one that changes at every build.
    for file in ["build.rs", "../../.git/HEAD", "../../.git/logs/HEAD"] {
        if package.join(file).exists() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let commit = env::var("TARE_COMMIT").ok().or_else(|| commit_of(&root));
    let version = commit.map_or_else(|| version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=TARE_VERSION={version}");
}

/// Returns the commit of a checkout. Returns `None` if this is none, as in an archive of the sources: a repository around
/// it is another one.
fn commit_of(root: &Path) -> Option<String> {
    let git = |what: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(what).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    let is_own = top.canonicalize().ok()? == root.canonicalize().ok()?;
    if is_own { git(&["rev-parse", "--short=12", "HEAD"]) } else { None }
}
