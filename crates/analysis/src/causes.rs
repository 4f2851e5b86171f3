//! Why a network costs what it costs, by what was counted: where CPU time went, and what made it more than it need be.

use crate::estimate::Estimate;
use crate::machine::{kinds, softirq_by_core};
use crate::traffic::Traffic;
use std::collections::BTreeMap;
use tare_record::{Counted, Finding, Hop, HopKind, Nanos, ThreadCpu, Trial};
use tare_stats::describe::mean;

/// The share of a core's time in softirq from which on it does hardly anything else, and below which others do little.
const FULL: f64 = 0.85;
const IDLE: f64 = 0.25;

/// Cores that a program must keep busy to have carried packets.
const CARRIES: f64 = 0.05;

/// How many times smaller packets must have become to have been cut, and how large they must have been before.
const CUT: f64 = 4.0;
const LARGE: f64 = 6000.0;

/// The causes that a cell's trials show.
pub(crate) fn of_trials(trials: &[(&Trial, Estimate)]) -> Vec<Finding> {
    let steady: Vec<Steady<'_>> = trials.iter().filter_map(Steady::of).collect();
    let placed = cpu(&steady);
    let one_core = one_core(&steady);
    let offload = trials.first().and_then(|(trial, _)| offload_lost(trial));
    let watched = watched(trials.iter().map(|(trial, _)| *trial));
    placed
        .into_iter()
        .chain(watched)
        .chain(one_core)
        .chain(userspace(trials))
        .chain(offload)
        .collect()
}

/// A trial's steady part.
struct Steady<'a> {
    trial: &'a Trial,
    cut: usize,
    span: std::ops::Range<Nanos>,
}

