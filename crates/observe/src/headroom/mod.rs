//! What all namespaces share, and whether a run fits into it.
//!
//! A lab is private, but some of the kernel's tables are the whole machine's: the neighbour tables, process numbers,
//! memory. When they run full, packets vanish without an error and the host suffers too, so they are checked before
//! anything is raised and watched while it stands.

mod neighbours;
mod shares;

pub use shares::lift_open_files;

use crate::files::Files;
use std::fmt;
use tare_record::{Finding, Headroom};

/// How full a table may get before it is a finding.
const WARN_ABOVE: f64 = 0.8;

/// What a run raises at once, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Containers.
    pub containers: u32,
    /// Those of them that speak IPv6.
    pub speak_ipv6: u32,
    /// Agents: processes that carry traffic.
    pub agents: u32,
    /// Client processes, or the threads that stand for them.
    pub clients: u32,
    /// Flows, all clients' together.
    pub flows: u32,
}

/// How much a run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Care {
    /// Of what the host itself lives on no more than half of what is free; of everything else what is free.
    #[default]
    Careful,
    /// Whatever it takes (`--force`): what lacks is only told.
    Forced,
}

/// A run that does not fit on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{containers} containers do not fit: they need about {} {}, and {} are free{}: {}",
    Amount(table.kind, *needed), table.kind, Amount(table.kind, table.free()),
    if table.kind.lives_on() { ", of which a run may take half: the host lives on them too" } else { "" },
    table.kind.remedy()
)]
pub struct Error {
    containers: u32,
    needed: u64,
    table: Table,
}

/// A resource that all namespaces share, or all of a user's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NeighboursV4,
    NeighboursV6,
    Conntrack,
    Pids,
    OpenFiles,
    Memory,
}

impl Kind {
    /// Its name in records.
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

    /// A generous estimate of what a run takes. The lab's own neighbours are permanent and do not count against the
    /// threshold; what remains are multicast groups, two for each container that speaks IPv6, and whatever is resolved by
    /// accident. A container costs its namespace, of which tare holds a descriptor and a netlink socket; an agent its
    /// process and pipes; a client two threads; a flow its sockets, their buffers, and what tracks it: three
    /// connections where it is introduced over TCP, in the node's namespace and in the server's.
    fn demand(self, crowd: &Crowd) -> u64 {
        let Crowd { containers, speak_ipv6, agents, clients, flows } = crowd;
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

    /// Whether the host itself cannot live without it: of these a run takes no more than half of what is free.
    fn lives_on(self) -> bool {
        matches!(self, Self::NeighboursV4 | Self::NeighboursV6 | Self::Conntrack | Self::Pids)
    }

    /// Whether what is in use leaves that much less for a run. The kernel counts permanent neighbours as used, though
    /// they take no room, and tracks connections per namespace, whose own count begins at zero.
    fn shared(self) -> bool {
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
            Self::OpenFiles => "use fewer containers or flows, or raise the limit by `ulimit -n`",
            Self::Memory => "use fewer containers, or end what else uses memory",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeighboursV4 => "IPv4 neighbour entries",
            Self::NeighboursV6 => "IPv6 neighbour entries",
            Self::Conntrack => "conntrack entries",
            Self::Pids => "process numbers",
            Self::OpenFiles => "open files",
            Self::Memory => "of memory",
        })
    }
}

/// How much of a resource, for people.
struct Amount(Kind, u64);

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Memory => write!(f, "{:.1} GB", self.1 as f64 / 1e9),
            _ => write!(f, "{}", self.1),
        }
    }
}

/// How full a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Table {
    kind: Kind,
    used: u64,
    limit: u64,
}

impl Table {
    fn free(&self) -> u64 {
        if self.kind.shared() { self.limit.saturating_sub(self.used) } else { self.limit }
    }

    /// How much of it a run may take.
    fn for_a_run(&self) -> u64 {
        if self.kind.lives_on() { self.free() / 2 } else { self.free() }
    }

    /// The same table once a run is raised.
    fn with(self, more: u64) -> Self {
        Self { used: self.used.saturating_add(more), ..self }
    }

    fn finding(&self) -> Option<Finding> {
        let Headroom { resource, used, limit } = self.record();
        // The kernel counts permanent neighbours as used, yet they take no room: more than there is room for says nothing.
        let known = self.kind.shared() || used <= limit;
        let low = known && used as f64 > limit as f64 * WARN_ABOVE;
        low.then_some(Finding::LowHeadroom { resource, used, limit })
    }

    fn record(&self) -> Headroom {
        Headroom { resource: self.kind.name().to_owned(), used: self.used, limit: self.limit }
    }
}

/// Whether a table is full beyond what is comfortable.
pub(crate) fn nearly_full(table: &Headroom) -> bool {
    table.used as f64 > table.limit as f64 * WARN_ABOVE
}

/// How full everything is now.
#[must_use]
pub fn read() -> Vec<Headroom> {
    from_files(&Files::machine())
}

pub(crate) fn from_files(files: &Files) -> Vec<Headroom> {
    tables(files).iter().map(Table::record).collect()
}

fn tables(files: &Files) -> Vec<Table> {
    let mut tables = neighbours::tables(files);
    tables.extend(shares::tables(files));
    tables
}

/// Whether a run fits: nothing where it does comfortably, findings where it gets narrow. What those call used is what would
/// be, once the run stands.
///
/// # Errors
/// Where it does not, unless it is forced: what lacks, and what to do about it.
pub fn check(crowd: &Crowd, care: Care) -> Result<Vec<Finding>, Error> {
    check_tables(&tables(&Files::machine()), crowd, care)
}

