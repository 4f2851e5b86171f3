//! Headroom: the free part of the resources that all namespaces share, and the check that a run fits into it.
//!
//! A lab is private, but some of the kernel's tables belong to the whole machine: the neighbour tables, process
//! numbers, memory. When they run full, packets vanish without an error and the host suffers too. They are therefore
//! checked before a network is set up and watched while it exists.

pub(crate) mod neighbour_tables;
mod process_resources;

pub use process_resources::raise_open_files_limit;

use crate::files::MachineFiles;
use std::fmt;
use tare_record::finding::LowHeadroom;
use tare_record::{Finding, Headroom};

/// Share of a table above which its use is a finding.
const WARN_ABOVE: f64 = 0.8;

/// Largest number of objects that a run has at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceDemand {
    /// Number of containers.
    pub containers: u32,
    /// Number of containers that use IPv6.
    pub ipv6_containers: u32,
    /// Number of agents: processes that carry traffic.
    pub agents: u32,
    /// Number of client processes, or of the threads that stand for them.
    pub clients: u32,
    /// Number of flows of all clients together.
    pub flows: u32,
}

impl ResourceDemand {
    /// Returns the demand of so many networks that are up at once.
    #[must_use]
    pub fn of_networks(self, count: u32) -> Self {
        let all = |one: u32| one.saturating_mul(count);
        Self {
            containers: all(self.containers),
            ipv6_containers: all(self.ipv6_containers),
            agents: all(self.agents),
            clients: all(self.clients),
            flows: all(self.flows),
        }
    }
}

/// Policy for the resources that a run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitPolicy {
    /// At most half of the free part of a resource that the host needs; the whole free part of any other resource.
    #[default]
    Enforced,
    /// Everything that the run needs (`--force`): shortages are only reported.
    Forced,
}

/// Error: a run does not fit on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot run {containers} containers: about {} {} are needed, and {} are free{}: {}",
    ResourceAmount(table.kind, *needed), table.kind, ResourceAmount(table.kind, table.free()),
    if table.kind.is_needed_by_host() { ", of which a run may take half, because the host needs the rest" } else { "" },
    table.kind.remedy()
)]
pub struct Error {
    containers: u32,
    needed: u64,
    table: ResourceHeadroom,
}

/// Resource that all namespaces share, or all processes of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResourceKind {
    NeighboursV4,
    NeighboursV6,
    Conntrack,
    Pids,
    OpenFiles,
    Memory,
}

impl ResourceKind {
    const ALL: [Self; 6] = [
        Self::NeighboursV4,
        Self::NeighboursV6,
        Self::Conntrack,
        Self::Pids,
        Self::OpenFiles,
        Self::Memory,
    ];