impl<'a> Steady<'a> {
    fn of((trial, estimate): &(&'a Trial, Estimate)) -> Option<Self> {
        let traffic = Traffic::of(trial);
        let span = traffic.span(estimate.cut..traffic.len())?;
        (span.start < span.end).then_some(Self { trial, cut: estimate.cut, span })
    }

    fn seconds(&self) -> f64 {
        (self.span.end - self.span.start).as_secs_f64()
    }

    /// CPU time of both sides' threads, in cores: in user space, and in the kernel.
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

/// Seconds of a trial with the connection's set-up: what was counted from outside of the traffic is over all of it.
fn took(trial: &Trial) -> f64 {
    trial.took.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Where CPU time went, over the trials that were sampled.
fn cpu(steady: &[Steady<'_>]) -> Option<Finding> {
    let sampled: Vec<_> = steady
        .iter()
        .filter_map(|one| Some((one, kinds(&one.trial.meanwhile.samples, one.span.clone())?)))
        .collect();
    let over = |part: &dyn Fn(&Steady<'_>) -> f64| {
        mean(&sampled.iter().map(|(one, _)| part(one)).collect::<Vec<_>>())
    };
    let kind = |part: fn(&crate::machine::Kinds) -> f64| {
        mean(&sampled.iter().map(|(one, kinds)| part(kinds) / one.seconds()).collect::<Vec<_>>())
    };
    let threads: Option<Vec<f64>> = sampled
        .iter()
        .map(|(one, _)| Some(ksoftirqd(&one.trial.meanwhile.counted)? / took(one.trial)))
        .collect();
    Some(Finding::CpuPlaced {
        agents_user: over(&|one| one.agents().0)?,
        agents_system: over(&|one| one.agents().1)?,
        softirq: kind(|kinds| kinds.softirq + kinds.irq)?,
        ksoftirqd: threads.and_then(|all| mean(&all)),
        // Of no programs the sum is 0, and not -0.
        daemons: over(&|one| daemons(one.trial).values().fold(0.0, |sum, cores| sum + cores))?,
        busy: kind(crate::machine::Kinds::busy)?,
    })
}

/// What it cost to look on, over the trials of which it is known.
fn watched<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<Finding> {
    let known: Vec<&Trial> = trials.filter(|trial| trial.meanwhile.overhead.samples > 0).collect();
    let cores = |time: &dyn Fn(&Trial) -> Nanos| {
        mean(&known.iter().map(|one| time(one).as_secs_f64() / took(one)).collect::<Vec<_>>())
    };
    let ran = |trial: &Trial| trial.meanwhile.overhead.drops.unwrap_or_default();
    Some(Finding::Watched {
        sampling: cores(&|trial| trial.meanwhile.overhead.sampling)?,
        tcp_info: cores(&asking)?,
        drops: cores(&|trial| ran(trial).time)?,
        runs: known.iter().map(|trial| ran(trial).runs).sum(),
    })
}

/// How long it took to ask TCP about its connections.
fn asking(trial: &Trial) -> Nanos {
    let intervals = trial.series.iter().flat_map(|series| &series.intervals);
    let asked = intervals.filter_map(|interval| interval.tcp);
    asked.fold(Nanos(0), |sum, tcp| sum + tcp.asking)
}

/// CPU seconds of all cores' `ksoftirqd`, where it can be seen.
fn ksoftirqd(counted: &Counted) -> Option<f64> {
    let all: Option<Vec<Nanos>> = counted.cores.iter().map(|core| core.ksoftirqd).collect();
    let all = all.filter(|all| !all.is_empty())?;
    Some(all.into_iter().map(Nanos::as_secs_f64).sum())
}

/// The cores that each of the network's programs kept busy.
fn daemons(trial: &Trial) -> BTreeMap<&str, f64> {
    let all = trial.meanwhile.counted.daemons.iter();
    all.map(|(name, time)| (name.as_str(), time.as_secs_f64() / took(trial))).collect()
}

/// The trial in which one core's software interrupts stood out most.
fn one_core(steady: &[Steady<'_>]) -> Option<Finding> {
    let lopsided = |one: &Steady<'_>| {
        let shares = softirq_by_core(&one.trial.meanwhile.samples, &one.span);
        let (core, share) =
            (0u32..).zip(shares.iter().copied()).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let rest: f64 = shares.iter().sum::<f64>() - share;
        let others = rest / shares.len().checked_sub(1).filter(|&others| others > 0)? as f64;
        (share >= FULL && others <= IDLE).then_some((core, share, others))
    };
    let found: Vec<_> = steady.iter().filter_map(lopsided).collect();
    // Now and then a core is taken by something else: it must be so in most trials.
    let worst = found.iter().max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2)))?;
    let &(core, share, others) = worst;
    (2 * found.len() > steady.len()).then_some(Finding::SoftirqOnOneCore { core, share, others })
}

/// Programs that carried packets, by their means over all trials. A daemon on whose path the kernel forwards may be busy with
/// something else.
fn userspace(trials: &[(&Trial, Estimate)]) -> Vec<Finding> {
    let is_carried = |trial: &Trial| trial.hops.iter().any(|hop| hop.kind == HopKind::Forwarder);
    if !trials.iter().any(|(trial, _)| is_carried(trial)) {
        return Vec::new();
    }
    let mut all: BTreeMap<&str, f64> = BTreeMap::new();
    for (trial, _) in trials {
        for (name, cores) in daemons(trial) {
            *all.entry(name).or_default() += cores / trials.len() as f64;
        }
    }
    let carry = all.into_iter().filter(|(_, cores)| *cores >= CARRIES);
    carry.map(|(name, cores)| Finding::Userspace { program: name.to_owned(), cores }).collect()
}

/// The first device on the path whose packets are much smaller than on the one before it.
fn offload_lost(trial: &Trial) -> Option<Finding> {
    let devices = trial.hops.iter().filter(|hop| hop.mtu.is_some());
    let sizes: Vec<(&Hop, f64)> =
        devices.filter_map(|hop| Some((hop, packet(trial, hop)?))).collect();
    sizes.windows(2).find_map(|pair| {
        let [(_, before), (hop, after)] = pair else { return None };
        (*before >= LARGE && before / after >= CUT).then(|| Finding::OffloadLost {
            place: hop.place.clone(),
            device: hop.name.clone(),
            before: *before,
            after: *after,
        })
    })
}

/// Bytes of a mean packet in the direction in which most bytes went; nothing for a device that carried little, and for
/// those on which both directions are one: bridges, loopback devices, and what packets pass more than once.
fn packet(trial: &Trial, hop: &Hop) -> Option<f64> {
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
    use crate::made_up::trial;
    use tare_record::{
        CoreCounts, CpuUse, Gains, MachineSample, Overhead, PlaceCounts, Ran, TcpState,
    };

    fn ms(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    fn estimate() -> Estimate {
        Estimate { figures: BTreeMap::new(), clients: None, cut: 0, settled: true, shift: None }
    }

    /// A second of traffic on cores that spend these percentages of it in softirq.
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
        of_trials(&trials.iter().map(|trial| (trial, estimate())).collect::<Vec<_>>())
    }

    #[test]
    fn cpu_time_is_placed() {
        let mut one = second(&[20, 20]);
        one.agents.clients = vec![ThreadCpu { user: ms(10), system: ms(50) }; 10];
        one.agents.servers = vec![ThreadCpu { user: ms(20), system: ms(20) }; 10];
        let seen = |core| CoreCounts { core, ksoftirqd: Some(ms(100)), ..CoreCounts::default() };
        one.meanwhile.counted.cores = vec![seen(0), seen(1)];
        one.meanwhile.counted.daemons = [("flanneld".to_owned(), ms(600))].into();
        one.hops = vec![Hop::new(HopKind::Forwarder, "flannel0", "node-0")];
        let all = found(std::slice::from_ref(&one));
        let [
            Finding::CpuPlaced { agents_user, agents_system, softirq, ksoftirqd, daemons, busy },
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
        // The same daemon beside a device of the kernel's carries nothing.
        one.hops = vec![Hop::new(HopKind::Encapsulation, "flannel.1", "node-0")];
        assert_eq!(found(&[one]), all[..1]);
    }

    #[test]
    fn what_looking_on_cost_is_told_of_trials_that_know_it() {
        let plain = second(&[20, 20]);
        let mut one = plain.clone();
        let drops = Some(Ran { runs: 500, time: ms(6) });
        one.meanwhile.overhead =
            Overhead { samples: 20, sampling: ms(10), counting: ms(90), drops };
        for interval in &mut one.series[0].intervals {
            interval.tcp = Some(TcpState { asking: ms(2), ..TcpState::default() });
        }
        let told = |trials: &[Trial]| {
            let is_it = |one: &Finding| matches!(one, Finding::Watched { .. });
            found(trials).into_iter().find(is_it)
        };
        assert_eq!(told(std::slice::from_ref(&plain)), None);
        assert_eq!(
            told(&[one, plain]).unwrap().to_string(),
            "looking on took 1.8 % of a core: sampling 0.5 %, TCP_INFO 1.0 %, counting 500 drops 0.3 %"
        );
    }

    #[test]
    fn one_core_that_does_it_all_is_found() {
        let is_one = |finding: &&Finding| matches!(finding, Finding::SoftirqOnOneCore { .. });
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
        let device = |counter: &str, bytes: u64, packets: u64| -> Gains {
            [(format!("{counter}_bytes"), bytes), (format!("{counter}_packets"), packets)].into()
        };
        let place = |name: &str, gains: Gains| PlaceCounts {
            place: name.to_owned(),
            devices: [("eth0".to_owned(), gains)].into(),
            ..PlaceCounts::default()
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
            "offload lost at server-0:eth0: packets of 40000 bytes on average came to it as 1481"
        );
        // Of a device that packets pass on their way there and on their way on, no counter tells which is which.
        one.hops.push(hop("server-0"));
        assert_eq!(offload_lost(&one), None);
    }
}
