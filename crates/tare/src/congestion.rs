//! Congestion control of a run: one for all its networks.
//!
//! A control that paces (bbr) finds its own level on a path without a wire, whatever the network is: the comparison would
//! be one of its model. A run uses `cubic` if every end of every network may, and `reno` otherwise, which every kernel
//! has and lets everybody choose.
//!
//! Programs that choose none have the default of their network namespace. The run's control is the default of every
//! namespace that tare makes, if the kernel permits it: a restricted control may be that of the first namespace only.

use crate::catalogue::BuildCatalogue;
use crate::exit::usage_error;
use std::path::Path;
use tare_network::{AgentNamespaces, NetworkSpec};
use tare_observe::environment;
use tare_record::finding::{HostCongestionControl, OtherDefaultCongestion};
use tare_record::{Finding, Plan};
use tare_traffic::SYSTEM_CONGESTION;
use tare_traffic::parameters::CONGESTION;

/// Control that is used where every end may.
const PREFERRED: &str = "cubic";

/// Control that every kernel has and lets everybody use.
const UNIVERSAL: &str = "reno";

/// Congestion controls of this kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelControls {
    /// Control of new sockets.
    pub(crate) own: String,
    /// Controls that the kernel has.
    available: Vec<String>,
    /// Controls that every user may choose.
    allowed: Vec<String>,
    /// True if this process may choose every control in the namespace in which it was started.
    is_administrator: bool,
}

impl KernelControls {
    /// Reads the controls of this kernel. What cannot be read is empty.
    pub(crate) fn read() -> Self {
        let directory = Path::new("/proc/sys/net/ipv4");
        let words = |name: &str| -> Vec<String> {
            let text = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        };
        Self {
            own: words("tcp_congestion_control").concat(),
            available: words("tcp_available_congestion_control"),
            allowed: words("tcp_allowed_congestion_control"),
            is_administrator: environment::is_root() && has_net_admin(),
        }
    }

    /// Returns true if every user may choose a control, and every namespace have it as its default.
    fn permit_all(&self, name: &str) -> bool {
        let has = |list: &[String]| list.iter().any(|one| one == name);
        has(&self.available) && has(&self.allowed)
    }

    /// Returns true if a namespace that is not the machine's first one may have a control as its default.
    fn permit_default(&self, name: &str) -> bool {
        name == UNIVERSAL || self.permit_all(name)
    }

    /// Returns true if an end in these namespaces may use a control.
    fn permit(&self, name: &str, ends: AgentNamespaces) -> bool {
        let has = |list: &[String]| list.iter().any(|one| one == name);
        let for_all = self.permit_all(name);
        match ends {
            AgentNamespaces::Lab => has(&self.available),
            AgentNamespaces::Caller => for_all || (self.is_administrator && has(&self.available)),
            AgentNamespaces::Container => for_all,
            AgentNamespaces::OtherMachine => false,
        }
    }

    /// Returns the control of a run over networks whose ends are in these namespaces.
    pub(crate) fn choose(&self, ends: impl IntoIterator<Item = AgentNamespaces>) -> &'static str {
        let all = ends.into_iter().all(|ends| self.permit(PREFERRED, ends));
        if all { PREFERRED } else { UNIVERSAL }
    }
}

/// Returns true if this process has CAP_NET_ADMIN (bit 12 of a set, capabilities(7)).
fn has_net_admin() -> bool {
    const NET_ADMIN: u64 = 1 << 12;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = effective.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set & NET_ADMIN != 0)
}