fn check_tables(tables: &[Table], crowd: &Crowd, care: Care) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for &table in tables {
        let needed = table.kind.demand(crowd);
        if needed > table.for_a_run() && care == Care::Careful {
            return Err(Error { containers: crowd.containers, needed, table });
        }
        findings.extend(table.with(needed).finding());
    }
    Ok(findings)
}

/// An eye on the tables while a run stands.
#[derive(Clone, Debug)]
pub struct Watch {
    files: Files,
    overflows: neighbours::Overflows,
}

impl Watch {
    /// Begins to watch.
    #[must_use]
    pub fn start() -> Self {
        Self::over(Files::machine())
    }

    fn over(files: Files) -> Self {
        Self { overflows: neighbours::Overflows::read(&files), files }
    }

    /// Reads the tables again, which takes well under a millisecond: those that are nearly full, and the neighbour
    /// tables that have refused an entry since the start.
    #[must_use]
    pub fn look(&self) -> Vec<Finding> {
        let overflowed = neighbours::Overflows::read(&self.files).since(&self.overflows);
        tables(&self.files)
            .into_iter()
            .filter_map(|table| {
                // By the time of a look the table may have been emptied again; the refusal stands.
                let used = if overflowed.contains(&table.kind) { table.limit } else { 0 };
                Table { used: table.used.max(used), ..table }.finding()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;
    use proptest::prelude::*;

    fn table(kind: Kind, used: u64, limit: u64) -> Table {
        Table { kind, used, limit }
    }

    /// Containers of which all but one are clients, with a flow each.
    fn crowd(containers: u32) -> Crowd {
        let clients = containers.saturating_sub(1);
        Crowd { containers, speak_ipv6: 0, agents: containers.min(4), clients, flows: clients }
    }

    fn careful(tables: &[Table], containers: u32) -> Result<Vec<Finding>, Error> {
        check_tables(tables, &crowd(containers), Care::Careful)
    }

    #[test]
    fn ten_containers_fit_here() {
        assert!(check(&crowd(10), Care::Careful).is_ok());
    }

    #[test]
    fn what_cannot_fit_is_refused_in_one_line() {
        let error = careful(&[table(Kind::OpenFiles, 24, 1024)], 1000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "1000 containers do not fit: they need about 3061 open files, and 1000 are free: \
             use fewer containers or flows, or raise the limit by `ulimit -n`"
        );
        let error = careful(&[table(Kind::Memory, 0, 1_000_000_000)], 1000).unwrap_err();
        assert!(error.to_string().contains("2.2 GB of memory, and 1.0 GB are free"), "{error}");
    }

    #[test]
    fn of_what_the_host_lives_on_a_run_takes_half_unless_forced() {
        for kind in [Kind::Pids, Kind::Conntrack, Kind::NeighboursV6] {
            let many = Crowd { speak_ipv6: 400, ..crowd(400) };
            let needed = kind.demand(&many);
            let narrow = [table(kind, 0, 2 * needed - 2)];
            let error = check_tables(&narrow, &many, Care::Careful).unwrap_err().to_string();
            assert!(error.contains("a run may take half") && error.ends_with("--force"), "{error}");
            assert!(check_tables(&narrow, &many, Care::Forced).is_ok());
            assert!(check_tables(&[table(kind, 0, 2 * needed)], &many, Care::Careful).is_ok());
        }
        let all = [table(Kind::OpenFiles, 0, Kind::OpenFiles.demand(&crowd(10)))];
        assert!(careful(&all, 10).is_ok(), "open files are this process's own");
    }

    #[test]
    fn what_gets_narrow_is_found() {
        let pids = table(Kind::Pids, 700, 1000);
        let used = 700 + Kind::Pids.demand(&crowd(20));
        assert!(used > 800);
        let found = Finding::LowHeadroom { resource: "pids".into(), used, limit: 1000 };
        assert_eq!(careful(&[pids], 20), Ok(vec![found]));
        assert_eq!(careful(&[table(Kind::Pids, 100, 1000)], 20), Ok(vec![]));
    }

    #[test]
    fn a_full_neighbour_table_is_told_but_does_not_refuse_permanent_ones() {
        let findings = careful(&[table(Kind::NeighboursV4, 950, 1024)], 2000).unwrap();
        assert_eq!(findings.len(), 1);
        let permanent = careful(&[table(Kind::NeighboursV4, 4_000, 1024)], 2000);
        assert_eq!(permanent, Ok(vec![]), "those are the lab's own");
        let ipv6 = Crowd { speak_ipv6: 2000, ..crowd(2000) };
        assert!(check_tables(&[table(Kind::NeighboursV6, 0, 1024)], &ipv6, Care::Careful).is_err());
    }

    #[test]
    fn an_overflow_during_a_run_is_found_afterwards() {
        let root = tempfile::tempdir().unwrap();
        let limit = ("proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024\n");
        let stat =
            |fulls: &str| format!("entries  allocs   table_fulls\n00000002 00000001 {fulls}\n");
        let files = lay_out(root.path(), &[limit, ("proc/net/stat/arp_cache", &stat("00000000"))]);
        let watch = Watch::over(files);
        assert_eq!(watch.look(), []);
        lay_out(root.path(), &[("proc/net/stat/arp_cache", &stat("0000000a"))]);
        let found =
            Finding::LowHeadroom { resource: "neighbours-ipv4".into(), used: 1024, limit: 1024 };
        assert_eq!(watch.look(), [found]);
    }

    proptest! {
        #[test]
        fn more_containers_never_fit_better(used in 0u64..2000, limit in 0u64..2000, n in 0u32..500) {
            for kind in [Kind::NeighboursV6, Kind::Conntrack, Kind::Pids, Kind::OpenFiles] {
                let tables = [table(kind, used, limit)];
                if careful(&tables, n).is_err() {
                    prop_assert!(careful(&tables, n + 1).is_err());
                }
            }
        }
    }
}
