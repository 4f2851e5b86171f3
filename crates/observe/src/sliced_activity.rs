//! Activity of the host's CPUs during the slices of a woven trial.
//!
//! The machine is read just before and just after every slice, by the process that orders it, so that what other
//! networks' slices take is not in it. Between the two readings lie the slice's uncounted beginning and its end, too:
//! CPU time and counts are taken in proportion to the time that counts.

use crate::core_counters::CoreCounterReading;
use crate::files::MachineFiles;
use crate::frequency::MeanFrequency;
use crate::kept_files::KeptFiles;
use crate::perf_counters::PerfCounters;
use crate::proc_stat::ticks_per_second;
use crate::sampler::{MachineReading, read};
use crate::whole_trial::{ObservedTime, WholeTrialObservation, own_time};
use std::collections::BTreeMap;
use std::time::Duration;
use tare_record::{
    CoreCounts, CpuUse, Finding, HardwareCounters, HardwareEventCounts, HardwareSample,
    HostActivity, MachineSample, MeasurementOverhead, Nanos, TrialCounters,
};

/// Observation of the machine over the slices of one trial.
#[derive(Debug)]
pub struct SlicedActivityMonitor {
    files: MachineFiles,
    counters: Option<PerfCounters>,
    kept: KeptFiles,
    whole: WholeTrialObservation,
    open: Option<SliceReading>,
    sums: SliceSums,
}

/// Reading at one edge of a slice.
#[derive(Debug)]
struct SliceReading {
    machine: MachineReading,
    cores: CoreCounterReading,
    own: Nanos,
}

/// Sums over the slices so far.
#[derive(Debug, Default)]
struct SliceSums {
    /// Everything between the readings of all slices.
    observed: ObservedTime,
    /// Counted parts, in slice time.
    samples: Vec<MachineSample>,
    frequency: MeanFrequency,
    hardware: Option<HardwareCounters>,
    is_hardware_lost: bool,
    cores: BTreeMap<u32, CoreCounts>,
    context_switches: u64,
    cost: (u32, Duration),
}

impl SlicedActivityMonitor {
    /// Starts to observe a trial of which no slice has begun. `agents` are the processes that carry its traffic.
    #[must_use]
    pub fn start(agents: &[u32]) -> Self {
        let files = MachineFiles::machine();
        Self {
            counters: PerfCounters::open_machine(agents),
            whole: WholeTrialObservation::start(&files),
            files,
            kept: KeptFiles::machine(),
            open: None,
            sums: SliceSums::default(),
        }
    }

    /// Reads the machine before a slice.
    pub fn begin_slice(&mut self) {
        self.open = self.read();
    }

    /// Reads the machine after a slice. `counted` is the length of its counted part, ns; `None` for a slice of the
    /// warm-up, which is left out.
    pub fn end_slice(&mut self, counted: Option<Nanos>) {
        let Some((before, length)) = self.open.take().zip(counted) else { return };
        if let Some(after) = self.read() {
            self.sums.add(&before, &after, length, self.counters.as_ref());
        }
    }

    fn read(&mut self) -> Option<SliceReading> {
        let cores = CoreCounterReading::read_machine();
        let machine = read(&self.kept, self.counters.as_ref())?;
        self.sums.cost.0 += 1;
        self.sums.cost.1 += machine.duration;
        Some(SliceReading { machine, cores, own: own_time() })
    }

    /// Returns the machine's activity over all counted slices. `agents` is the CPU time (user and system) that tare's
    /// agents and the network's own daemons took; the time of this process is added here.
    #[must_use]
    pub fn finish(self, agents: Nanos) -> (HostActivity, Vec<Finding>) {
        let Self { files, whole, sums, .. } = self;
        let counted = TrialCounters {
            cores: sums.cores.into_values().collect(),
            context_switches: sums.context_switches,
            ..TrialCounters::default()
        };
        let meanwhile = HostActivity {
            agents,
            samples: sums.samples,
            frequency: sums.frequency.megahertz(),
            hardware: sums.hardware.filter(|_| !sums.is_hardware_lost),
            counted,
            overhead: MeasurementOverhead {
                samples: sums.cost.0,
                sampling: sums.cost.1.into(),
                ..MeasurementOverhead::default()
            },
            ..HostActivity::default()
        };
        let lasted = whole.elapsed();
        whole.finish(&files, meanwhile, &sums.observed, agents, lasted)
    }
}