/// Gives every workload over TCP that names no congestion control the one of the run, and the namespaces that tare makes
/// their default, from the flag `--congestion`. Notes if the host's is another one.
///
/// # Errors
/// Fails if two workloads have the same parameters then.
pub(crate) fn complete_plan(
    plan: &mut Plan,
    everything: &BuildCatalogue,
    asked: &[String],
) -> anyhow::Result<()> {
    let controls = KernelControls::read();
    let ends: Vec<AgentNamespaces> = plan
        .networks
        .iter()
        .map(|entry| match entry.network.parse::<NetworkSpec>() {
            Ok(spec) => everything.agent_namespaces(&spec),
            Err(_) => AgentNamespaces::OtherMachine,
        })
        .collect();
    // On another machine the host's own control is not this one's.
    let own = Some(controls.own.as_str())
        .filter(|own| !own.is_empty() && !ends.contains(&AgentNamespaces::OtherMachine));
    let programs = plan
        .workloads
        .iter()
        .any(|workload| everything.has_default_congestion(&workload.name, &workload.parameters));
    let chosen = match controls.choose(ends.iter().copied()) {
        // The control is one for all: programs can have it only as a default.
        chosen if programs && !controls.permit_default(chosen) => UNIVERSAL,
        chosen => chosen,
    };
    let has_one = |workload: &str| everything.has_parameter(workload, CONGESTION);
    let mut used = fill_in(plan, own, chosen, has_one);
    let default = choose_default(plan, &controls, chosen, asked);
    if programs {
        // The default of the namespace in which tare was started stays.
        let in_own = ends.iter().all(|ends| *ends == AgentNamespaces::Caller);
        let of_programs = if in_own { Some(controls.own.clone()) } else { default.clone() };
        note_refusal(plan, of_programs.as_deref(), asked);
        used.extend(of_programs.filter(|name| !used.contains(name)));
    }
    plan.default_congestion = default;
    note_host(plan, own, &used);
    tare_study::check_variants(&plan.workloads).map_err(usage_error)
}

/// Checks that this kernel permits the default control of a plan that was made earlier, perhaps on another machine.
///
/// # Errors
/// Fails if it does not. The error names the control.
pub(crate) fn check_default(plan: &Plan) -> anyhow::Result<()> {
    let controls = KernelControls::read();
    match plan.default_congestion.as_deref().filter(|name| !controls.permit_default(name)) {
        None => Ok(()),
        Some(name) => Err(usage_error(anyhow::anyhow!(
            "cannot resume: programs of the run have the congestion control {name}, which this kernel does not let a \
             network namespace have as its default: see the sysctl net.ipv4.tcp_allowed_congestion_control"
        ))),
    }
}

/// Gives the workloads for which `takes_one` is true this control, unless they name one, and notes if the host's is
/// another one.
pub(crate) fn complete(
    plan: &mut Plan,
    own: Option<&str>,
    chosen: &str,
    takes_one: impl Fn(&str) -> bool,
) {
    let used = fill_in(plan, own, chosen, takes_one);
    note_host(plan, own, &used);
}

/// Gives the workloads for which `takes_one` is true this control, unless they name one. A workload that asks for the
/// host's gets its name, `own`, if it is known: what is measured is then told apart by what is planned. Returns the
/// controls of these workloads.
fn fill_in(
    plan: &mut Plan,
    own: Option<&str>,
    chosen: &str,
    takes_one: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut used: Vec<String> = Vec::new();
    for workload in plan.workloads.iter_mut().filter(|workload| takes_one(&workload.name)) {
        let named =
            workload.parameters.entry(CONGESTION.to_owned()).or_insert_with(|| chosen.into());
        if let Some(own) = own.filter(|_| named.as_str() == Some(SYSTEM_CONGESTION)) {
            *named = own.into();
        }
        used.extend(named.as_str().map(str::to_owned).filter(|name| !used.contains(name)));
    }
    used
}

/// Returns the one control that the flag asks for. Returns `None` for the host's, and for several.
fn asked_control(asked: &[String]) -> Option<&str> {
    match asked {
        [one] if one != SYSTEM_CONGESTION => Some(one),
        _ => None,
    }
}

