//! Text of findings: one line each, with its evidence.

use super::Finding;
use crate::mtu_fit::FragmentCount;
use crate::packet_drops::{PercentShare, write_drops};
use crate::{CounterScope, ablation, counted};
use std::fmt;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverSettled { trials, of } => {
                write!(f, "{trials} of {of} trials never reached a steady state; they are kept")
            }
            Self::ModeSwitch { trials, of, ratio } => write!(
                f,
                "the level changed within {trials} of {of} trials, by a factor of {ratio:.2}"
            ),
            Self::Trend { trials, of, change } => {
                write!(
                    f,
                    "a trend within {trials} of {of} trials: {:+.1} % from beginning to end",
                    change * 100.0
                )
            }
            Self::WarmUpMatters { uncut, cut } => {
                write!(
                    f,
                    "the warm-up changes the figure: {uncut:.4} with the warm-up, {cut:.4} without"
                )
            }
            Self::Silent { trials, of } => {
                write!(f, "the figure is 0 in {trials} of {of} trials, so there is no ratio")
            }
            Self::EndsDisagree { sent, received } => {
                write!(f, "the two ends disagree on the payload: {sent} sent, {received} received")
            }
            Self::BusyMachine { share } => {
                write!(f, "other programs took {:.0} % of the CPU", share * 100.0)
            }
            Self::Stolen { share } => write!(
                f,
                "the hypervisor took {:.0} % of the CPU (steal): measure on a machine that is not shared, or with more blocks",
                share * 100.0
            ),
            Self::Throttled { times } => write!(
                f,
                "the processor was throttled {} because it was too hot: improve its cooling, or pause between runs",
                counted(*times, "time", "times")
            ),
            Self::OverQuota { waited } => write!(
                f,
                "the CPU quota of a control group throttled the run for {:.2} s: raise cpu.max, or run tare outside of that group",
                waited.as_secs_f64()
            ),
            Self::FrequencyChanged { lowest, highest } => write!(
                f,
                "the cores ran at {lowest:.0} MHz in one trial and at {highest:.0} MHz in another: set the governor `performance`, and disable boost"
            ),
            Self::Emulated => f.write_str(
                "the processor is emulated (TCG), so there are no verdicts: the figures show that networks work, not how fast they are",
            ),
            Self::HardwareCounted { counted, running } => {
                f.write_str(match counted {
                    CounterScope::Machine => "hardware counters counted all cores",
                    CounterScope::Agents => {
                        "hardware counters counted only tare's agents and the kernel's work for them: run as root to count all cores"
                    }
                    CounterScope::AgentsCode => {
                        "hardware counters counted only the code of tare's agents, without the kernel: run as root to count all cores"
                    }
                })?;
                if *running < 1.0 {
                    write!(
                        f,
                        "; the counters were active for {:.0} % of the time, the rest is extrapolated",
                        running * 100.0
                    )?;
                }
                Ok(())
            }
            Self::SecondAttempt { reason } => {
                write!(
                    f,
                    "a trial was run again over its network raised anew, because its first attempt failed: {reason}"
                )
            }
            Self::OtherRun { others } => {
                write!(
                    f,
                    "{} on this machine: the runs disturb one another; measure again without them",
                    counted(*others, "other tare run", "other tare runs")
                )
            }
            Self::LowHeadroom { resource, used, limit } => {
                write!(
                    f,
                    "little headroom for {resource}: {used} of {limit} used, shared by all namespaces"
                )
            }
            Self::SmallBuffer { asked, granted } => {
                write!(
                    f,
                    "the kernel granted a socket buffer of {granted} bytes instead of {asked}: raise the sysctls net.core.rmem_max and net.core.wmem_max"
                )
            }
            Self::OtherCongestionControl { asked, used } => {
                write!(
                    f,
                    "congestion control {used} instead of {asked}, which is not allowed or not the default there: see the sysctl net.ipv4.tcp_allowed_congestion_control"
                )
            }
            Self::NotPinned { reason } => {
                write!(f, "the threads are not pinned to the requested cores: {reason}")
            }
            Self::Stall { longest } => write!(f, "a client made no progress for {}", longest.rounded()),
            Self::SenderTooSlow { asked, offered } => write!(
                f,
                "the sender could not keep up with the requested rate: {offered:.0}/s offered of {asked:.0}/s requested"
            ),
            Self::CountNotReached { asked, completed } => write!(
                f,
                "a trial ended by its time after {completed} of {asked} requested transactions: use a longer --duration or a smaller --count"
            ),
            Self::DroppedAtSocket { dropped, of } => write!(
                f,
                "{dropped} of {of} datagrams were lost in the receiver's full socket buffer, not in the network"
            ),
            Self::LossPlaced { lost, of, parts, unplaced } => {
                write!(f, "{} lost: ", PercentShare(*lost as f64 / (*of).max(1) as f64))?;
                write_drops(f, parts, *of, *unplaced)
            }
            Self::Retransmitted { segments, of, drops } => {
                let share = PercentShare(*segments as f64 / (*of).max(1) as f64);
                write!(f, "{segments} segments were retransmitted ({share} of all)")?;
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
                    "of {busy:.2} busy cores, the agents took {agents_user:.2} in user space and {agents_system:.2} in the kernel, softirq {softirq:.2}"
                )?;
                ksoftirqd.map_or(Ok(()), |cores| write!(f, ", ksoftirqd {cores:.2}"))?;
                if *daemons > 0.0 { write!(f, ", the network's programs {daemons:.2}") } else { Ok(()) }
            }
            Self::Watched { sampling, tcp_info, drops, runs } => {
                let all = PercentShare(sampling + tcp_info + drops);
                write!(
                    f,
                    "measurement overhead: {all} of a core: sampling {}",
                    PercentShare(*sampling)
                )?;
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
                "offload lost at {place}:{device}: the mean packet size falls from {before:.0} to {after:.0} bytes"
            ),
            Self::EncryptedInSoftware { by } => {
                write!(f, "traffic is encrypted in software by {by}: every byte costs CPU time")
            }
            Self::Ablated { effects, unaccounted } => {
                ablation::write_effects(f, effects, unaccounted.as_ref())
            }
            Self::OrderReversed { workload, metric, ahead, behind, fewer, more } => write!(
                f,
                "the ranking changes with the number of cores: in {workload} {metric}, {ahead} is ahead of {behind} on {fewer}, and behind {behind} on {more}"
            ),
            Self::PortsExhausted { times } => write!(
                f,
                "no local port was free for {}: widen the sysctl net.ipv4.ip_local_port_range, or use --close rst",
                counted(*times, "connection", "connections")
            ),
            Self::TimeWaitOverflow { overflowed } => write!(
                f,
                "{overflowed} connections did not fit into the kernel's table of connections in TIME_WAIT: raise the sysctl net.ipv4.tcp_max_tw_buckets, or use --close rst"
            ),
            Self::SpinsOnSharedCore { threads, cores } => write!(
                f,
                "{threads} busy-waiting threads share {cores} cores and delay one another: use fewer flows, or more cores with --cpus"
            ),
            Self::SearchAtSendersLimit { rate } => write!(
                f,
                "the sender cannot send more than {rate:.0} datagrams/s: the network may carry more"
            ),
            Self::SearchUnfinished { width } => write!(
                f,
                "the search ran out of time with its bounds {:.1} % apart: use a longer --duration",
                width * 100.0
            ),
            Self::OffloadsKept { devices } => {
                write!(f, "offloads that cannot be disabled stayed enabled: {}", devices.join("; "))
            }
            Self::WorkloadSkipped { workload, reason, remedy } => {
                write!(f, "{workload} was skipped: {reason}; {remedy}")
            }
            Self::StandIn { workload, used, reason } => {
                write!(f, "{used} was measured instead of {workload}: {reason}")
            }
            Self::NodePair { client, server } => {
                if client.is_like(server) {
                    write!(f, "the nodes of both ends are alike: {client}")?;
                } else {
                    write!(f, "the nodes differ: the client's has {client}; the server's {server}")?;
                }
                match (&client.zone, &server.zone) {
                    (Some(one), Some(other)) if one == other => f.write_str("; they are in one zone"),
                    (Some(_), Some(_)) => f.write_str("; they are in two zones"),
                    _ => Ok(()),
                }
            }
            Self::ProgramStandIn { used, original, reason } => {
                write!(f, "{used}, a stand-in of tare's, carried the packets instead of {original}: {reason}")
            }
            Self::Scaled { changes } => {
                write!(f, "the run is shorter than the study: {}", changes.join("; "))
            }
            Self::Drift { change, .. } => write!(
                f,
                "the level drifted by {:+.1} % from the first block to the last: means are affected, ratios within blocks are not",
                change * 100.0
            ),
            Self::UnreadLines { lines, reason } => {
                let first = lines.first().unwrap_or(&0);
                write!(
                    f,
                    "{} of the journal cannot be read, with what was in it, so that figures lack it: line {first}: {reason}",
                    counted(lines.len() as u64, "line", "lines")
                )
            }
            Self::NetworkNotInspected { network, metric, turns, of, reason } => {
                write!(
                    f,
                    "{metric} of {network} could not be read in {turns} of its {of} turns: {reason}"
                )
            }
            Self::OneMachine { cores } => {
                write!(
                    f,
                    "all nodes share {cores} cores of one machine, without a NIC: the figures show CPU cost, not wire speed"
                )
            }
            Self::Fragmented { packets, fragments, refused, place, mtu } => {
                match mtu {
                    Some(fit) => write!(f, "{fit}: ")?,
                    None => f.write_str("packets exceeded the MTU of the path: ")?,
                }
                let (packets, fragments) = (*packets, *fragments);
                write!(f, "{packets} packets were fragmented")?;
                if packets > 0 && fragments > 0 {
                    write!(f, " ({})", FragmentCount { packets, fragments })?;
                }
                write!(f, ", {refused} refused, most in {place}")
            }
            Self::HostCongestion { host, used } => write!(
                f,
                "this host's own congestion control is {host}; the networks were measured with {used}, which is the same on every path: --congestion system measures with {host}"
            ),
            Self::WaitedForCores { network, baseline, explained, ratio, ci95: [low, high] } => write!(
                f,
                "its threads waited for a core for {:.1} % of its slices, the baseline's for {:.1} %, which explains {:.0} % of the ratio's variance within blocks; if both had waited alike, the ratio would be {ratio:.3} ({low:.3} to {high:.3})",
                network * 100.0,
                baseline * 100.0,
                explained * 100.0
            ),
            Self::OtherDefaultCongestion { asked, used } => write!(
                f,
                "programs that choose no congestion control use {used} instead of {asked}, which cannot be made the default of their network namespace: see the sysctl net.ipv4.tcp_allowed_congestion_control"
            ),
            Self::MixedCongestion { workload, controls } => {
                let controls: Vec<String> = controls.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "the programs of {workload} used {}: they take the congestion control of their network namespace, and their figures differ by it, too; --congestion system leaves the host's to all",
                    controls.join(", and ")
                )
            }
            Self::PooledBlocks { blocks } => write!(
                f,
                "one block has too few samples beyond the percentile: each figure is that of {blocks} blocks, which are the unit of its interval"
            ),
            Self::FewSamples { metric, beyond, needed } => write!(
                f,
                "{metric} is withheld: a trial has only {} beyond it, and {needed} are needed; use more blocks or a longer --duration",
                counted(*beyond, "sample", "samples")
            ),
        }
    }
}