    /// Returns the resource's name in records.
    fn name(self) -> &'static str {
        match self {
            Self::NeighboursV4 => "neighbours-ipv4",
            Self::NeighboursV6 => "neighbours-ipv6",
            Self::Conntrack => "conntrack",
            Self::Pids => "pids",
            Self::OpenFiles => "open-files",
            Self::Memory => "memory",
        }
    }

    /// Returns a generous estimate of a run's demand. The lab's own neighbours are permanent and do not count against
    /// the threshold; what remains are multicast groups, two for each container that uses IPv6, and neighbours that are
    /// resolved by accident. A container takes its namespace, of which tare holds a descriptor and a netlink socket; an
    /// agent takes its process and pipes; a client takes two threads; a flow takes its sockets, their buffers, and its
    /// conntrack entries: three connections if the handshake is over TCP, in the node's namespace and in the server's.
    fn demand(self, crowd: &ResourceDemand) -> u64 {
        let ResourceDemand { containers, ipv6_containers: speak_ipv6, agents, clients, flows } =
            crowd;
        let [containers, ipv6, agents, clients, flows] =
            [containers, speak_ipv6, agents, clients, flows].map(|&count| u64::from(count));
        match self {
            Self::NeighboursV4 => 32,
            Self::NeighboursV6 => 32 + 2 * ipv6,
            Self::Conntrack => 64 + 4 * containers + 6 * flows,
            Self::Pids => 32 + 8 * agents + 2 * clients,
            Self::OpenFiles => 64 + (2 * containers + 8 * agents).max(3 * flows),
            Self::Memory => (64 << 20) + ((containers + flows) << 20) + agents * (16 << 20),
        }
    }

    /// Returns `true` if the host itself needs the resource: a run takes no more than half of its free part.
    fn is_needed_by_host(self) -> bool {
        matches!(self, Self::NeighboursV4 | Self::NeighboursV6 | Self::Conntrack | Self::Pids)
    }

    /// Returns `true` if the part in use is not free for a run. The exceptions: the kernel counts permanent neighbours
    /// as used, though they take no room, and it counts tracked connections per namespace, from 0.
    fn is_reduced_by_use(self) -> bool {
        matches!(self, Self::Pids | Self::OpenFiles | Self::Memory)
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::NeighboursV4 => {
                "use fewer containers, raise the sysctl net.ipv4.neigh.default.gc_thresh3, or use --force"
            }
            Self::NeighboursV6 => {
                "use fewer containers, raise the sysctl net.ipv6.neigh.default.gc_thresh3, or use --force"
            }
            Self::Conntrack => {
                "use fewer containers or flows, raise the sysctl net.netfilter.nf_conntrack_max, or use --force"
            }
            Self::Pids => {
                "use fewer containers, raise the sysctl kernel.pid_max or the control group's pids.max, or use --force"
            }
            Self::OpenFiles => "use fewer containers or flows, or raise the limit with `ulimit -n`",
            Self::Memory => "use fewer containers, or stop other programs that use memory",
        }
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeighboursV4 => "IPv4 neighbour entries",
            Self::NeighboursV6 => "IPv6 neighbour entries",
            Self::Conntrack => "conntrack entries",
            Self::Pids => "process IDs",
            Self::OpenFiles => "open files",
            Self::Memory => "of memory",
        })
    }
}

/// Amount of a resource, formatted for people.
struct ResourceAmount(ResourceKind, u64);

impl fmt::Display for ResourceAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ResourceKind::Memory => write!(f, "{:.1} GB", self.1 as f64 / 1e9),
            _ => write!(f, "{}", self.1),
        }
    }
}

/// Used amount and limit of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResourceHeadroom {
    kind: ResourceKind,
    used: u64,
    limit: u64,
}

impl ResourceHeadroom {
    fn free(&self) -> u64 {
        if self.kind.is_reduced_by_use() {
            self.limit.saturating_sub(self.used)
        } else {
            self.limit
        }
    }

    /// Returns the amount that a run may take.
    fn available_to_run(&self) -> u64 {
        if self.kind.is_needed_by_host() { self.free() / 2 } else { self.free() }
    }

    /// Returns the same table after a run has taken so much more.
    fn with_more_used(self, more: u64) -> Self {
        Self { used: self.used.saturating_add(more), ..self }
    }

    fn finding(&self) -> Option<Finding> {
        let Headroom { resource, used, limit } = self.to_record();
        self.is_nearly_full().then_some(Finding::LowHeadroom(LowHeadroom { resource, used, limit }))
    }

    fn is_nearly_full(&self) -> bool {
        // The kernel counts permanent neighbours as used, yet they take no room: a use above the limit is no sign of a
        // full table.
        let known = self.kind.is_reduced_by_use() || self.used <= self.limit;
        known && self.used as f64 > self.limit as f64 * WARN_ABOVE
    }

    /// Returns the table of a record. Returns `None` if there is no such resource.
    fn from_record(record: &Headroom) -> Option<Self> {
        let kind = ResourceKind::ALL.into_iter().find(|kind| kind.name() == record.resource)?;
        Some(Self { kind, used: record.used, limit: record.limit })
    }

    fn to_record(self) -> Headroom {
        Headroom { resource: self.kind.name().to_owned(), used: self.used, limit: self.limit }
    }
}

