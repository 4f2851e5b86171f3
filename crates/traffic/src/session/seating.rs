//! Which agent serves which containers.
//!
//! A few containers have an agent each, as a container runs programs of its own. Of many, each side has one agent for
//! every core: a process for every container would cost more memory, and more of the cores' time, than its traffic.

use super::crew::Member;
use std::ops::Range;
use std::path::PathBuf;
use tare_network::Container;

/// Up to so many containers each have agents of their own.
pub(super) const OWN_AGENTS: usize = 32;

/// The containers of a session by member: servers, then clients, each as often as it has client processes.
pub(super) struct Everybody<'a> {
    /// By member.
    pub(super) containers: Vec<&'a dyn Container>,
    /// How many of them are servers.
    pub(super) servers: usize,
}

/// One agent's containers.
pub(super) enum Seating<'a> {
    /// Its own.
    Own(Member, &'a dyn Container),
    /// Shared, each by its network namespace.
    Shared(Vec<(Member, &'a dyn Container, PathBuf)>),
}

/// How many agents there are for so many members whose containers can share some.
pub(super) fn agents(members: usize, cores: usize) -> usize {
    if members > OWN_AGENTS { members.min(2 * cores) } else { members }
}

/// All agents, of which at most so many share the containers of a side.
pub(super) fn seat<'a>(everybody: &Everybody<'a>, cores: usize) -> Vec<Seating<'a>> {
    let containers = everybody.containers.iter().copied();
    shared(everybody, cores).unwrap_or_else(|| {
        containers.enumerate().map(|(at, one)| Seating::Own(Member(at), one)).collect()
    })
}

/// Shared agents; nothing where there are few containers, or one of them cannot be served from outside.
fn shared<'a>(everybody: &Everybody<'a>, cores: usize) -> Option<Vec<Seating<'a>>> {
    let Everybody { containers, servers } = everybody;
    if containers.len() <= OWN_AGENTS {
        return None;
    }
    let files: Vec<PathBuf> =
        containers.iter().map(|container| container.namespace()).collect::<Option<_>>()?;
    let deal = |side: Range<usize>| {
        let hands = cores.clamp(1, side.len().max(1));
        let seated = |at: usize| (Member(at), containers[at], files[at].clone());
        (0..hands)
            .map(|hand| side.clone().skip(hand).step_by(hands).map(seated).collect::<Vec<_>>())
            .filter(|hand| !hand.is_empty())
            .map(Seating::Shared)
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

    /// Which members each agent serves; none inside for an agent of a container's own.
    fn seated(fakes: &[Fake], servers: usize, cores: usize) -> Vec<Vec<usize>> {
        let containers = fakes.iter().map(|fake| fake as &dyn Container).collect();
        seat(&Everybody { containers, servers }, cores)
            .iter()
            .map(|seating| match seating {
                Seating::Own(..) => Vec::new(),
                Seating::Shared(all) => all.iter().map(|(member, ..)| member.0).collect(),
            })
            .collect()
    }

    fn fakes(count: usize) -> Vec<Fake> {
        (0..count).map(|at| Fake(Some(format!("/proc/1/fd/{at}").into()))).collect()
    }

    #[test]
    fn few_containers_and_those_elsewhere_have_agents_of_their_own() {
        assert_eq!(seated(&fakes(OWN_AGENTS), 1, 2), vec![Vec::<usize>::new(); OWN_AGENTS]);
        let mut elsewhere = fakes(OWN_AGENTS + 1);
        elsewhere[5] = Fake(None);
        assert_eq!(seated(&elsewhere, 1, 2), vec![Vec::<usize>::new(); OWN_AGENTS + 1]);
    }

    proptest! {
        #[test]
        fn everybody_is_seated_once_and_no_agent_has_both_sides(
            count in OWN_AGENTS + 1..200,
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
