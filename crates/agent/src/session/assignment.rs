//! Assignment of agents to containers.
//!
//! A few containers have an agent each, as a container runs programs of its own. For many containers, each side has one
//! agent for every core: a process for every container would use more memory, and more CPU time, than its traffic.

use super::member::MemberId;
use std::ops::Range;
use std::path::PathBuf;
use tare_network::Container;

/// Most containers that each have agents of their own.
pub(super) const MAX_OWN_AGENTS: usize = 32;

/// Containers of a session by member: servers, then clients, each once for every client process.
pub(super) struct SessionContainers<'a> {
    /// Containers, indexed by member.
    pub(super) containers: Vec<&'a dyn Container>,
    /// Number of servers among them.
    pub(super) servers: usize,
}

/// Containers of one agent.
pub(super) enum AgentAssignment<'a> {
    /// One container, in which the agent runs.
    Own(MemberId, &'a dyn Container),
    /// Several containers, each with its network namespace.
    Shared(Vec<(MemberId, &'a dyn Container, PathBuf)>),
}

/// Returns the number of agents for this many members, if their containers can share agents.
pub(super) fn agent_count(members: usize, cores: usize) -> usize {
    if members > MAX_OWN_AGENTS { members.min(2 * cores) } else { members }
}

/// Assigns agents to all containers; shared agents are at most `cores` for each side.
pub(super) fn assign_agents<'a>(
    everybody: &SessionContainers<'a>,
    cores: usize,
) -> Vec<AgentAssignment<'a>> {
    let containers = everybody.containers.iter().copied();
    assign_shared_agents(everybody, cores).unwrap_or_else(|| {
        containers.enumerate().map(|(at, one)| AgentAssignment::Own(MemberId(at), one)).collect()
    })
}

/// Assigns shared agents. Returns `None` if there are few containers, or if one of them has no reachable network
/// namespace.
fn assign_shared_agents<'a>(
    everybody: &SessionContainers<'a>,
    cores: usize,
) -> Option<Vec<AgentAssignment<'a>>> {
    let SessionContainers { containers, servers } = everybody;
    if containers.len() <= MAX_OWN_AGENTS {
        return None;
    }
    let files: Vec<PathBuf> =
        containers.iter().map(|container| container.namespace()).collect::<Option<_>>()?;
    let deal = |side: Range<usize>| {
        let hands = cores.clamp(1, side.len().max(1));
        let seated = |at: usize| (MemberId(at), containers[at], files[at].clone());
        (0..hands)
            .map(|hand| side.clone().skip(hand).step_by(hands).map(seated).collect::<Vec<_>>())
            .filter(|hand| !hand.is_empty())
            .map(AgentAssignment::Shared)
            .collect::<Vec<_>>()
    };
    let mut all = deal(0..*servers);
    all.extend(deal(*servers..containers.len()));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr};
    use tare_network::{Command, Error, Process};

    struct Fake(Option<PathBuf>);

    impl Container for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }
        fn address(&self) -> IpAddr {
            Ipv4Addr::LOCALHOST.into()
        }
        fn namespace(&self) -> Option<PathBuf> {
            self.0.clone()
        }
        fn spawn(&self, _: &Command) -> Result<Box<dyn Process>, Error> {
            Err(Error::new("start a program", "nothing runs here"))
        }
    }

    /// Returns the members that each agent serves; an empty list stands for an agent of a single container.
    fn seated(fakes: &[Fake], servers: usize, cores: usize) -> Vec<Vec<usize>> {
        let containers = fakes.iter().map(|fake| fake as &dyn Container).collect();
        assign_agents(&SessionContainers { containers, servers }, cores)
            .iter()
            .map(|seating| match seating {
                AgentAssignment::Own(..) => Vec::new(),
                AgentAssignment::Shared(all) => all.iter().map(|(member, ..)| member.0).collect(),
            })
            .collect()
    }

    fn fakes(count: usize) -> Vec<Fake> {
        (0..count).map(|at| Fake(Some(format!("/proc/1/fd/{at}").into()))).collect()
    }

    #[test]
    fn few_containers_and_those_elsewhere_have_agents_of_their_own() {
        assert_eq!(seated(&fakes(MAX_OWN_AGENTS), 1, 2), vec![Vec::<usize>::new(); MAX_OWN_AGENTS]);
        let mut elsewhere = fakes(MAX_OWN_AGENTS + 1);
        elsewhere[5] = Fake(None);
        assert_eq!(seated(&elsewhere, 1, 2), vec![Vec::<usize>::new(); MAX_OWN_AGENTS + 1]);
    }

    proptest! {
        #[test]
        fn everybody_is_seated_once_and_no_agent_has_both_sides(
            count in MAX_OWN_AGENTS + 1..200,
            servers in 1usize..30,
            cores in 1usize..9,
        ) {
            let seated = seated(&fakes(count), servers, cores);
            prop_assert!(seated.len() <= 2 * cores);
            for agent in &seated {
                let sides = agent.iter().filter(|&&member| member < servers).count();
                prop_assert!(sides == 0 || sides == agent.len());
            }
            let mut all: Vec<usize> = seated.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
