//! Network work of each core: `/proc/net/softnet_stat`, and the CPU time of its `ksoftirqd`.
//!
//! A line of the file is a core that is online, in hexadecimal columns (net/core/net-procfs.c, `softnet_seq_show`):
//! packets received, packets dropped on a full backlog, exhausted budgets, from the tenth column on packets steered to
//! this core (RPS), and in the 13th the core's number. Older kernels have fewer columns. The kernel's threads are
//! visible only to processes of the machine's first PID namespace.

use crate::files::MachineFiles;
use crate::kept_files::KeptFiles;
use crate::proc_stat::ticks_per_second;
use std::sync::OnceLock;
use tare_record::{CoreCounts, Nanos};

/// Columns of `softnet_stat`, from 0.
const PACKETS: usize = 0;
const DROPPED: usize = 1;
const SQUEEZED: usize = 2;
const STEERED: usize = 9;
const CORE: usize = 12;

/// Core number and process id of a `ksoftirqd` thread.
type KsoftirqdThread = (u32, u32);

/// Counters of all cores since the machine started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoreCounterReading {
    cores: Vec<CoreCounts>,
}

impl CoreCounterReading {
    /// Reads the counters of this machine.
    pub(crate) fn read_machine() -> Self {
        static THREADS: OnceLock<Vec<KsoftirqdThread>> = OnceLock::new();
        let threads = THREADS.get_or_init(|| ksoftirqd_threads(&MachineFiles::machine()));
        Self::read(&KeptFiles::machine(), threads)
    }

    fn read(files: &KeptFiles, threads: &[KsoftirqdThread]) -> Self {
        let of_lines = |text: &str| text.lines().zip(0..).filter_map(parse_softnet_line).collect();
        let softnet = files.parse("proc/net/softnet_stat", |text| Some(of_lines(text)));
        let mut cores: Vec<CoreCounts> = softnet.unwrap_or_default();
        for core in &mut cores {
            let thread = threads.iter().find(|(number, _)| *number == core.core);
            core.ksoftirqd = thread.and_then(|(_, pid)| ksoftirqd_cpu_time(files, *pid));
        }
        Self { cores }
    }

    /// Returns the increase of each core's counters since an earlier reading.
    pub(crate) fn since(&self, before: &Self) -> Vec<CoreCounts> {
        let gained = |now: &CoreCounts| {
            let before = before.cores.iter().find(|one| one.core == now.core)?;
            Some(CoreCounts {
                core: now.core,
                packets: now.packets.saturating_sub(before.packets),
                dropped: now.dropped.saturating_sub(before.dropped),
                squeezed: now.squeezed.saturating_sub(before.squeezed),
                steered: now.steered.saturating_sub(before.steered),
                ksoftirqd: now.ksoftirqd.zip(before.ksoftirqd).map(|(now, then)| now - then),
            })
        };
        self.cores.iter().filter_map(gained).collect()
    }
}

/// Parses one line. If the core's number is not in it, the line's number is used.
pub(crate) fn parse_softnet_line((line, at): (&str, u32)) -> Option<CoreCounts> {
    let columns: Option<Vec<u64>> =
        line.split_whitespace().map(|column| u64::from_str_radix(column, 16).ok()).collect();
    let columns = columns?;
    let get = |column: usize| columns.get(column).copied();
    Some(CoreCounts {
        core: get(CORE).map_or(Some(at), |core| u32::try_from(core).ok())?,
        packets: get(PACKETS)?,
        dropped: get(DROPPED)?,
        squeezed: get(SQUEEZED)?,
        steered: get(STEERED).unwrap_or(0),
        ksoftirqd: None,
    })
}

/// Finds the `ksoftirqd` thread of each core, as far as the threads are visible.
fn ksoftirqd_threads(files: &MachineFiles) -> Vec<KsoftirqdThread> {
    let known = |name: String| {
        let pid = name.parse().ok()?;
        let comm = files.text(format!("proc/{pid}/comm"))?;
        Some((comm.strip_prefix("ksoftirqd/")?.parse().ok()?, pid))
    };
    files.names("proc").into_iter().filter_map(known).collect()
}

/// Reads the CPU time of a kernel thread (proc_pid_stat(5): after the name, utime is the 12th field, then stime).
fn ksoftirqd_cpu_time(files: &KeptFiles, pid: u32) -> Option<Nanos> {
    files.parse(format!("proc/{pid}/stat"), parse_ksoftirqd_stat)
}

fn parse_ksoftirqd_stat(stat: &str) -> Option<Nanos> {
    let (name, fields) = stat.rsplit_once(") ")?;
    let times = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().ok());
    let ticks: u64 = times.sum::<Option<u64>>()?;
    let time = Nanos(ticks.saturating_mul(1_000_000_000) / ticks_per_second().max(1));
    name.contains("(ksoftirqd/").then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use proptest::prelude::*;

    fn line(packets: u64, dropped: u64, core: u32) -> String {
        format!("{packets:08x} {dropped:08x} 00000003 0 0 0 0 0 0 0000000a 0 0 {core:08x} 0 0\n")
    }

    fn ksoftirqd(ticks: u64) -> String {
        format!("20 (ksoftirqd/1) S 2 0 0 0 -1 69238848 0 0 0 0 1 {ticks} 0 0 20 0 1 0\n")
    }

    #[test]
    fn each_core_has_its_own_counters() {
        let root = tempfile::tempdir().unwrap();
        let first = line(16, 0, 0) + &line(255, 1, 1);
        let files = write_test_files(
            root.path(),
            &[
                ("proc/net/softnet_stat", first.as_str()),
                ("proc/20/comm", "ksoftirqd/1\n"),
                ("proc/20/stat", &ksoftirqd(2)),
                ("proc/21/comm", "ksoftirqd-like\n"),
            ],
        );
        let threads = ksoftirqd_threads(&files);
        let files = KeptFiles::new(files);
        assert_eq!(threads, [(1, 20)]);
        let before = CoreCounterReading::read(&files, &threads);
        let second = line(16, 0, 0) + &line(300, 8, 1);
        let ticks = ksoftirqd(2 + ticks_per_second());
        write_test_files(
            root.path(),
            &[("proc/net/softnet_stat", second.as_str()), ("proc/20/stat", &ticks)],
        );
        let cores = CoreCounterReading::read(&files, &threads).since(&before);
        assert_eq!(cores[0], CoreCounts::default());
        let busy = CoreCounts {
            core: 1,
            packets: 45,
            dropped: 7,
            ksoftirqd: Some(Nanos(1_000_000_000)),
            ..CoreCounts::default()
        };
        assert_eq!(cores[1], busy);
    }

    #[test]
    fn a_machine_that_says_nothing_has_none() {
        let root = tempfile::tempdir().unwrap();
        let files = MachineFiles::under(root.path());
        assert_eq!(
            CoreCounterReading::read(&KeptFiles::new(files.clone()), &ksoftirqd_threads(&files)),
            CoreCounterReading::default()
        );
        assert!(!CoreCounterReading::read_machine().cores.is_empty(), "this one says something");
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "([0-9a-f]{1,8} |x|\n){0,40}") {
            prop_assert!(text.lines().zip(0..).filter_map(parse_softnet_line).count() <= text.lines().count());
        }
    }
}
