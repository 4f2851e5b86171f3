//! Namespaces that programs of the network have made, in the place of those that the lab has made for them.

use crate::plan::wiring::{Adoption, PlannedNamespace, Wiring};
use crate::programs::RunningPrograms;
use std::fs::{self, File};
use std::sync::Arc;
use tare_network::Error;
use tare_sandbox::Namespace;

/// Returns the namespaces of a wiring whose programs are ready, with those that programs have made in their places.
///
/// Fails if a program has made no namespace, or if it cannot be entered.
pub(crate) fn adopt(
    wiring: &Wiring,
    made: Vec<Arc<Namespace>>,
    programs: &RunningPrograms,
) -> Result<Vec<Arc<Namespace>>, Error> {
    let adopted = |(planned, made): (&PlannedNamespace, Arc<Namespace>)| match &planned.adopted {
        None => Ok(made),
        Some(adoption) => adopt_one(planned, adoption, programs).map(Arc::new),
    };
    wiring.spaces.iter().zip(made).map(adopted).collect()
}

fn adopt_one(
    planned: &PlannedNamespace,
    Adoption { node, pid_file }: &Adoption,
    programs: &RunningPrograms,
) -> Result<Namespace, Error> {
    let what = || format!("take over the network namespace {}", planned.name);
    let mounts =
        programs.mounts(*node).ok_or_else(|| Error::new(what(), "its node has no programs"))?;
    // The PID is one of the PID namespace whose procfs the programs of the node see.
    let open = || {
        mounts.enter()?;
        let read = || -> std::io::Result<File> {
            let pid = fs::read_to_string(pid_file)?;
            File::open(format!("/proc/{}/ns/net", pid.trim()))
        };
        read().map_err(|error| Error::new(what(), error))
    };
    let opened = std::thread::scope(|scope| scope.spawn(open).join());
    let file = opened.unwrap_or_else(|_| Err(Error::new(what(), "the thread panicked")))?;
    Namespace::adopt(&planned.name, file.into(), &planned.sysctls)
}
