//! Modules of Go's module proxy that the tests' programs are built from, and the compiler that builds them.

use crate::process;
use crate::repository::Repository;
use crate::version::is_at_least;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Module in one version, whose own `go.mod` and `go.sum` pin all dependencies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoModule {
    pub(crate) path: &'static str,
    pub(crate) version: &'static str,
    /// Hash of its files, as Go's checksum database states it.
    pub(crate) sum: &'static str,
}

/// Module in the cache, as `go mod download -json` describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CachedModule {
    sum: String,
    dir: PathBuf,
}

impl GoModule {
    /// Makes a writable copy of the module's files, for packages that only their own module may build.
    pub(crate) fn unpack(&self, repository: &Repository, directory: &Path) -> Result<()> {
        if directory.exists() {
            fs::remove_dir_all(directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        let cached = self.download(repository)?;
        // Files of the cache are read-only.
        let mut copy = repository.command("cp");
        copy.args(["-R", "--no-preserve=mode"]).arg(&cached.dir).arg(directory);
        process::output(&mut copy).map(drop)
    }

    fn download(&self, repository: &Repository) -> Result<CachedModule> {
        let Self { path, version, .. } = self;
        let mut go = repository.command("go");
        go.args(["mod", "download", "-json", &format!("{path}@{version}")]);
        let described =
            process::output(&mut go).context("run where Go's modules can be reached")?;
        self.check(&described)
    }

    /// Reads the description of the module in the cache. Other files than the pinned ones are an error.
    fn check(&self, described: &str) -> Result<CachedModule> {
        let Self { path, version, sum } = self;
        let cached: CachedModule = serde_json::from_str(described)
            .with_context(|| format!("cannot read what go says of {path}"))?;
        if cached.sum != *sum {
            bail!("{path}@{version} has the hash {}, not {sum}", cached.sum);
        }
        Ok(cached)
    }
}

/// Returns whether there is a Go compiler of this version or a newer one.
pub(crate) fn has_compiler(repository: &Repository, oldest: &str) -> bool {
    let version = process::output(repository.command("go").args(["env", "GOVERSION"]));
    version.is_ok_and(|version| {
        is_at_least(version.trim().strip_prefix("go").unwrap_or_default(), oldest)
    })
}

/// Returns the hash of everything that programs are made from, for the file that says from what they were.
pub(crate) fn hash_of<T: AsRef<[u8]>>(sources: impl IntoIterator<Item = T>) -> String {
    let mut hash = Sha256::new();
    sources.into_iter().for_each(|source| hash.update(source));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_files_are_built() {
        let module = GoModule { path: "example.org/m", version: "v1.2.3", sum: "h1:right" };
        let described = |sum: &str| format!(r#"{{"Path": "m", "Sum": "{sum}", "Dir": "/m"}}"#);
        assert_eq!(module.check(&described("h1:right")).unwrap().dir, Path::new("/m"));
        let other = module.check(&described("h1:wrong")).unwrap_err().to_string();
        assert_eq!(other, "example.org/m@v1.2.3 has the hash h1:wrong, not h1:right");
        assert!(module.check("{}").is_err());
    }

    #[test]
    fn other_sources_have_another_hash() {
        assert_eq!(hash_of(["a", "b"]).len(), 64);
        assert_ne!(hash_of(["a", "b"]), hash_of(["a", "c"]));
    }
}