/// Returns the default control of the namespaces that tare makes: the one that the flag asks for, if the kernel permits
/// it, or else the run's. Returns `None` if it is to be the kernel's own.
fn choose_default(
    plan: &Plan,
    controls: &KernelControls,
    chosen: &str,
    asked: &[String],
) -> Option<String> {
    let permitted = |name: &&str| controls.permit_default(name);
    // Where the host's own is not known by name, sockets that ask for it keep the default.
    let leaves_own = |name: Option<&str>| name == Some(SYSTEM_CONGESTION);
    let mut named = plan.workloads.iter().map(|one| one.parameters.get(CONGESTION)?.as_str());
    let is_left = leaves_own(asked.first().map(String::as_str).filter(|_| asked.len() == 1));
    let default = if is_left || named.any(leaves_own) {
        Some(controls.own.as_str()).filter(permitted)
    } else {
        let run = Some(chosen).filter(permitted).or(Some(UNIVERSAL));
        asked_control(asked).filter(permitted).or(run)
    };
    default.map(str::to_owned)
}

/// Notes if programs have another default control than the one that the flag asks for.
fn note_refusal(plan: &mut Plan, of_programs: Option<&str>, asked: &[String]) {
    let refused = asked_control(asked).filter(|asked| of_programs != Some(asked));
    if let Some((asked, used)) = refused.zip(of_programs) {
        let (asked, used) = (asked.to_owned(), used.to_owned());
        plan.findings.push(Finding::OtherDefaultCongestion(OtherDefaultCongestion { asked, used }));
    }
}

