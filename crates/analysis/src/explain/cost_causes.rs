//! Causes of a network's cost, from counters: the parts of the CPU time, and conditions that increase it.

use crate::estimate::TrialEstimate;
use crate::estimate::machine_usage::{cpu_time_within, softirq_by_core};
use crate::select::trial_traffic::TrialTraffic;
use std::collections::BTreeMap;
use tare_record::finding::{
    CpuTimeByConsumer, CpuTimeOfMeasurement, OffloadLoss, SoftirqConcentration, UserspaceForwarding,
};
use tare_record::{
    Finding, Hop, HopKind, Nanos, SaturatingSum as _, ThreadCpu, Trial, TrialCounters,
};
use tare_stats::describe::mean;

/// Share of a core's time in softirq above which the core does hardly anything else, and largest mean share of the
/// other cores for the load to be lopsided.
const FULL_CORE_SHARE: f64 = 0.85;
const IDLE_CORE_SHARE: f64 = 0.25;

/// Cores that a program must keep busy to have carried packets.
const MIN_CARRIER_CORES: f64 = 0.05;

/// Factor by which packets must have shrunk, and the size in bytes before, from which on they count as cut.
const MIN_SHRINK_FACTOR: f64 = 4.0;
const MIN_LARGE_PACKET: f64 = 6000.0;

/// Returns the causes that a cell's trials show.
pub(crate) fn find_causes(trials: &[(&Trial, TrialEstimate)]) -> Vec<Finding> {
    let steady: Vec<SteadySpan<'_>> = trials.iter().filter_map(SteadySpan::from_estimate).collect();
    let placed = cpu_breakdown(&steady);
    let one_core = softirq_on_one_core(&steady);
    let offload = trials.first().and_then(|(trial, _)| offload_lost(trial));
    let watched = measurement_overhead(trials.iter().map(|(trial, _)| *trial));
    placed
        .into_iter()
        .chain(watched)
        .chain(one_core)
        .chain(userspace_programs(trials))
        .chain(offload)
        .collect()
}

/// Steady part of a trial.
struct SteadySpan<'a> {
    trial: &'a Trial,
    cut: usize,
    span: std::ops::Range<Nanos>,
}

