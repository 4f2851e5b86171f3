//! What was noticed: every warning in one enum, each with its evidence.

mod words;

use crate::{Dropped, Effect, Fit, Nanos, Unaccounted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// an agent is booked as the agent's and, in part, as software interrupts, so the parts are no sum. Time that a
    /// hypervisor took from an agent is the agent's for most kernels, and never in `busy`.
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
    /// What it cost to look on while traffic ran, in cores (seconds a second), means over all trials.
    Watched {
        /// Sampling the cores' time and their hardware counters.
        sampling: f64,
        /// Asking TCP about its connections.
        tcp_info: f64,
        /// The program that the kernel runs whenever it drops a packet, to count why.
        drops: f64,
        /// How often it ran, over all trials.
        runs: u64,
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
    /// Hardware counters did not count all that was executed, or not all the time.
    HardwareCounted {
        /// Whose work they counted.
        counted: crate::Counting,
        /// The least share of the time for which any of them really counted, 0–1.
        running: f64,
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
        /// Packets that were cut, where most were.
        packets: u64,
        /// The fragments that they became.
        #[serde(default)]
        fragments: u64,
        /// Packets dropped because they may not be cut, or told to come smaller (RFC 1191, RFC 8201), in all places.
        refused: u64,
        /// The namespace that did most of it.
        place: String,
        /// How large they may be, where the path says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mtu: Option<Fit>,
    },
    /// All that a percentile needs was not there in some trials.
    FewSamples {
        /// The metric.
        metric: crate::Metric,
        /// The fewest samples beyond it in any trial.
        beyond: u64,
    },
}
