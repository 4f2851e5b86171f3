//! Version that is published, and its time: that of the commit, so that packages do not depend on the day of their build.

use super::target::DistTarget;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::process::Command;

/// Version, and time of its commit.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    /// Version of the workspace.
    pub(crate) version: &'static str,
    /// Seconds since 1970.
    pub(crate) epoch: u64,
}

impl Release {
    /// Reads the time of the commit. `SOURCE_DATE_EPOCH` sets another one, as for sources without git.
    pub(super) fn of_checkout(repository: &Repository) -> Result<Self> {
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(given) => given,
            Err(_) => {
                process::output(repository.command("git").args(["log", "-1", "--format=%ct"]))
                    .context("cannot read the time of the commit: set SOURCE_DATE_EPOCH")?
            }
        };
        let epoch = epoch.trim().parse().with_context(|| {
            format!("invalid time {:?}: expected seconds since 1970", epoch.trim())
        })?;
        Ok(Self { version: env!("CARGO_PKG_VERSION"), epoch })
    }

    /// Returns the name of files of a target: `tare-VERSION-TARGET`.
    pub(super) fn name(&self, target: &DistTarget) -> String {
        format!("tare-{}-{}", self.version, target.triple)
    }

    /// Sets what packaging programs would otherwise take from this machine: time, time zone and language.
    pub(super) fn apply_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("SOURCE_DATE_EPOCH", self.epoch.to_string())
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
    }
}
