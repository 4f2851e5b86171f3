//! `tare doctor`: reports what impairs measurements on this machine, how to improve it, and how small a difference the
//! machine can tell. Nothing is changed.

mod resolution;

use crate::catalogue::{BuildCatalogue, build_catalogue};
use crate::cli::DoctorArguments;
use crate::error_pages;
use crate::exit::CommandExit;
use crate::output;
use resolution::{MachineResolution, NullComparison};
use schemars::JsonSchema;
use serde::Serialize;
use tare_confinement::Mechanism;
use tare_network::UnmetRequirement;
use tare_observe::doctor::{self, CheckStatus};
use tare_sandbox::ModuleLoading;

/// Output of `tare doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Diagnosis {
    /// Results of all checks.
    checks: Vec<CheckResult>,
    /// Kernel modules that networks need, and that can be loaded but are not.
    modules: Vec<String>,
    /// Resolution of the machine. `None` if it was not measured.
    resolution: Option<MachineResolution>,
}

/// Result of one check.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckResult {
    /// Subject of the check.
    name: String,
    /// State of the check: `ok`, `warn` or `fail`.
    state: String,
    /// Observed value or problem.
    detail: String,
    /// Action that would help.
    remedy: Option<String>,
}

/// Checks the machine.
pub(crate) fn run(arguments: &DoctorArguments) -> anyhow::Result<CommandExit> {
    let everything = build_catalogue(None, ModuleLoading::Never);
    let modules = everything.loadable_modules();
    if arguments.modules {
        if !modules.is_empty() {
            output::print(&modules.join("\n"))?;
        }
        return Ok(CommandExit::Done);
    }
    let mut checks = doctor::diagnose(check_namespaces(&everything), check_drop_reasons());
    checks.push(check_confinement());
    let failed = checks.iter().any(|check| check.status == CheckStatus::Fail);
    let comparison = (!failed && !arguments.settings).then(NullComparison::measure);
    checks.extend(comparison.iter().flat_map(NullComparison::checks));
    let exit = match &comparison {
        Some(NullComparison::Interrupted) => CommandExit::Interrupted,
        _ if failed => CommandExit::Failed,
        _ => CommandExit::Done,
    };
    let resolution = match comparison {
        Some(NullComparison::Measured(resolution)) => Some(resolution),
        _ => None,
    };
    let checks = checks.into_iter().map(CheckResult::from).collect();
    let diagnosis = Diagnosis { checks, modules, resolution };
    let text = if arguments.json {
        serde_json::to_string_pretty(&diagnosis)?
    } else {
        diagnosis.to_text()
    };
    output::print(&text)?;
    Ok(exit)
}

/// Checks whether this user may create the lab's namespaces, by creating them, as many settings can forbid it.
fn check_namespaces(everything: &BuildCatalogue) -> doctor::HealthCheck {
    const NAME: &str = "namespaces";
    match everything.missing_namespaces() {
        None => doctor::HealthCheck::ok(NAME, "this user may create the namespaces of the lab"),
        Some(UnmetRequirement { reason, remedy }) => {
            doctor::HealthCheck::fail(NAME, reason, remedy)
        }
    }
}

/// Checks whether the kernel reports drop reasons. Without them nothing is measured worse: counters show where packets
/// are lost.
fn check_drop_reasons() -> doctor::HealthCheck {
    const NAME: &str = "drop reasons";
    match tare_sandbox::drop_reasons() {
        Ok(()) => doctor::HealthCheck::ok(NAME, "the kernel reports why it drops packets"),
        Err(error) => {
            let remedy = Some(error.remedy).filter(|remedy| !remedy.is_empty());
            let remedy =
                remedy.map(|remedy| format!("; to get drop reasons, {remedy}")).unwrap_or_default();
            doctor::HealthCheck::ok(NAME, format!("not available: {}{remedy}", error.why))
        }
    }
}

/// Checks which rights agents and listeners can give up. Nothing is measured worse where they keep some.
fn check_confinement() -> doctor::HealthCheck {
    let rights = [
        (Mechanism::SystemCalls, "system calls (no seccomp, or Linux before 5.11)"),
        (Mechanism::Files, "files (no Landlock)"),
    ];
    let kept = rights.iter().filter(|(mechanism, _)| !mechanism.is_available());
    let kept: Vec<_> = kept.map(|(_, right)| *right).collect();
    let detail = if kept.is_empty() {
        "agents and listeners give up capabilities, system calls and files".to_owned()
    } else {
        format!("agents and listeners give up capabilities, but not {}", kept.join(" and "))
    };
    doctor::HealthCheck::ok("confinement", detail)
}

impl From<doctor::HealthCheck> for CheckResult {
    fn from(check: doctor::HealthCheck) -> Self {
        let state = match check.status {
            CheckStatus::Ok => "ok",
            CheckStatus::Warn => "warn",
            CheckStatus::Fail => "fail",
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
    fn to_text(&self) -> String {
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
        let mut text = String::new();
        for check in &self.checks {
            text.push_str(&format!("{:4}  {:width$}  {}\n", check.state, check.name, check.detail));
            if let Some(remedy) = &check.remedy {
                let pointer = error_pages::pointer(&check.detail);
                text.push_str(&format!("      {:width$}  → {remedy}{pointer}\n", ""));
            }
        }
        if !self.modules.is_empty() {
            let names = self.modules.join(" ");
            text.push_str(&format!(
                "      to run more networks, load kernel modules: sudo modprobe -a {names}\n"
            ));
        }
        text
    }
}