impl<'a> SteadySpan<'a> {
    fn from_estimate((trial, estimate): &(&'a Trial, TrialEstimate)) -> Option<Self> {
        let traffic = TrialTraffic::from_trial(trial);
        let span = traffic.span(estimate.cut..traffic.len())?;
        (span.start < span.end).then_some(Self { trial, cut: estimate.cut, span })
    }

    fn seconds(&self) -> f64 {
        (self.span.end - self.span.start).as_secs_f64()
    }

    /// Returns the CPU time of both sides' threads, in cores: in user space, and in the kernel.
    fn agents(&self) -> (f64, f64) {
        let kept = |threads: &'a [ThreadCpu]| threads.iter().skip(self.cut);
        let sides = &self.trial.agents;
        let threads = || kept(&sides.clients).chain(kept(&sides.servers));
        let sum = |part: fn(&ThreadCpu) -> Nanos| {
            threads().map(|one| part(one).as_secs_f64()).sum::<f64>() / self.seconds()
        };
        (sum(|one| one.user), sum(|one| one.system))
    }
}

/// Returns the duration of a trial including connection set-up, s. Counters outside the traffic cover all of it.
fn trial_seconds(trial: &Trial) -> f64 {
    trial.took.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Returns the parts of the CPU time, over the trials that were sampled.
fn cpu_breakdown(steady: &[SteadySpan<'_>]) -> Option<Finding> {
    let sampled: Vec<_> = steady
        .iter()
        .filter_map(|one| {
            Some((one, cpu_time_within(&one.trial.meanwhile.samples, one.span.clone())?))
        })
        .collect();
    let over = |part: &dyn Fn(&SteadySpan<'_>) -> f64| {
        mean(&sampled.iter().map(|(one, _)| part(one)).collect::<Vec<_>>())
    };
    let kind = |part: fn(&crate::estimate::machine_usage::CpuTimeByKind) -> f64| {
        mean(&sampled.iter().map(|(one, kinds)| part(kinds) / one.seconds()).collect::<Vec<_>>())
    };
    let threads: Option<Vec<f64>> = sampled
        .iter()
        .map(|(one, _)| Some(ksoftirqd(&one.trial.meanwhile.counted)? / trial_seconds(one.trial)))
        .collect();
    Some(Finding::CpuTimeByConsumer(CpuTimeByConsumer {
        agents_user: over(&|one| one.agents().0)?,
        agents_system: over(&|one| one.agents().1)?,
        softirq: kind(|kinds| kinds.softirq + kinds.irq)?,
        ksoftirqd: threads.and_then(|all| mean(&all)),
        // The sum over no programs is 0, not -0.
        daemons: over(&|one| daemon_cores(one.trial).values().fold(0.0, |sum, cores| sum + cores))?,
        busy: kind(crate::estimate::machine_usage::CpuTimeByKind::busy)?,
    }))
}

/// Returns the measurement overhead, over the trials that recorded it.
fn measurement_overhead<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<Finding> {
    let known: Vec<&Trial> = trials.filter(|trial| trial.meanwhile.overhead.samples > 0).collect();
    let cores = |time: &dyn Fn(&Trial) -> Nanos| {
        mean(
            &known
                .iter()
                .map(|one| time(one).as_secs_f64() / trial_seconds(one))
                .collect::<Vec<_>>(),
        )
    };
    let ran = |trial: &Trial| trial.meanwhile.overhead.drops.unwrap_or_default();
    Some(Finding::CpuTimeOfMeasurement(CpuTimeOfMeasurement {
        sampling: cores(&|trial| trial.meanwhile.overhead.sampling)?,
        tcp_info: cores(&tcp_info_time)?,
        drops: cores(&|trial| ran(trial).time)?,
        runs: known.iter().map(|trial| ran(trial).runs).saturating_sum(),
    }))
}

/// Returns the time that reading TCP_INFO took.
fn tcp_info_time(trial: &Trial) -> Nanos {
    let intervals = trial.series.iter().flat_map(|series| &series.intervals);
    let asked = intervals.filter_map(|interval| interval.tcp);
    asked.fold(Nanos(0), |sum, tcp| sum + tcp.asking)
}

/// Returns the CPU seconds of all cores' `ksoftirqd`. Returns `None` if they are not visible.
fn ksoftirqd(counted: &TrialCounters) -> Option<f64> {
    let all: Option<Vec<Nanos>> = counted.cores.iter().map(|core| core.ksoftirqd).collect();
    let all = all.filter(|all| !all.is_empty())?;
    Some(all.into_iter().map(Nanos::as_secs_f64).sum())
}

/// Returns the cores that each of the network's programs kept busy.
fn daemon_cores(trial: &Trial) -> BTreeMap<&str, f64> {
    let all = trial.meanwhile.counted.daemons.iter();
    all.map(|(name, time)| (name.as_str(), time.as_secs_f64() / trial_seconds(trial))).collect()
}

/// Finds the trial in which one core's softirq share stood out most.
fn softirq_on_one_core(steady: &[SteadySpan<'_>]) -> Option<Finding> {
    let lopsided = |one: &SteadySpan<'_>| {
        let shares = softirq_by_core(&one.trial.meanwhile.samples, &one.span);
        let (core, share) =
            (0u32..).zip(shares.iter().copied()).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let rest: f64 = shares.iter().sum::<f64>() - share;
        let others = rest / shares.len().checked_sub(1).filter(|&others| others > 0)? as f64;
        (share >= FULL_CORE_SHARE && others <= IDLE_CORE_SHARE).then_some((core, share, others))
    };
    let found: Vec<_> = steady.iter().filter_map(lopsided).collect();
    // Now and then something else takes a core: the condition must hold in most trials.
    let worst = found.iter().max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2)))?;
    let &(core, share, others) = worst;
    (2 * found.len() > steady.len())
        .then_some(Finding::SoftirqConcentration(SoftirqConcentration { core, share, others }))
}

/// Returns the programs that carried packets, by their means over all trials. A daemon beside a path on which the
/// kernel forwards is left out: it may be busy with something else.
fn userspace_programs(trials: &[(&Trial, TrialEstimate)]) -> Vec<Finding> {
    let is_carried = |trial: &Trial| trial.hops.iter().any(|hop| hop.kind == HopKind::Forwarder);
    if !trials.iter().any(|(trial, _)| is_carried(trial)) {
        return Vec::new();
    }
    let mut all: BTreeMap<&str, f64> = BTreeMap::new();
    for (trial, _) in trials {
        for (name, cores) in daemon_cores(trial) {
            *all.entry(name).or_default() += cores / trials.len() as f64;
        }
    }
    let carry = all.into_iter().filter(|(_, cores)| *cores >= MIN_CARRIER_CORES);
    carry
        .map(|(name, cores)| {
            Finding::UserspaceForwarding(UserspaceForwarding { program: name.to_owned(), cores })
        })
        .collect()
}