/// Returns `true` if a table is nearly full.
pub(crate) fn is_nearly_full(table: &Headroom) -> bool {
    ResourceHeadroom::from_record(table).is_some_and(|table| table.is_nearly_full())
}

/// Reads the use of all shared resources.
#[must_use]
pub fn read_machine() -> Vec<Headroom> {
    from_files(&MachineFiles::machine())
}

pub(crate) fn from_files(files: &MachineFiles) -> Vec<Headroom> {
    read_resources(files).into_iter().map(ResourceHeadroom::to_record).collect()
}

fn read_resources(files: &MachineFiles) -> Vec<ResourceHeadroom> {
    let mut tables = neighbour_tables::tables(files);
    tables.extend(process_resources::tables(files));
    tables
}

/// Checks that a run fits. Returns no findings if it fits comfortably, and a finding for each resource that gets low.
/// The use in a finding includes the run's demand.
///
/// # Errors
/// Returns an error if the run does not fit and is not forced: the missing resource, and a remedy.
pub fn check(crowd: &ResourceDemand, care: LimitPolicy) -> Result<Vec<Finding>, Error> {
    check_resources(&read_resources(&MachineFiles::machine()), crowd, care)
}

fn check_resources(
    tables: &[ResourceHeadroom],
    crowd: &ResourceDemand,
    care: LimitPolicy,
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for &table in tables {
        let needed = table.kind.demand(crowd);
        if needed > table.available_to_run() && care == LimitPolicy::Enforced {
            return Err(Error { containers: crowd.containers, needed, table });
        }
        findings.extend(table.with_more_used(needed).finding());
    }
    Ok(findings)
}

/// Monitor of the tables while a run's network exists.
#[derive(Clone, Debug)]
pub struct HeadroomMonitor {
    files: MachineFiles,
    overflows: neighbour_tables::NeighbourOverflows,
}

impl HeadroomMonitor {
    /// Starts the monitor.
    #[must_use]
    pub fn start() -> Self {
        Self::with_files(MachineFiles::machine())
    }

    fn with_files(files: MachineFiles) -> Self {
        Self { overflows: neighbour_tables::NeighbourOverflows::read(&files), files }
    }

