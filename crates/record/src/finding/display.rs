//! Text of findings: one line each, with its evidence.

use super::Finding;
use crate::CounterScope;
use crate::ablation;
use crate::mtu_fit::FragmentCount;
use crate::packet_drops::{PercentShare, write_drops};
use std::fmt;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverSettled { trials, of } => {
                write!(f, "{trials} of {of} trials never settled; they are kept")
            }
            Self::ModeSwitch { trials, of, ratio } => write!(
                f,
                "the level switched inside {trials} of {of} trials, by a factor of {ratio:.2}"
            ),
            Self::Trend { trials, of, change } => {
                write!(
                    f,
                    "a trend inside {trials} of {of} trials: {:+.1} % from begin to end",
                    change * 100.0
                )
            }
            Self::WarmUpMatters { uncut, cut } => {
                write!(f, "the warm-up matters: {uncut:.4} with it, {cut:.4} without")
            }
            Self::Silent { trials, of } => {
                write!(f, "nothing arrived in {trials} of {of} trials, so there is no ratio")
            }
            Self::EndsDisagree { sent, received } => {
                write!(f, "the ends disagree: {sent} sent, {received} received")
            }
            Self::BusyMachine { share } => {
                write!(f, "other work took {:.0} % of the CPU", share * 100.0)
            }
            Self::Stolen { share } => write!(
                f,
                "the hypervisor gave {:.0} % of the CPU to others: measure on a machine that shares none, or with more blocks",
                share * 100.0
            ),
            Self::Throttled { times } => write!(
                f,
                "the processor got too hot and slowed down {times} time(s): cool it, or let it rest between runs"
            ),
            Self::OverQuota { waited } => write!(
                f,
                "a control group's CPU quota held the work back for {:.2} s: raise cpu.max, or run outside of that group",
                waited.as_secs_f64()
            ),
            Self::FrequencyChanged { lowest, highest } => write!(
                f,
                "the cores ran at {lowest:.0} MHz in one trial and at {highest:.0} in another: set the governor `performance`, and switch the boost off"
            ),
            Self::Emulated => f.write_str(
                "under emulation (TCG) verdicts are refused: the figures show that it works, not how fast",
            ),
            Self::HardwareCounted { counted, running } => {
                f.write_str(match counted {
                    CounterScope::Machine => "hardware counters counted all cores",
                    CounterScope::Agents => {
                        "hardware counters counted tare's agents alone, with the kernel's work on their behalf: run as root to count all cores"
                    }
                    CounterScope::AgentsCode => {
                        "hardware counters counted the code of tare's agents alone, nothing of the kernel: run as root to count all cores"
                    }
                })?;
                if *running < 1.0 {
                    write!(f, ", for {:.0} % of the time; the rest is extrapolated", running * 100.0)?;
                }
                Ok(())
            }
            Self::OtherRun { others } => {
                write!(f, "{others} other tare run(s) on this machine: both measure a busy machine")
            }
            Self::LowHeadroom { resource, used, limit } => {
                write!(f, "{resource}: {used} of {limit} used, and all namespaces share them")
            }
            Self::SmallBuffer { asked, granted } => {
                write!(
                    f,
                    "socket buffer of {granted} bytes instead of {asked}: raise net.core.rmem_max/wmem_max"
                )
            }
            Self::OtherCongestionControl { asked, used } => {
                write!(f, "congestion control {used} instead of {asked}, which is not allowed here")
            }
            Self::NotPinned { reason } => {
                write!(f, "threads are not on the cores asked for: {reason}")
            }
            Self::Stall { longest } => write!(f, "nothing moved for {longest}"),
            Self::SenderTooSlow { asked, offered } => write!(
                f,
                "the sender could not keep up: {offered:.0}/s offered of {asked:.0}/s asked for"
            ),
            Self::DroppedAtSocket { dropped, of } => write!(
                f,
                "{dropped} of {of} datagrams were lost in the receiver's full socket buffer, not on the network"
            ),
            Self::LossPlaced { lost, of, parts, unplaced } => {
                write!(f, "{} lost: ", PercentShare(*lost as f64 / (*of).max(1) as f64))?;
                write_drops(f, parts, *of, *unplaced)
            }
            Self::Retransmitted { segments, of, drops } => {
                let share = PercentShare(*segments as f64 / (*of).max(1) as f64);
                write!(f, "{segments} segments were sent again ({share} of all)")?;
                let mut words = "; dropped: ";
                for one in drops {
                    write!(f, "{words}{} {one}", one.packets)?;
                    words = ", ";
                }
                Ok(())
            }
            Self::CpuPlaced { agents_user, agents_system, softirq, ksoftirqd, daemons, busy } => {
                write!(
                    f,
                    "of {busy:.2} busy cores the agents took {agents_user:.2} in user space and {agents_system:.2} in the kernel, softirq {softirq:.2}"
                )?;
                ksoftirqd.map_or(Ok(()), |cores| write!(f, ", ksoftirqd {cores:.2}"))?;
                if *daemons > 0.0 { write!(f, ", the network's programs {daemons:.2}") } else { Ok(()) }
            }
            Self::Watched { sampling, tcp_info, drops, runs } => {
                let all = PercentShare(sampling + tcp_info + drops);
                write!(f, "looking on took {all} of a core: sampling {}", PercentShare(*sampling))?;
                if *tcp_info > 0.0 {
                    write!(f, ", TCP_INFO {}", PercentShare(*tcp_info))?;
                }
                if *runs > 0 {
                    write!(f, ", counting {runs} drops {}", PercentShare(*drops))?;
                }
                Ok(())
            }
            Self::SoftirqOnOneCore { core, share, others } => write!(
                f,
                "core {core} spent {:.0} % of its time in softirq, the others {:.0} %: the path does not spread over cores",
                share * 100.0,
                others * 100.0
            ),
            Self::Userspace { program, cores } => write!(
                f,
                "packets pass through user space: {program} took {cores:.2} cores"
            ),
            Self::OffloadLost { place, device, before, after } => write!(
                f,
                "offload lost at {place}:{device}: packets of {before:.0} bytes on average came to it as {after:.0}"
            ),
            Self::EncryptedInSoftware { by } => {
                write!(f, "encrypted in software, by {by}: it costs CPU time for every byte")
            }
            Self::Ablated { effects, unaccounted } => {
                ablation::write_effects(f, effects, unaccounted.as_ref())
            }
            Self::OrderReversed { workload, metric, ahead, behind, fewer, more } => write!(
                f,
                "the ranking changes with the cores: in {workload} {metric}, {ahead} is ahead of {behind} on {fewer}, and behind it on {more}"
            ),
            Self::PortsExhausted { times } => write!(
                f,
                "no local port was free {times} times: raise net.ipv4.ip_local_port_range, or close by --close rst"
            ),
            Self::TimeWaitOverflow { overflowed } => write!(
                f,
                "{overflowed} connections did not fit into the table of those in TIME_WAIT: raise net.ipv4.tcp_max_tw_buckets, or close by --close rst"
            ),
            Self::SpinsOnSharedCore { threads, cores } => write!(
                f,
                "{threads} spinning threads share {cores} cores and wait for one another: use fewer flows or more --cpus"
            ),
            Self::SearchAtSendersLimit { rate } => write!(
                f,
                "the sender can do no more than {rate:.0} datagrams/s: the network may carry more"
            ),
            Self::SearchUnfinished { width } => write!(
                f,
                "the search ran out of time with bounds {:.1} % apart: use a longer --duration",
                width * 100.0
            ),
            Self::OffloadsKept { devices } => {
                write!(f, "offloads that cannot be switched off stayed on: {}", devices.join("; "))
            }
            Self::WorkloadSkipped { workload, reason, remedy } => {
                write!(f, "{workload} is left out: {reason}; {remedy}")
            }
            Self::StandIn { workload, used, reason } => {
                write!(f, "{used} stands in for {workload}: {reason}")
            }
            Self::Scaled { changes } => {
                write!(f, "scaled, not as the study says: {}", changes.join("; "))
            }
            Self::Drift { change, .. } => write!(
                f,
                "drifted by {:+.1} % from the first block to the last; ratios within blocks do not feel it, means do",
                change * 100.0
            ),
            Self::OneMachine { cores } => {
                write!(f, "one machine, {cores} shared cores, no NIC: CPU cost, not wire speed")
            }
            Self::Fragmented { packets, fragments, refused, place, mtu } => {
                match mtu {
                    Some(fit) => write!(f, "{fit}: ")?,
                    None => f.write_str("packets did not fit the MTU: ")?,
                }
                let (packets, fragments) = (*packets, *fragments);
                if packets > 0 && fragments > 0 {
                    write!(f, "{}; ", FragmentCount { packets, fragments })?;
                }
                write!(f, "{packets} were cut, {refused} refused, most in {place}")
            }
            Self::FewSamples { metric, beyond } => write!(
                f,
                "{metric} is withheld: {beyond} samples beyond it, 100 are needed; use a longer --duration"
            ),
        }
    }
}