/// Finds the first device on the path whose packets are much smaller than on the device before it.
fn offload_lost(trial: &Trial) -> Option<Finding> {
    let devices = trial.hops.iter().filter(|hop| hop.mtu.is_some());
    let sizes: Vec<(&Hop, f64)> =
        devices.filter_map(|hop| Some((hop, mean_packet_size(trial, hop)?))).collect();
    sizes.windows(2).find_map(|pair| {
        let [(_, before), (hop, after)] = pair else { return None };
        (*before >= MIN_LARGE_PACKET && before / after >= MIN_SHRINK_FACTOR).then(|| {
            Finding::OffloadLoss(OffloadLoss {
                place: hop.place.clone(),
                device: hop.name.clone(),
                before: *before,
                after: *after,
            })
        })
    })
}

/// Returns the mean packet size in the direction with the most bytes. Returns `None` for a device that carried little,
/// and for devices on which both directions are mixed: bridges, loopback devices, and devices that packets pass more
/// than once.
fn mean_packet_size(trial: &Trial, hop: &Hop) -> Option<f64> {
    const LITTLE: u64 = 100;
    let passed = trial.hops.iter().filter(|one| one.place == hop.place && one.name == hop.name);
    if matches!(hop.kind, HopKind::Bridge | HopKind::Loopback) || passed.count() > 1 {
        return None;
    }
    let places = &trial.meanwhile.counted.places;
    let gains = places.iter().find(|place| place.place == hop.place)?.devices.get(&hop.name)?;
    let get = |name: &str| gains.get(name).copied().unwrap_or(0);
    let received = (get("rx_bytes"), get("rx_packets"));
    let (bytes, packets) = received.max((get("tx_bytes"), get("tx_packets")));
    (packets >= LITTLE).then(|| bytes as f64 / packets as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use tare_record::{
        CoreCounts, CounterDeltas, CpuUse, KernelProgramRuns, MachineSample, MeasurementOverhead,
        NamespaceCounts, TcpInfoTotals,
    };

    fn ms(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    fn estimate() -> TrialEstimate {
        TrialEstimate {
            figures: BTreeMap::new(),
            rounds: BTreeMap::new(),
            clients: None,
            cut: 0,
            settled: true,
            shift: None,
        }
    }

    /// Returns a trial with a second of traffic on cores that spend these percentages of it in softirq.
    fn second(softirq: &[u64]) -> Trial {
        let mut trial = trial("bridge", 0, &[1_000_000; 10]);
        trial.took = ms(2000);
        trial.meanwhile.samples = (0..=10)
            .map(|at| MachineSample {
                at: ms(at * 100),
                cores: softirq
                    .iter()
                    .map(|&share| CpuUse {
                        softirq: ms(at * share),
                        system: ms(at * 5),
                        idle: ms(at * (95 - share)),
                        ..CpuUse::default()
                    })
                    .collect(),
            })
            .collect();
        trial
    }

    fn found(trials: &[Trial]) -> Vec<Finding> {
        find_causes(&trials.iter().map(|trial| (trial, estimate())).collect::<Vec<_>>())
    }

    #[test]
    fn cpu_time_is_placed() {
        let mut one = second(&[20, 20]);
        one.agents.clients = vec![ThreadCpu { user: ms(10), system: ms(50), waiting: ms(0) }; 10];
        one.agents.servers = vec![ThreadCpu { user: ms(20), system: ms(20), waiting: ms(0) }; 10];
        let seen = |core| CoreCounts { core, ksoftirqd: Some(ms(100)), ..CoreCounts::default() };
        one.meanwhile.counted.cores = vec![seen(0), seen(1)];
        one.meanwhile.counted.daemons = [("flanneld".to_owned(), ms(600))].into();
        one.hops = vec![Hop::new(HopKind::Forwarder, "flannel0", "node-0")];
        let all = found(std::slice::from_ref(&one));
        let [
            Finding::CpuTimeByConsumer(CpuTimeByConsumer {
                agents_user,
                agents_system,
                softirq,
                ksoftirqd,
                daemons,
                busy,
            }),
            userspace,
        ] = &all[..]
        else {
            panic!("{all:?}")
        };
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(*agents_user, 0.3) && near(*agents_system, 0.7), "{all:?}");
        assert!(near(*softirq, 0.4) && near(*busy, 0.5) && near(*daemons, 0.3), "{all:?}");
        assert!(near(ksoftirqd.unwrap(), 0.1), "{all:?}");
        assert_eq!(
            userspace.to_string(),
            "packets pass through user space: flanneld took 0.30 cores"
        );
        assert!(all[0].to_string().ends_with("ksoftirqd 0.10, the network's programs 0.30"));
        // The same daemon beside a kernel device carries no packets.
        one.hops = vec![Hop::new(HopKind::Encapsulation, "flannel.1", "node-0")];
        assert_eq!(found(&[one]), all[..1]);
    }

    #[test]
    fn what_looking_on_cost_is_told_of_trials_that_know_it() {
        let plain = second(&[20, 20]);
        let mut one = plain.clone();
        let drops = Some(KernelProgramRuns { runs: 500, time: ms(6) });
        one.meanwhile.overhead =
            MeasurementOverhead { samples: 20, sampling: ms(10), counting: ms(90), drops };
        for interval in &mut one.series[0].intervals {
            interval.tcp = Some(TcpInfoTotals { asking: ms(2), ..TcpInfoTotals::default() });
        }
        let told = |trials: &[Trial]| {
            let is_it = |one: &Finding| matches!(one, Finding::CpuTimeOfMeasurement(_));
            found(trials).into_iter().find(is_it)
        };
        assert_eq!(told(std::slice::from_ref(&plain)), None);
        assert_eq!(
            told(&[one, plain]).unwrap().to_string(),
            "measurement overhead: 1.8 % of a core: sampling 0.5 %, TCP_INFO 1.0 %, counting 500 drops 0.3 %"
        );
    }

    #[test]
    fn one_core_that_does_it_all_is_found() {
        let is_one = |finding: &&Finding| matches!(finding, Finding::SoftirqConcentration(_));
        let all = found(&[second(&[2, 95, 3, 1])]);
        assert_eq!(
            all.iter().find(is_one).unwrap().to_string(),
            "core 1 spent 95 % of its time in softirq, the others 2 %: the path does not spread over cores"
        );
        for shares in [&[95, 90][..], &[50, 2], &[95]] {
            assert!(!found(&[second(shares)]).iter().any(|one| is_one(&one)), "{shares:?}");
        }
        let mixed = [second(&[95, 1]), second(&[50, 40]), second(&[40, 50])];
        assert!(!found(&mixed).iter().any(|one| is_one(&one)), "in one trial of three");
    }

    #[test]
    fn packets_that_are_cut_on_the_way_have_lost_an_offload() {
        let device = |counter: &str, bytes: u64, packets: u64| -> CounterDeltas {
            [(format!("{counter}_bytes"), bytes), (format!("{counter}_packets"), packets)]
                .into_iter()
                .collect()
        };
        let place = |name: &str, gains: CounterDeltas| NamespaceCounts {
            place: name.to_owned(),
            devices: [("eth0".to_owned(), gains)].into_iter().collect(),
            ..NamespaceCounts::default()
        };
        let mut one = trial("bridge", 0, &[]);
        let hop = |place| Hop::new(HopKind::Veth, "eth0", place).with_mtu(1500);
        one.hops = vec![hop("client-0"), hop("server-0")];
        let client = place("client-0", device("tx", 40_000_000, 1000));
        let whole = place("server-0", device("rx", 40_000_000, 1100));
        one.meanwhile.counted.places = vec![client.clone(), whole];
        assert_eq!(offload_lost(&one), None);
        one.meanwhile.counted.places =
            vec![client, place("server-0", device("rx", 40_000_000, 27_000))];
        assert_eq!(
            offload_lost(&one).unwrap().to_string(),
            "offload lost at server-0:eth0: the mean packet size falls from 40000 to 1481 bytes"
        );
        // If packets pass a device on their way in and on their way out, its counters do not separate the two.
        one.hops.push(hop("server-0"));
        assert_eq!(offload_lost(&one), None);
    }
}
