//! `tare doctor`: what is wrong with this machine for measuring on it, and what would help. Nothing is changed.

use crate::catalogue::{Everything, everything};
use crate::cli::DoctorArguments;
use crate::exit::Exit;
use schemars::JsonSchema;
use serde::Serialize;
use tare_lab::Modules;
use tare_network::Missing;
use tare_observe::doctor::{self, State};

/// What `tare doctor --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Diagnosis {
    /// Everything that was looked at.
    checks: Vec<Check>,
    /// Kernel modules that networks need, that are not loaded and could be.
    modules: Vec<String>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
struct Check {
    /// What.
    name: String,
    /// `ok`, `warn` or `fail`.
    state: String,
    /// What was seen.
    detail: String,
    /// What would help.
    remedy: Option<String>,
}

/// Looks at the machine.
pub(crate) fn run(arguments: &DoctorArguments) -> anyhow::Result<Exit> {
    let everything = everything(None, Modules::Never);
    let modules = everything.loadable_modules();
    if arguments.modules {
        if !modules.is_empty() {
            crate::out::print(&modules.join("\n"))?;
        }
        return Ok(Exit::Done);
    }
    let found = doctor::diagnose(namespaces(&everything), drop_reasons());
    let failed = found.iter().any(|check| check.state == State::Fail);
    let diagnosis = Diagnosis { checks: found.into_iter().map(Check::from).collect(), modules };
    let text = if arguments.json {
        serde_json::to_string_pretty(&diagnosis)?
    } else {
        diagnosis.in_words()
    };
    crate::out::print(&text)?;
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Whether this user may make the lab's namespaces: tried out, for many things can forbid it.
fn namespaces(everything: &Everything) -> doctor::Check {
    const NAME: &str = "namespaces";
    match everything.lacks_namespaces() {
        None => doctor::Check::ok(NAME, "this user may make those that the lab needs"),
        Some(Missing { reason, remedy }) => doctor::Check::fail(NAME, reason, remedy),
    }
}

/// Whether the kernel says why it drops packets. Without that nothing measures worse: where they are lost, counters tell.
fn drop_reasons() -> doctor::Check {
    const NAME: &str = "drop reasons";
    match tare_lab::drop_reasons() {
        Ok(()) => doctor::Check::ok(NAME, "the kernel says why it drops packets"),
        Err(error) => {
            let remedy = Some(error.remedy).filter(|remedy| !remedy.is_empty());
            let remedy = remedy.map(|remedy| format!("; {remedy} to be told")).unwrap_or_default();
            doctor::Check::ok(NAME, format!("not told by this kernel: {}{remedy}", error.why))
        }
    }
}

impl From<doctor::Check> for Check {
    fn from(check: doctor::Check) -> Self {
        let state = match check.state {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Fail => "fail",
        };
        Self {
            name: check.name.to_owned(),
            state: state.to_owned(),
            detail: check.detail,
            remedy: check.remedy,
        }
    }
}

impl Diagnosis {
    fn in_words(&self) -> String {
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
        let mut text = String::new();
        for check in &self.checks {
            text.push_str(&format!("{:4}  {:width$}  {}\n", check.state, check.name, check.detail));
            if let Some(remedy) = &check.remedy {
                text.push_str(&format!("      {:width$}  → {remedy}\n", ""));
            }
        }
        if !self.modules.is_empty() {
            let names = self.modules.join(" ");
            text.push_str(&format!(
                "      kernel modules that would make more networks run: sudo modprobe -a {names}\n"
            ));
        }
        text
    }
}