impl SliceSums {
    /// Adds a slice whose counted part has this length.
    fn add(
        &mut self,
        before: &SliceReading,
        after: &SliceReading,
        length: Nanos,
        counters: Option<&PerfCounters>,
    ) {
        let (start, end) = (&before.machine, &after.machine);
        let elapsed = (end.at - start.at).0.max(1) as f64;
        let share = (length.0 as f64 / elapsed).min(1.0);
        let ticks = ticks_per_second();
        let used = end.stat.total.since(&start.stat.total, ticks);
        self.observed.add(&used, end.stat.core_count(), end.at - start.at);
        self.observed.own = self.observed.own + (after.own - before.own);
        self.frequency.add(&start.stat.cores, &end.stat.cores, &end.frequencies);
        let each = start.stat.cores.iter().zip(&end.stat.cores);
        let used: Vec<CpuUse> =
            each.map(|(start, end)| end.since(start, ticks).scaled(share)).collect();
        self.add_sample(&used, length);
        if let Some(counters) = counters {
            self.add_hardware(counters, start, end, length, share);
        }
        for core in after.cores.since(&before.cores) {
            self.cores
                .entry(core.core)
                .and_modify(|sum| *sum = add_core_counts(sum, &core))
                .or_insert(core);
        }
        self.context_switches +=
            end.stat.context_switches.saturating_sub(start.stat.context_switches);
    }

    /// Adds the CPU time of a counted part to the samples, which begin at 0.
    fn add_sample(&mut self, used: &[CpuUse], length: Nanos) {
        if self.samples.is_empty() {
            let cores = vec![CpuUse::default(); used.len()];
            self.samples.push(MachineSample { at: Nanos(0), cores });
        }
        if let Some(last) = self.samples.last() {
            let cores = last.cores.iter().zip(used).map(|(sum, used)| *sum + *used).collect();
            let at = last.at + length;
            self.samples.push(MachineSample { at, cores });
        }
    }

    fn add_hardware(
        &mut self,
        counters: &PerfCounters,
        start: &MachineReading,
        end: &MachineReading,
        length: Nanos,
        share: f64,
    ) {
        let both = [(Nanos(0), start.hardware.clone()), (length, end.hardware.clone())];
        let Some(slice) = counters.to_record(&both) else {
            self.is_hardware_lost = true;
            return;
        };
        let Some(executed) = slice.samples.last().map(|last| &last.executed) else { return };
        let sums = self.hardware.get_or_insert_with(|| HardwareCounters {
            counted: slice.counted,
            running: slice.running,
            samples: vec![HardwareSample {
                at: Nanos(0),
                executed: vec![HardwareEventCounts::default(); executed.len()],
            }],
        });
        sums.running = sums.running.min(slice.running);
        let part = |count: u64| (count as f64 * share).round() as u64;
        if let Some(last) = sums.samples.last() {
            let add =
                |(sum, more): (&HardwareEventCounts, &HardwareEventCounts)| HardwareEventCounts {
                    cycles: sum.cycles + part(more.cycles),
                    instructions: sum.instructions + part(more.instructions),
                };
            let executed = last.executed.iter().zip(executed).map(add).collect();
            let at = last.at + length;
            sums.samples.push(HardwareSample { at, executed });
        }
    }
}

fn add_core_counts(one: &CoreCounts, other: &CoreCounts) -> CoreCounts {
    CoreCounts {
        core: one.core,
        packets: one.packets + other.packets,
        dropped: one.dropped + other.dropped,
        squeezed: one.squeezed + other.squeezed,
        steered: one.steered + other.steered,
        ksoftirqd: one.ksoftirqd.zip(other.ksoftirqd).map(|(one, other)| one + other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_on_slice_time_and_never_fall() {
        let mut sums = SliceSums::default();
        let used = |user| CpuUse { user: Nanos(user), ..CpuUse::default() };
        sums.add_sample(&[used(3), used(1)], Nanos(20));
        sums.add_sample(&[used(4), used(0)], Nanos(20));
        let at: Vec<_> = sums.samples.iter().map(|sample| sample.at.0).collect();
        assert_eq!(at, [0, 20, 40]);
        let first: Vec<_> = sums.samples.iter().map(|sample| sample.cores[0].user.0).collect();
        assert_eq!(first, [0, 3, 7]);
    }

    #[test]
    fn a_slice_counts_in_proportion_and_a_warm_up_not_at_all() {
        let mut watch = SlicedActivityMonitor::start(&[]);
        watch.begin_slice();
        watch.end_slice(None);
        for _ in 0..3 {
            watch.begin_slice();
            watch.end_slice(Some(Nanos(1_000)));
        }
        let (activity, _) = watch.finish(Nanos(0));
        let at: Vec<_> = activity.samples.iter().map(|sample| sample.at.0).collect();
        assert_eq!(at, [0, 1_000, 2_000, 3_000]);
        assert_eq!(activity.overhead.samples, 7);
    }
}
