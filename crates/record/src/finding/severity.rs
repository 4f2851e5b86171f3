//! Severity of findings, by which the worst of a kind is told.

use super::Finding;

impl Finding {
    /// Returns the severity of the finding within its kind: larger is worse. Findings of different kinds, or of different
    /// subjects, cannot be compared.
    #[must_use]
    pub fn severity(&self) -> f64 {
        let share = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
        match self {
            Self::NeverSettled { trials, of } | Self::Silent { trials, of } => {
                share(f64::from(*trials), f64::from(*of))
            }
            Self::ModeSwitch { ratio, .. } => *ratio,
            Self::Trend { change, .. } | Self::Drift { change, .. } => change.abs(),
            Self::WarmUpMatters { uncut, cut } => share((uncut - cut).abs(), cut.abs()),
            Self::EndsDisagree { sent, received } => {
                share(sent.abs_diff(*received) as f64, *sent as f64)
            }
            Self::BusyMachine { share } | Self::Stolen { share } => *share,
            Self::OverQuota { waited } => waited.as_secs_f64(),
            Self::FrequencyChanged { lowest, highest } => share(*highest, *lowest),
            Self::Fragmented { packets, refused, .. } => *packets as f64 + *refused as f64,
            Self::OtherRun { others } => f64::from(*others),
            Self::LowHeadroom { used, limit, .. } => share(*used as f64, *limit as f64),
            Self::SmallBuffer { asked, granted } => -share(*granted as f64, *asked as f64),
            Self::Stall { longest } => longest.as_secs_f64(),
            Self::SenderTooSlow { asked, offered } => 1.0 - share(*offered, *asked),
            Self::CountNotReached { asked, completed } => {
                1.0 - share(*completed as f64, *asked as f64)
            }
            Self::DroppedAtSocket { dropped, of } => share(*dropped as f64, *of as f64),
            Self::LossPlaced { lost, of, .. } => share(*lost as f64, *of as f64),
            Self::Retransmitted { segments, of, .. } => share(*segments as f64, *of as f64),
            Self::Watched { sampling, tcp_info, drops, .. } => sampling + tcp_info + drops,
            Self::SoftirqOnOneCore { share, others, .. } => share - others,
            Self::Userspace { cores, .. } => *cores,
            Self::OffloadLost { before, after, .. } => share(*before, *after),
            Self::Throttled { times } | Self::PortsExhausted { times } => *times as f64,
            Self::TimeWaitOverflow { overflowed } => *overflowed as f64,
            Self::SpinsOnSharedCore { threads, cores } => {
                share(f64::from(*threads), f64::from(*cores))
            }
            Self::SearchAtSendersLimit { rate } => -rate,
            Self::SearchUnfinished { width } => *width,
            Self::FewSamples { beyond, .. } => -(*beyond as f64),
            Self::UnreadLines { lines, .. } => lines.len() as f64,
            Self::PooledBlocks { blocks } => f64::from(*blocks),
            Self::NetworkNotInspected { turns, of, .. } => share(f64::from(*turns), f64::from(*of)),
            Self::WaitedForCores { explained, .. } => *explained,
            Self::HardwareCounted { running, .. } => 1.0 - running,
            Self::Emulated
            | Self::Ablated { .. }
            | Self::OrderReversed { .. }
            | Self::CpuPlaced { .. }
            | Self::EncryptedInSoftware { .. }
            | Self::OtherCongestionControl { .. }
            | Self::SecondAttempt { .. }
            | Self::HostCongestion { .. }
            | Self::OtherDefaultCongestion { .. }
            | Self::MixedCongestion { .. }
            | Self::NotPinned { .. }
            | Self::WorkloadSkipped { .. }
            | Self::StandIn { .. }
            | Self::ProgramStandIn { .. }
            | Self::Scaled { .. }
            | Self::OffloadsKept { .. }
            | Self::NodePair { .. }
            | Self::OneMachine { .. } => 0.0,
        }
    }
}
