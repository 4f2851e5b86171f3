//! Congestion control of a run: one for all its networks.
//!
//! A control that paces (bbr) finds its own level on a path without a wire, whatever the network is: the comparison would
//! be one of its model. A run uses `cubic` if every end of every network may, and `reno` otherwise, which every kernel
//! has and lets everybody choose.

use crate::catalogue::BuildCatalogue;
use std::path::Path;
use tare_network::{AgentNamespaces, NetworkSpec};
use tare_record::{Finding, Plan};

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
            is_administrator: rustix::process::geteuid().is_root(),
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

/// Gives every workload over TCP that names no congestion control the one of the run, and notes if the host's is another
/// one.
pub(crate) fn complete_plan(plan: &mut Plan, everything: &BuildCatalogue) {
    let controls = KernelControls::read();
    let ends: Vec<AgentNamespaces> = plan
        .networks
        .iter()
        .map(|entry| match entry.network.parse::<NetworkSpec>() {
            Ok(spec) => everything.agent_namespaces(&spec),
            Err(_) => AgentNamespaces::OtherMachine,
        })
        .collect();
    complete(plan, &controls, controls.choose(ends), |workload| {
        everything.has_parameter(workload, PARAMETER)
    });
}

/// Gives the workloads for which `takes_one` is true this control, unless they name one.
pub(crate) fn complete(
    plan: &mut Plan,
    controls: &KernelControls,
    chosen: &str,
    takes_one: impl Fn(&str) -> bool,
) {
    let mut is_used = false;
    for workload in plan.workloads.iter_mut().filter(|workload| takes_one(&workload.name)) {
        let named = workload.parameters.entry(PARAMETER.to_owned());
        is_used |= named.or_insert_with(|| chosen.into()).as_str() == Some(chosen);
    }
    if is_used && !controls.own.is_empty() && controls.own != chosen {
        plan.findings
            .push(Finding::HostCongestion { host: controls.own.clone(), used: chosen.to_owned() });
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
}