/// Notes if the host's own control, if it is known, is none of those that are used.
fn note_host(plan: &mut Plan, own: Option<&str>, used: &[String]) {
    let is_own = |name: &String| name == SYSTEM_CONGESTION || Some(name.as_str()) == own;
    if let Some(host) = own.filter(|_| !used.is_empty() && !used.iter().any(is_own)) {
        let used = used.join(", ");
        // It is the first note: it changes how all figures are to be read.
        plan.findings.insert(
            0,
            Finding::HostCongestionControl(HostCongestionControl { host: host.to_owned(), used }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AgentNamespaces::{Caller, Container, Lab, OtherMachine};

    fn controls(available: &str, allowed: &str, is_administrator: bool) -> KernelControls {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let (available, allowed) = (words(available), words(allowed));
        KernelControls { own: "bbr".to_owned(), available, allowed, is_administrator }
    }

    #[test]
    fn cubic_is_used_where_every_end_may_and_reno_otherwise() {
        let (all, some) = ("reno bbr cubic", "reno bbr");
        for (available, allowed, is_administrator, ends, chosen) in [
            (all, some, false, vec![Lab, Lab], "cubic"),
            (all, some, false, vec![Lab, Caller], "reno"),
            (all, some, true, vec![Lab, Caller], "cubic"),
            (all, some, true, vec![Lab, Container], "reno"),
            (all, all, false, vec![Lab, Caller, Container], "cubic"),
            (all, all, true, vec![Lab, OtherMachine], "reno"),
            (some, some, true, vec![Lab], "reno"),
            ("", "", true, vec![Lab], "reno"),
        ] {
            let found = controls(available, allowed, is_administrator).choose(ends.clone());
            assert_eq!(found, chosen, "{available}; {allowed}; {is_administrator}; {ends:?}");
        }
    }

    #[test]
    fn programs_have_the_run_s_control_or_the_one_asked_for_where_a_namespace_may() {
        let kernel = controls("reno bbr cubic vegas", "reno bbr cubic", true);
        let restricted = controls("reno bbr cubic", "reno bbr", true);
        for (kernel, chosen, asked, expected) in [
            (&kernel, "cubic", &[][..], "cubic"),
            (&kernel, "reno", &[], "reno"),
            (&kernel, "cubic", &["bbr"], "bbr"),
            (&kernel, "cubic", &["vegas"], "cubic"),
            (&kernel, "cubic", &["nosuch"], "cubic"),
            (&kernel, "cubic", &["bbr", "reno"], "cubic"),
            (&kernel, "cubic", &["system"], "bbr"),
            (&restricted, "cubic", &[], "reno"),
            (&restricted, "cubic", &["cubic"], "reno"),
        ] {
            let asked: Vec<String> = asked.iter().map(|one| (*one).to_owned()).collect();
            let default = choose_default(&plan(&[None]), kernel, chosen, &asked);
            assert_eq!(default.as_deref(), Some(expected), "{chosen} {asked:?}");
        }
        // A workload that asks for the host's, whose name is not known for all networks, finds it as the default.
        let left = choose_default(&plan(&[Some("system")]), &kernel, "cubic", &[]);
        assert_eq!(left.as_deref(), Some("bbr"));
        let unreadable = KernelControls::default();
        assert_eq!(choose_default(&plan(&[Some("system")]), &unreadable, "reno", &[]), None);
        assert_eq!(
            choose_default(&plan(&[None]), &unreadable, "reno", &[]).as_deref(),
            Some("reno")
        );
    }

    #[test]
    fn a_control_that_programs_cannot_have_is_told() {
        let noted = |used: Option<&str>, asked: &[&str]| {
            let mut plan = plan(&[None]);
            let asked: Vec<String> = asked.iter().map(|one| (*one).to_owned()).collect();
            note_refusal(&mut plan, used, &asked);
            plan.findings.first().map(ToString::to_string)
        };
        let told = noted(Some("cubic"), &["vegas"]).unwrap();
        assert!(told.contains("use cubic instead of vegas"), "{told}");
        assert_eq!(noted(Some("reno"), &["reno"]), None);
        assert_eq!(noted(Some("cubic"), &["vegas", "bbr"]), None);
        assert_eq!(noted(Some("bbr"), &["system"]), None);
    }

    /// Returns a plan of this workload, once for each of these controls; `None` names none.
    fn plan(named: &[Option<&str>]) -> Plan {
        let workload = |control: &Option<&str>| tare_study::WorkloadSpec {
            name: "tcp-stream".to_owned(),
            parameters: control
                .iter()
                .map(|name| (CONGESTION.to_owned(), (*name).into()))
                .collect(),
            ..tare_study::WorkloadSpec::default()
        };
        let study = tare_study::Study {
            networks: Some(vec!["host".to_owned()]),
            workloads: Some(named.iter().map(workload).collect()),
            ..tare_study::Study::default()
        };
        let everything =
            crate::catalogue::build_catalogue(None, crate::catalogue::module_policy(false));
        study.plan(&everything, 1).expect("a plan")
    }

    fn completed(named: &[Option<&str>], own: Option<&str>) -> (Vec<String>, Option<String>) {
        let mut plan = plan(named);
        complete(&mut plan, own, "cubic", |_| true);
        let controls = plan.workloads.iter().map(|one| &one.parameters[CONGESTION]);
        let noted = match plan.findings.first() {
            Some(Finding::HostCongestionControl(HostCongestionControl { used, .. })) => {
                Some(used.clone())
            }
            _ => None,
        };
        (controls.map(|one| one.as_str().unwrap_or_default().to_owned()).collect(), noted)
    }

    #[test]
    fn what_is_not_named_is_the_run_s_and_the_host_s_is_named() {
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let noted = |used: &str| Some(used.to_owned());
        assert_eq!(completed(&[None], Some("bbr")), (of(&["cubic"]), noted("cubic")));
        assert_eq!(completed(&[None], Some("cubic")), (of(&["cubic"]), None));
        assert_eq!(completed(&[Some("system")], Some("bbr")), (of(&["bbr"]), None));
        let both = [Some("cubic"), Some("system")];
        assert_eq!(completed(&both, Some("bbr")), (of(&["cubic", "bbr"]), None));
        assert_eq!(completed(&[Some("reno")], Some("bbr")), (of(&["reno"]), noted("reno")));
        // Another machine's own is not known.
        assert_eq!(completed(&both, None), (of(&["cubic", "system"]), None));
    }
}
