//! Weight of a note for a reader of the figures.

use tare_record::Finding;

/// Share of segments from which on retransmissions explain a figure. A single loss at the beginning of each connection
/// is usual.
const LEAST_RETRANSMITTED: f64 = 0.005;

/// Weight of a note, the weightiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// All figures were made in another way than the host's settings say.
    Method,
    /// The figures are to be read in another way: the machine was busy, or something else was measured than requested.
    Reading,
    /// A network's figures are explained.
    Network,
    /// Facts that change little.
    Background,
}

impl Weight {
    /// Returns the weight of a finding.
    pub(crate) fn from_finding(finding: &Finding) -> Self {
        match finding {
            Finding::HostCongestion { .. } => Self::Method,
            Finding::Emulated
            | Finding::EndsDisagree { .. }
            | Finding::BusyMachine { .. }
            | Finding::Stolen { .. }
            | Finding::Throttled { .. }
            | Finding::OverQuota { .. }
            | Finding::FrequencyChanged { .. }
            | Finding::OtherRun { .. }
            | Finding::SecondAttempt { .. }
            | Finding::LowHeadroom { .. }
            | Finding::OtherCongestionControl { .. }
            | Finding::OtherDefaultCongestion { .. }
            | Finding::MixedCongestion { .. }
            | Finding::NotPinned { .. }
            | Finding::SmallBuffer { .. }
            | Finding::SenderTooSlow { .. }
            | Finding::CountNotReached { .. }
            | Finding::OffloadsKept { .. }
            | Finding::WorkloadSkipped { .. }
            | Finding::StandIn { .. }
            | Finding::ProgramStandIn { .. }
            | Finding::Scaled { .. }
            | Finding::Silent { .. }
            | Finding::SpinsOnSharedCore { .. }
            | Finding::SearchAtSendersLimit { .. }
            | Finding::PortsExhausted { .. }
            | Finding::TimeWaitOverflow { .. }
            | Finding::Drift { .. }
            | Finding::UnreadLines { .. }
            | Finding::NetworkNotInspected { .. }
            | Finding::OneMachine { .. } => Self::Reading,
            Finding::NodePair { client, server } if !client.is_like(server) => Self::Reading,
            Finding::Retransmitted { segments, of, .. }
                if (*segments as f64) < LEAST_RETRANSMITTED * *of as f64 =>
            {
                Self::Background
            }
            Finding::Stall { .. }
            | Finding::DroppedAtSocket { .. }
            | Finding::LossPlaced { .. }
            | Finding::Retransmitted { .. }
            | Finding::SoftirqOnOneCore { .. }
            | Finding::Userspace { .. }
            | Finding::OffloadLost { .. }
            | Finding::EncryptedInSoftware { .. }
            | Finding::Ablated { .. }
            | Finding::OrderReversed { .. }
            | Finding::Fragmented { .. }
            | Finding::ModeSwitch { .. }
            | Finding::Trend { .. } => Self::Network,
            Finding::NodePair { .. }
            | Finding::NeverSettled { .. }
            | Finding::WarmUpMatters { .. }
            | Finding::FewSamples { .. }
            | Finding::PooledBlocks { .. }
            | Finding::WaitedForCores { .. }
            | Finding::CpuPlaced { .. }
            | Finding::Watched { .. }
            | Finding::HardwareCounted { .. }
            | Finding::SearchUnfinished { .. } => Self::Background,
        }
    }
}

/// Returns true if a finding is about the machine and not about a workload or a network: it is told once for all.
pub(crate) fn is_about_machine(finding: &Finding) -> bool {
    matches!(
        finding,
        Finding::BusyMachine { .. }
            | Finding::Stolen { .. }
            | Finding::Throttled { .. }
            | Finding::OverQuota { .. }
            | Finding::FrequencyChanged { .. }
            | Finding::OtherRun { .. }
            | Finding::LowHeadroom { .. }
            | Finding::UnreadLines { .. }
            | Finding::OneMachine { .. }
            | Finding::NodePair { .. }
    )
}
