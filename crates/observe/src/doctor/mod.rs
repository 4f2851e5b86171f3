//! What is wrong with this machine for measuring on it, and what would help.
//!
//! Each check is a pure function of what was read before. What forbids measuring is a [`State::Fail`]; what only
//! makes figures noisier or keeps some networks from running is a [`State::Warn`]. Printing is the command's.

mod noise;
mod system;

use crate::environment;
use crate::files::Files;
use crate::hardware;
use crate::presence;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As it should be, or not visible from here.
    Ok,
    /// Figures will be noisier than they could be, or some networks cannot run.
    Warn,
    /// Nothing in the lab can be measured.
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at, in a word or two.
    pub name: &'static str,
    /// How bad it is.
    pub state: State,
    /// What was seen, in one line.
    pub detail: String,
    /// What would help, in one line; nothing where nothing needs help.
    pub remedy: Option<String>,
}

impl Check {
    /// Something that is as it should be.
    pub fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Ok, detail: detail.into(), remedy: None }
    }

    fn warn(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, state: State::Warn, detail: detail.into(), remedy: Some(remedy.into()) }
    }

    /// Something that keeps the lab from measuring, with what would help.
    pub fn fail(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, state: State::Fail, detail: detail.into(), remedy: Some(remedy.into()) }
    }
}

/// Looks at everything, most fundamental first. Nothing is changed, installed or loaded. What only trying tells is
/// the lab's to say: whether it can have namespaces of its own, and whether the kernel tells it why it drops packets.
#[must_use]
pub fn diagnose(namespaces: Check, reasons: Check) -> Vec<Check> {
    let files = Files::machine();
    let machine = environment::read();
    let mut checks = vec![
        system::kernel(&machine.kernel),
        namespaces,
        system::nft(environment::find_program("nft").is_some(), machine.programs.get("nft")),
    ];
    checks.extend(system::headroom(&machine.headroom));
    checks.push(system::limits(&files));
    checks.push(reasons);
    checks.push(system::counters(&hardware::counting()));
    checks.push(noise::cores(&machine.cores, environment::sibling_threads(&files, &machine.cores)));
    checks.push(noise::load(machine.load, machine.cores.len()));
    checks.push(noise::other_runs(presence::runs()));
    checks.push(noise::governor(machine.governor.as_deref()));
    checks.push(noise::boost(machine.boost));
    checks.push(noise::clock(machine.clock.as_deref()));
    checks.push(noise::virtualisation(machine.virtualisation.as_deref()));
    checks.push(system::congestion_control(&machine));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_not_well_has_a_remedy() {
        let checks = diagnose(Check::ok("namespaces", "there"), Check::ok("drop reasons", "told"));
        assert!(checks.iter().any(|check| check.name == "kernel"));
        for check in checks {
            assert_eq!(check.remedy.is_some(), check.state != State::Ok, "{check:?}");
            assert!(!check.detail.contains('\n'), "{check:?}");
        }
    }
}
