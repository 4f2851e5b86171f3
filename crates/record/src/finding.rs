//! What was noticed: every warning in one enum, each with its evidence.

use crate::dropped::{Share, listed};
use crate::{Dropped, Effect, Nanos, Unaccounted, ablation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that a reader of a figure should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// Some trials never reached a steady state; they stay in.
    NeverSettled {
        /// How many trials.
        trials: u32,
        /// Of how many.
        of: u32,
    },
    /// The level changed inside trials after their warm-up.
    ModeSwitch {
        /// How many trials.
        trials: u32,
        /// Of how many.
        of: u32,
        /// The larger level over the smaller, median over those trials.
        ratio: f64,
    },
    /// The level drifted inside trials after their warm-up.
    Trend {
        /// How many trials.
        trials: u32,
        /// Of how many.
        of: u32,
        /// Change from beginning to end over the mean, median over those trials.
        change: f64,
    },
    /// Cutting the warm-up changed the answer by more than its interval's half width.
    WarmUpMatters {
        /// The estimate without any cut, in the metric's unit.
        uncut: f64,
        /// The estimate with it.
        cut: f64,
    },
    /// Nothing at all arrived in some trials, so that there is no ratio.
    Silent {
        /// How many trials.
        trials: u32,
        /// Of how many.
        of: u32,
    },
    /// The two ends disagree on what was carried.
    EndsDisagree {
        /// What the sending end counted.
        sent: u64,
        /// What the receiving end counted.
        received: u64,
    },
    /// Other work ran on the machine.
    BusyMachine {
        /// CPU time used by others over all cores' time, 0–1.
        share: f64,
    },
    /// The hypervisor let this machine's virtual CPUs wait.
    Stolen {
        /// Their time that it gave to others over all cores' time, 0–1.
        share: f64,
    },
    /// The processor got too hot and slowed down.
    Throttled {
        /// How often, over all cores.
        times: u64,
    },
    /// A control group's CPU quota held the work back.
    OverQuota {
        /// How long, over all cores, ns.
        waited: Nanos,
    },
    /// The cores ran faster in some trials than in others.
    FrequencyChanged {
        /// While they had work, in the slowest trial, MHz.
        lowest: f64,
        /// In the fastest.
        highest: f64,
    },
    /// The processor was emulated by software, so that no network is said to be faster or slower than another.
    Emulated,
    /// Another tare was running.
    OtherRun {
        /// How many others.
        others: u32,
    },
    /// A kernel-wide table, shared by all namespaces, is nearly full.
    LowHeadroom {
        /// Which: `neighbours`, `conntrack`, `pids`, `memory`.
        resource: String,
        /// How much is used.
        used: u64,
        /// How much there is.
        limit: u64,
    },
    /// The sockets got smaller buffers than were asked for.
    SmallBuffer {
        /// Bytes asked for.
        asked: u64,
        /// Bytes granted.
        granted: u64,
    },
    /// The congestion control asked for is not available; another was in force.
    OtherCongestionControl {
        /// What was asked for.
        asked: String,
        /// What was in force.
        used: String,
    },
    /// The threads could not be placed on the cores asked for.
    NotPinned {
        /// Why.
        reason: String,
    },
    /// A client was stalled for longer than a whole interval.
    Stall {
        /// The longest stretch without any progress, ns.
        longest: Nanos,
    },
    /// The sender could not keep up with the rate asked for.
    SenderTooSlow {
        /// Datagrams or transactions per second asked for.
        asked: f64,
        /// What was really offered.
        offered: f64,
    },
    /// Datagrams came to the receiver's socket and found its buffer full.
    DroppedAtSocket {
        /// How many.
        dropped: u64,
        /// Of how many that were sent.
        of: u64,
    },
    /// Where datagrams were lost, over all trials; the parts and the rest are the whole.
    LossPlaced {
        /// How many were lost.
        lost: u64,
        /// Of how many that were sent.
        of: u64,
        /// Where, most first.
        parts: Vec<Dropped>,
        /// What no counter tells of; below 0 where hops dropped more than was lost: packets of others.
        unplaced: i64,
    },
    /// TCP sent segments again, over all trials.
    Retransmitted {
        /// How many.
        segments: u64,
        /// Of how many that were sent for the first time.
        of: u64,
        /// Packets that were dropped meanwhile, most first. One may have held many segments.
        drops: Vec<Dropped>,
    },
    /// Where CPU time went while traffic ran, in cores (seconds a second), means over all trials. What runs for packets inside
    /// an agent is booked as the agent's and, in part, as software interrupts, so the parts are no sum.
    CpuPlaced {
        /// The agents' own code.
        agents_user: f64,
        /// The kernel on the agents' behalf.
        agents_system: f64,
        /// Software and hardware interrupts, wherever they ran.
        softirq: f64,
        /// The kernel's threads for what interrupts leave over; nothing where they cannot be seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ksoftirqd: Option<f64>,
        /// The network's own programs.
        daemons: f64,
        /// All that was busy on the machine.
        busy: f64,
    },
    /// One core did all the work for the network that is done in software interrupts, while others did little of it.
    SoftirqOnOneCore {
        /// Its number.
        core: u32,
        /// The share of its time that went there, 0–1.
        share: f64,
        /// The mean of the other cores' shares, 0–1.
        others: f64,
    },
    /// A program carried the packets: each of them crosses between kernel and user space on its way.
    Userspace {
        /// Its name.
        program: String,
        /// The cores it kept busy (seconds a second), on all nodes together.
        cores: f64,
    },
    /// Large packets, which offloads keep whole, were cut before this device.
    OffloadLost {
        /// The device's namespace.
        place: String,
        /// The device.
        device: String,
        /// Bytes of a mean packet on the device before it.
        before: f64,
        /// And on this one.
        after: f64,
    },
    /// What is carried is encrypted by the machine's own cores.
    EncryptedInSoftware {
        /// By whom: `the kernel`, or the programs that do it.
        by: String,
    },
    /// What single changes make of the figure, and what of the ratio to the baseline none of them accounts for: effects do
    /// not add up.
    Ablated {
        /// The changes, in the order in which they are known.
        effects: Vec<Effect>,
        /// The rest; nothing where no block has all figures, or for the baseline itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unaccounted: Option<Unaccounted>,
    },
    /// Which of two networks is ahead changes with the number of cores.
    OrderReversed {
        /// Under which workload.
        workload: String,
        /// In which metric.
        metric: crate::Metric,
        /// The label of the network that is ahead on fewer cores.
        ahead: String,
        /// The label of the one that is ahead on more.
        behind: String,
        /// The fewer cores.
        fewer: u32,
        /// The more.
        more: u32,
    },
    /// Connections could not be made for want of local ports.
    PortsExhausted {
        /// How often.
        times: u64,
    },
    /// The kernel's table of connections in TIME_WAIT overflowed (`net.ipv4.tcp_max_tw_buckets`).
    TimeWaitOverflow {
        /// Connections that it could not hold.
        overflowed: u64,
    },
    /// Threads that spin share a core: they take from one another what they measure.
    SpinsOnSharedCore {
        /// Threads that spin.
        threads: u32,
        /// The cores that they have.
        cores: u32,
    },
    /// A search ended at a rate that the sender could not exceed: the network may carry more.
    SearchAtSendersLimit {
        /// That rate, datagrams per second.
        rate: f64,
    },
    /// A search ran out of time before its bounds were as close as asked.
    SearchUnfinished {
        /// How far apart they were, as a share of the upper one.
        width: f64,
    },
    /// Offloads that were to be switched off, and that the device does not let anybody switch.
    OffloadsKept {
        /// The devices, each with its offloads that stayed on: `node-0:lo checksum`.
        devices: Vec<String>,
    },
    /// A workload of the study that this build or machine lacks; it was left out.
    WorkloadSkipped {
        /// Which.
        workload: String,
        /// Why.
        reason: String,
        /// What would make it run.
        remedy: String,
    },
    /// A workload of the study that this build or machine lacks; another stood in for it.
    StandIn {
        /// Which.
        workload: String,
        /// What stood in.
        used: String,
        /// Why.
        reason: String,
    },
    /// The run is shorter than the study that it follows.
    Scaled {
        /// What is shorter, in words.
        changes: Vec<String>,
    },
    /// The level of a network drifted from block to block.
    Drift {
        /// The change from the first block to the last over the mean.
        change: f64,
        /// Two-sided p-value of no trend, corrected for the number of networks.
        p: f64,
    },
    /// The nodes are namespaces of one machine.
    OneMachine {
        /// The cores that all nodes share.
        cores: u32,
    },
    /// Packets were larger than what they had to pass.
    Fragmented {
        /// Packets that were cut into fragments.
        packets: u64,
        /// Packets dropped because they may not be cut, or told to come smaller (RFC 1191, RFC 8201).
        refused: u64,
        /// The namespace that did most of it.
        place: String,
    },
    /// All that a percentile needs was not there in some trials.
    FewSamples {
        /// The metric.
        metric: crate::Metric,
        /// The fewest samples beyond it in any trial.
        beyond: u64,
    },
}

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
                write!(f, "{} lost: ", Share(*lost as f64 / (*of).max(1) as f64))?;
                listed(f, parts, *of, *unplaced)
            }
            Self::Retransmitted { segments, of, drops } => {
                let share = Share(*segments as f64 / (*of).max(1) as f64);
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
                ablation::told(f, effects, unaccounted.as_ref())
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
            Self::Fragmented { packets, refused, place } => write!(
                f,
                "packets did not fit the MTU: {packets} were fragmented, {refused} refused, most in {place}"
            ),
            Self::FewSamples { metric, beyond } => write!(
                f,
                "{metric} is withheld: {beyond} samples beyond it, 100 are needed; use a longer --duration"
            ),
        }
    }
}
