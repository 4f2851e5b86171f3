//! Findings: all warnings in one enum, each with its evidence.

mod display;
mod networks_under_control;
mod severity;

pub use networks_under_control::NetworksUnderControl;

use crate::{AblationEffect, MtuFit, Nanos, NodeFacts, PacketDrops, UnaccountedGap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fact that a reader of a figure needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// Some trials never reached a steady state; they are kept.
    NeverSettled {
        /// Number of such trials.
        trials: u32,
        /// Number of all trials.
        of: u32,
    },
    /// The level changed within trials after their warm-up.
    ModeSwitch {
        /// Number of such trials.
        trials: u32,
        /// Number of all trials.
        of: u32,
        /// Ratio of the larger level to the smaller, median over those trials.
        ratio: f64,
    },
    /// The level drifted within trials after their warm-up.
    Trend {
        /// Number of such trials.
        trials: u32,
        /// Number of all trials.
        of: u32,
        /// Change from beginning to end, relative to the mean, median over those trials.
        change: f64,
    },
    /// Removing the warm-up changed the estimate by more than half the width of its confidence interval.
    WarmUpMatters {
        /// Estimate with the warm-up included, in the metric's unit.
        uncut: f64,
        /// Estimate with the warm-up removed, in the metric's unit.
        cut: f64,
    },
    /// Nodes of the ends of a network between machines of a cluster. Where they differ, a ratio holds for this pair.
    NodePair {
        /// Node of the first client.
        client: NodeFacts,
        /// Node of its server.
        server: NodeFacts,
    },
    /// Nothing arrived in some trials, so that there is no ratio.
    Silent {
        /// Number of such trials.
        trials: u32,
        /// Number of all trials.
        of: u32,
    },
    /// The two ends disagree on the amount of payload.
    EndsDisagree {
        /// Count of the sending end.
        sent: u64,
        /// Count of the receiving end.
        received: u64,
    },
    /// Other processes used the CPU.
    BusyMachine {
        /// CPU time of other processes, as a share of the time of all cores, 0–1.
        share: f64,
    },
    /// The hypervisor delayed the virtual CPUs of this machine.
    Stolen {
        /// Time taken by the hypervisor, as a share of the time of all cores, 0–1.
        share: f64,
    },
    /// The processor was throttled because it was too hot.
    Throttled {
        /// Number of throttling events, over all cores.
        times: u64,
    },
    /// The CPU quota of a cgroup throttled the run.
    OverQuota {
        /// Throttled time, over all cores, ns.
        waited: Nanos,
    },
    /// The cores ran at a higher frequency in some trials than in others.
    FrequencyChanged {
        /// Frequency under load in the slowest trial, MHz.
        lowest: f64,
        /// Frequency under load in the fastest trial, MHz.
        highest: f64,
    },
    /// The processor was emulated by software, so that there are no verdicts.
    Emulated,
    /// The first attempt of the trial failed, and the trial was run again over its network raised anew.
    SecondAttempt {
        /// Reason of the failure.
        reason: String,
    },
    /// Another run of tare was active.
    OtherRun {
        /// Number of other runs.
        others: u32,
    },
    /// A kernel-wide table, shared by all namespaces, is nearly full.
    LowHeadroom {
        /// Name of the table: `neighbours`, `conntrack`, `pids`, `memory`.
        resource: String,
        /// Amount in use.
        used: u64,
        /// Upper limit.
        limit: u64,
    },
    /// The socket buffers are smaller than requested.
    SmallBuffer {
        /// Bytes requested.
        asked: u64,
        /// Bytes granted by the kernel.
        granted: u64,
    },
    /// The requested congestion control is not available; another one was in force.
    OtherCongestionControl {
        /// Congestion control requested.
        asked: String,
        /// Congestion control in force.
        used: String,
    },
    /// The threads could not be pinned to the requested cores.
    NotPinned {
        /// Reason why pinning failed.
        reason: String,
    },
    /// A client was stalled for longer than a whole interval.
    Stall {
        /// Longest time without any progress, ns.
        longest: Nanos,
    },
    /// The sender could not keep up with the requested rate.
    SenderTooSlow {
        /// Datagrams or transactions per second requested.
        asked: f64,
        /// Datagrams or transactions per second offered.
        offered: f64,
    },
    /// The time of a trial ended it before its number of transactions was reached.
    CountNotReached {
        /// Number of transactions requested.
        asked: u64,
        /// Number of transactions completed.
        completed: u64,
    },
    /// Datagrams arrived at a full socket buffer of the receiver.
    DroppedAtSocket {
        /// Datagrams dropped.
        dropped: u64,
        /// Datagrams sent.
        of: u64,
    },
    /// Places at which datagrams were lost, over all trials. The parts and the rest add up to the total.
    LossPlaced {
        /// Datagrams lost.
        lost: u64,
        /// Datagrams sent.
        of: u64,
        /// Losses by place, the largest first.
        parts: Vec<PacketDrops>,
        /// Losses that no counter shows; below 0 if hops dropped more than was lost, which are then packets of other
        /// traffic.
        unplaced: i64,
    },
    /// TCP retransmitted segments, over all trials.
    Retransmitted {
        /// Segments retransmitted.
        segments: u64,
        /// Segments sent for the first time.
        of: u64,
        /// Packets dropped during the trials, the most frequent place first. One packet may have held many segments.
        drops: Vec<PacketDrops>,
    },
    /// CPU time by consumer while traffic ran, in cores (seconds per second), means over all trials. Packet processing
    /// in an agent's context counts as the agent's time and partly as software interrupts, so the parts do not add up.
    /// Time that a hypervisor took from an agent counts as the agent's on most kernels, and never as `busy`.
    CpuPlaced {
        /// The agents' own code, in user space.
        agents_user: f64,
        /// The kernel on behalf of the agents.
        agents_system: f64,
        /// Software and hardware interrupts, in any context.
        softirq: f64,
        /// The ksoftirqd threads; `None` if they are not visible.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ksoftirqd: Option<f64>,
        /// The network's daemons.
        daemons: f64,
        /// All busy time of the machine.
        busy: f64,
    },
    /// Measurement overhead while traffic ran, in cores (seconds per second), means over all trials.
    Watched {
        /// Sampling of the cores' time and of their hardware counters.
        sampling: f64,
        /// Reading `TCP_INFO` of the connections.
        tcp_info: f64,
        /// The kernel program that runs at every packet drop, to count drop reasons.
        drops: f64,
        /// Runs of that program, over all trials.
        runs: u64,
    },
    /// One core did all the network processing in software interrupts, while others did little of it.
    SoftirqOnOneCore {
        /// Number of the core.
        core: u32,
        /// Share of the core's time in software interrupts, 0–1.
        share: f64,
        /// Mean share of the other cores, 0–1.
        others: f64,
    },
    /// A program forwarded the packets: each packet crosses between kernel and user space on its way.
    Userspace {
        /// Name of the program.
        program: String,
        /// Cores that it kept busy (seconds per second), on all nodes together.
        cores: f64,
    },
    /// Large packets, which offloads keep whole, were segmented before this device.
    OffloadLost {
        /// Namespace of the device.
        place: String,
        /// Name of the device.
        device: String,
        /// Mean packet size on the device before it, bytes.
        before: f64,
        /// Mean packet size on this device, bytes.
        after: f64,
    },
    /// The traffic is encrypted by the machine's own cores.
    EncryptedInSoftware {
        /// Encrypting software: `the kernel`, or the names of the programs.
        by: String,
    },
    /// Effects of single changes on the figure, and the part of the ratio to the baseline that none of them accounts
    /// for. Effects do not add up.
    Ablated {
        /// Effects of the changes, in the order of declaration of their factors.
        effects: Vec<AblationEffect>,
        /// The rest; `None` if no block has all figures, and for the baseline itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unaccounted: Option<UnaccountedGap>,
    },
    /// The ranking of two networks changes with the number of cores.
    OrderReversed {
        /// Name of the workload.
        workload: String,
        /// Metric by which the networks are ranked.
        metric: crate::Metric,
        /// Label of the network that is ahead on fewer cores.
        ahead: String,
        /// Label of the network that is ahead on more cores.
        behind: String,
        /// Smaller number of cores.
        fewer: u32,
        /// Larger number of cores.
        more: u32,
    },
    /// Hardware counters did not count all execution, or not all the time.
    HardwareCounted {
        /// Scope of the counters.
        counted: crate::CounterScope,
        /// Smallest share of the time during which any of them was active, 0–1.
        running: f64,
    },
    /// Connections could not be established because no local port was free.
    PortsExhausted {
        /// Number of failed attempts.
        times: u64,
    },
    /// The kernel's table of connections in TIME_WAIT overflowed (`net.ipv4.tcp_max_tw_buckets`).
    TimeWaitOverflow {
        /// Connections that did not fit into the table.
        overflowed: u64,
    },
    /// Busy-waiting threads share a core, so that they take CPU time from one another.
    SpinsOnSharedCore {
        /// Number of busy-waiting threads.
        threads: u32,
        /// Number of cores that they run on.
        cores: u32,
    },
    /// A search ended at the highest rate of the sender; the network may carry more.
    SearchAtSendersLimit {
        /// Highest rate of the sender, datagrams per second.
        rate: f64,
    },
    /// A search ran out of time before its bounds were as close as requested.
    SearchUnfinished {
        /// Distance of the bounds, as a share of the upper one.
        width: f64,
    },
    /// Offloads that the run switches off, but the device does not allow to change.
    OffloadsKept {
        /// Devices, each with the offloads that stayed enabled: `node-0:lo checksum`.
        devices: Vec<String>,
    },
    /// A workload of the study was left out, because this build or machine does not have it.
    WorkloadSkipped {
        /// Name of the workload.
        workload: String,
        /// Reason why it was left out.
        reason: String,
        /// Action that would make it run.
        remedy: String,
    },
    /// A workload of the study was replaced, because this build or machine does not have it.
    StandIn {
        /// Name of the workload in the study.
        workload: String,
        /// Name of the workload that was measured instead.
        used: String,
        /// Reason for the replacement.
        reason: String,
    },
    /// A program of tare's own carried the packets in the place of the network's own program.
    ProgramStandIn {
        /// Name of the program that ran.
        used: String,
        /// Name of the program that it stands for.
        original: String,
        /// Reason why that program did not run.
        reason: String,
    },
    /// The run is shorter than the study that it follows.
    Scaled {
        /// Changes to the study, in words.
        changes: Vec<String>,
    },
    /// The level of a network drifted from block to block.
    Drift {
        /// Change from the first block to the last, relative to the mean.
        change: f64,
        /// Two-sided p-value of no trend, corrected for the number of networks.
        p: f64,
    },
    /// Lines of the journal cannot be read, and are left out.
    UnreadLines {
        /// Numbers of the lines, from 1.
        lines: Vec<u64>,
        /// Error of the parser at the first of them.
        reason: String,
    },
    /// The nodes are namespaces of one machine.
    OneMachine {
        /// Number of cores that all nodes share.
        cores: u32,
    },
    /// Packets exceeded the MTU on their path.
    Fragmented {
        /// Packets fragmented, at the place with the most.
        packets: u64,
        /// Fragments of those packets.
        #[serde(default)]
        fragments: u64,
        /// Packets dropped because they must not be fragmented, or rejected with an ICMP message (RFC 1191, RFC 8201),
        /// at all places.
        refused: u64,
        /// Namespace with most of the fragmentation and rejection.
        place: String,
        /// MTUs of the client's device and of the path, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mtu: Option<MtuFit>,
    },
    /// The run used another congestion control than the host's own.
    HostCongestion {
        /// Control of the host.
        host: String,
        /// Control of the run.
        used: String,
    },
    /// Threads that waited for a core explain a part of the spread of the rounds' ratios.
    WaitedForCores {
        /// Mean time for which the network's threads waited for a core, per time of its slices.
        network: f64,
        /// The same of the baseline's threads.
        baseline: f64,
        /// Share of the variance of a block's ratio, as its rounds tell it, that comes with the difference of both.
        explained: f64,
        /// Ratio to the baseline if neither had waited longer than the other.
        ratio: f64,
        /// 95 % confidence interval of that ratio.
        ci95: [f64; 2],
    },
    /// The requested congestion control cannot be made the default of the network namespaces: programs that choose none
    /// used another one.
    OtherDefaultCongestion {
        /// Congestion control requested.
        asked: String,
        /// Default of the namespaces.
        used: String,
    },
    /// The programs of a workload, which choose no congestion control, used different ones over different networks.
    MixedCongestion {
        /// Name of the workload.
        workload: String,
        /// Controls, each with its networks.
        controls: Vec<NetworksUnderControl>,
    },
    /// A woven block has too few samples for a percentile: each figure is one of several blocks.
    PooledBlocks {
        /// Number of blocks of each figure.
        blocks: u32,
    },
    /// The kernel did not answer for a figure of a network itself.
    NetworkNotInspected {
        /// Label of the network.
        network: String,
        /// Metric of the figure.
        metric: crate::Metric,
        /// Number of the network's turns without the figure.
        turns: u32,
        /// Number of all its turns.
        of: u32,
        /// Error in the first of them.
        reason: String,
    },
    /// Some trials have too few samples for a percentile.
    FewSamples {
        /// Metric that is withheld.
        metric: crate::Metric,
        /// Smallest number of samples beyond the percentile in any trial.
        beyond: u64,
        /// Number of samples that each trial needs.
        #[serde(default = "samples_of_one_piece", skip_serializing_if = "is_of_one_piece")]
        needed: u64,
    },
}

/// Returns the number of samples beyond a percentile that a trial in one piece needs, which is what earlier versions
/// asked of all trials.
fn samples_of_one_piece() -> u64 {
    100
}

fn is_of_one_piece(needed: &u64) -> bool {
    *needed == samples_of_one_piece()
}
