//! Congestion control of a run: one for all its networks.
//!
//! A control that paces (bbr) finds its own level on a path without a wire, whatever the network is: the comparison would
//! be one of its model. A run uses `cubic` if every end of every network may, and `reno` otherwise, which every kernel
//! has and lets everybody choose.

use crate::catalogue::BuildCatalogue;
use crate::exit::usage_error;
use std::path::Path;
use tare_network::{AgentNamespaces, NetworkSpec};
use tare_observe::environment;
use tare_record::{Finding, Plan};
use tare_traffic::SYSTEM_CONGESTION;

/// Name of the parameter of all workloads over TCP.
const PARAMETER: &str = "congestion";

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

    /// Returns true if an end in these namespaces may use a control.
    fn permit(&self, name: &str, ends: AgentNamespaces) -> bool {
        let has = |list: &[String]| list.iter().any(|one| one == name);
        let for_all = has(&self.available) && has(&self.allowed);
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

/// Gives every workload over TCP that names no congestion control the one of the run, and notes if the host's is another
/// one.
///
/// # Errors
/// Fails if two workloads have the same parameters then.
pub(crate) fn complete_plan(plan: &mut Plan, everything: &BuildCatalogue) -> anyhow::Result<()> {
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
    let chosen = controls.choose(ends.iter().copied());
    complete(plan, own, chosen, |workload| everything.has_parameter(workload, PARAMETER));
    tare_study::check_variants(&plan.workloads).map_err(usage_error)
}

/// Gives the workloads for which `takes_one` is true this control, unless they name one. A workload that asks for the
/// host's gets its name, `own`, if it is known: what is measured is then told apart by what is planned.
pub(crate) fn complete(
    plan: &mut Plan,
    own: Option<&str>,
    chosen: &str,
    takes_one: impl Fn(&str) -> bool,
) {
    let mut used: Vec<String> = Vec::new();
    for workload in plan.workloads.iter_mut().filter(|workload| takes_one(&workload.name)) {
        let named =
            workload.parameters.entry(PARAMETER.to_owned()).or_insert_with(|| chosen.into());
        if let Some(own) = own.filter(|_| named.as_str() == Some(SYSTEM_CONGESTION)) {
            *named = own.into();
        }
        used.extend(named.as_str().map(str::to_owned).filter(|name| !used.contains(name)));
    }
    let is_own = |name: &String| name == SYSTEM_CONGESTION || Some(name.as_str()) == own;
    if let Some(host) = own.filter(|_| !used.is_empty() && !used.iter().any(is_own)) {
        let used = used.join(", ");
        // It is the first note: it changes how all figures are to be read.
        plan.findings.insert(0, Finding::HostCongestion { host: host.to_owned(), used });
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

    /// Returns a plan of this workload, once for each of these controls; `None` names none.
    fn plan(named: &[Option<&str>]) -> Plan {
        let workload = |control: &Option<&str>| tare_study::WorkloadSpec {
            name: "tcp-stream".to_owned(),
            parameters: control.iter().map(|name| (PARAMETER.to_owned(), (*name).into())).collect(),
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
        let controls = plan.workloads.iter().map(|one| &one.parameters[PARAMETER]);
        let noted = match plan.findings.first() {
            Some(Finding::HostCongestion { used, .. }) => Some(used.clone()),
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
