//! Findings: facts that a reader of a figure needs to know, each kind a type of its own with its evidence.

mod congestion;
mod ends;
mod kind;
mod machine;
mod path;
mod run;
mod trials;

pub use congestion::*;
pub use ends::*;
pub use kind::{FindingKind, FindingScope, FindingWeight};
pub use machine::*;
pub use path::*;
pub use run::*;
pub use trials::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Declares the kinds of findings: the name in JSON (`kind`), and the type.
macro_rules! findings {
    ($($name:literal => $kind:ident,)+) => {
        /// Fact that a reader of a figure needs to know.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        #[allow(missing_docs, reason = "the type of each kind says what it is")]
        pub enum Finding {
            $(#[serde(rename = $name)] $kind($kind),)+
        }

        impl Finding {
            /// Returns the finding as one of its kind, which has its weight, its severity and its subject.
            #[must_use]
            pub fn kind(&self) -> &dyn FindingKind {
                match self {
                    $(Self::$kind(kind) => kind,)+
                }
            }
        }

        $(impl From<$kind> for Finding {
            fn from(kind: $kind) -> Self {
                Self::$kind(kind)
            }
        })+
    };
}

findings! {
    "never-settled" => UnsettledTrials,
    "mode-switch" => LevelSwitch,
    "trend" => TrialTrend,
    "warm-up-matters" => WarmUpInfluence,
    "node-pair" => NodePairFacts,
    "silent" => SilentTrials,
    "ends-disagree" => PayloadMismatch,
    "busy-machine" => OtherWork,
    "stolen" => StolenTime,
    "throttled" => ThrottlingEvents,
    "over-quota" => QuotaThrottledTime,
    "frequency-changed" => FrequencyChange,
    "emulated" => EmulatedProcessor,
    "second-attempt" => SecondAttempt,
    "other-run" => OtherRuns,
    "low-headroom" => LowHeadroom,
    "small-buffer" => SmallBuffer,
    "other-congestion-control" => OtherCongestionControl,
    "not-pinned" => PinningFailure,
    "stall" => ClientStall,
    "sender-too-slow" => SlowSender,
    "count-not-reached" => CountShortfall,
    "dropped-at-socket" => SocketDrops,
    "loss-placed" => LossByPlace,
    "retransmitted" => RetransmittedSegments,
    "cpu-placed" => CpuTimeByConsumer,
    "watched" => CpuTimeOfMeasurement,
    "softirq-on-one-core" => SoftirqConcentration,
    "userspace" => UserspaceForwarding,
    "offload-lost" => OffloadLoss,
    "encrypted-in-software" => SoftwareEncryption,
    "ablated" => AblationEffects,
    "order-reversed" => RankReversal,
    "hardware-counted" => HardwareCounterLimits,
    "ports-exhausted" => PortExhaustion,
    "time-wait-overflow" => TimeWaitOverflow,
    "spins-on-shared-core" => SpinningThreads,
    "search-at-senders-limit" => SearchLimitedBySender,
    "search-unfinished" => UnfinishedSearch,
    "offloads-kept" => KeptOffloads,
    "workload-skipped" => SkippedWorkload,
    "stand-in" => WorkloadStandIn,
    "program-stand-in" => ProgramStandIn,
    "scaled" => ScaledStudy,
    "drift" => BlockDrift,
    "unread-lines" => UnreadLines,
    "one-machine" => SharedMachine,
    "fragmented" => PacketFragmentation,
    "host-congestion" => HostCongestionControl,
    "waited-for-cores" => CoreWaiting,
    "other-default-congestion" => OtherDefaultCongestion,
    "mixed-congestion" => MixedCongestion,
    "pooled-blocks" => PooledBlocks,
    "network-not-inspected" => InspectionFailure,
    "few-samples" => FewSamples,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}