    /// Reads the tables again, which takes well under a millisecond. Returns the tables that are nearly full, and the
    /// neighbour tables that have refused an entry since the start.
    #[must_use]
    pub fn check(&self) -> Vec<Finding> {
        let overflowed =
            neighbour_tables::NeighbourOverflows::read(&self.files).since(&self.overflows);
        read_resources(&self.files)
            .into_iter()
            .filter_map(|table| {
                // At this moment the table may be empty again; the refusal counts all the same.
                let used = if overflowed.contains(&table.kind) { table.limit } else { 0 };
                ResourceHeadroom { used: table.used.max(used), ..table }.finding()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use proptest::prelude::*;

    fn table(kind: ResourceKind, used: u64, limit: u64) -> ResourceHeadroom {
        ResourceHeadroom { kind, used, limit }
    }

    /// Returns the demand of containers of which all but one are clients, with one flow each.
    fn crowd(containers: u32) -> ResourceDemand {
        let clients = containers.saturating_sub(1);
        ResourceDemand {
            containers,
            ipv6_containers: 0,
            agents: containers.min(4),
            clients,
            flows: clients,
        }
    }

    fn careful(tables: &[ResourceHeadroom], containers: u32) -> Result<Vec<Finding>, Error> {
        check_resources(tables, &crowd(containers), LimitPolicy::Enforced)
    }

    #[test]
    fn ten_containers_fit_here() {
        assert!(check(&crowd(10), LimitPolicy::Enforced).is_ok());
    }

    #[test]
    fn what_cannot_fit_is_refused_in_one_line() {
        let error = careful(&[table(ResourceKind::OpenFiles, 24, 1024)], 1000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot run 1000 containers: about 3061 open files are needed, and 1000 are free: \
             use fewer containers or flows, or raise the limit with `ulimit -n`"
        );
        let error = careful(&[table(ResourceKind::Memory, 0, 1_000_000_000)], 1000).unwrap_err();
        assert!(
            error.to_string().contains("2.2 GB of memory are needed, and 1.0 GB are free"),
            "{error}"
        );
    }

    #[test]
    fn of_what_the_host_lives_on_a_run_takes_half_unless_forced() {
        for kind in [ResourceKind::Pids, ResourceKind::Conntrack, ResourceKind::NeighboursV6] {
            let many = ResourceDemand { ipv6_containers: 400, ..crowd(400) };
            let needed = kind.demand(&many);
            let narrow = [table(kind, 0, 2 * needed - 2)];
            let error =
                check_resources(&narrow, &many, LimitPolicy::Enforced).unwrap_err().to_string();
            assert!(error.contains("a run may take half") && error.ends_with("--force"), "{error}");
            assert!(check_resources(&narrow, &many, LimitPolicy::Forced).is_ok());
            assert!(
                check_resources(&[table(kind, 0, 2 * needed)], &many, LimitPolicy::Enforced)
                    .is_ok()
            );
        }
        let all = [table(ResourceKind::OpenFiles, 0, ResourceKind::OpenFiles.demand(&crowd(10)))];
        assert!(careful(&all, 10).is_ok(), "open files are this process's own");
    }

    #[test]
    fn what_gets_narrow_is_found() {
        let pids = table(ResourceKind::Pids, 700, 1000);
        let used = 700 + ResourceKind::Pids.demand(&crowd(20));
        assert!(used > 800);
        let found =
            Finding::LowHeadroom(LowHeadroom { resource: "pids".into(), used, limit: 1000 });
        assert_eq!(careful(&[pids], 20), Ok(vec![found]));
        assert_eq!(careful(&[table(ResourceKind::Pids, 100, 1000)], 20), Ok(vec![]));
    }

    #[test]
    fn a_full_neighbour_table_is_told_but_does_not_refuse_permanent_ones() {
        let findings = careful(&[table(ResourceKind::NeighboursV4, 950, 1024)], 2000).unwrap();
        assert_eq!(findings.len(), 1);
        let permanent = careful(&[table(ResourceKind::NeighboursV4, 4_000, 1024)], 2000);
        assert_eq!(permanent, Ok(vec![]), "those are the lab's own");
        let ipv6 = ResourceDemand { ipv6_containers: 2000, ..crowd(2000) };
        assert!(
            check_resources(
                &[table(ResourceKind::NeighboursV6, 0, 1024)],
                &ipv6,
                LimitPolicy::Enforced
            )
            .is_err()
        );
    }

    #[test]
    fn an_overflow_during_a_run_is_found_afterwards() {
        let root = tempfile::tempdir().unwrap();
        let limit = ("proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024\n");
        let stat =
            |fulls: &str| format!("entries  allocs   table_fulls\n00000002 00000001 {fulls}\n");
        let files =
            write_test_files(root.path(), &[limit, ("proc/net/stat/arp_cache", &stat("00000000"))]);
        let watch = HeadroomMonitor::with_files(files);
        assert_eq!(watch.check(), []);
        write_test_files(root.path(), &[("proc/net/stat/arp_cache", &stat("0000000a"))]);
        let found = Finding::LowHeadroom(LowHeadroom {
            resource: "neighbours-ipv4".into(),
            used: 1024,
            limit: 1024,
        });
        assert_eq!(watch.check(), [found]);
    }

    proptest! {
        #[test]
        fn more_containers_never_fit_better(used in 0u64..2000, limit in 0u64..2000, n in 0u32..500) {
            for kind in [ResourceKind::NeighboursV6, ResourceKind::Conntrack, ResourceKind::Pids, ResourceKind::OpenFiles] {
                let tables = [table(kind, used, limit)];
                if careful(&tables, n).is_err() {
                    prop_assert!(careful(&tables, n + 1).is_err());
                }
            }
        }
    }
}
