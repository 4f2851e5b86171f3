//! Record types of tare, and the journal that stores them.
//!
//! Everything that one crate passes to another about a measurement is a type of this crate: the request ([`Plan`],
//! [`Shape`]), the observations ([`Trial`], [`Interval`], [`Hop`], [`Finding`]) and the results ([`Cell`],
//! [`Document`]). The terms are those of the field: RFC 1242 and RFC 2544, netperf and iperf. Nothing here measures,
//! decides or prints.
#![forbid(unsafe_code)]

mod ablation;
mod cell;
mod chart_data;
mod comparison;
mod counters;
mod cpu;
mod distribution;
mod document;
mod engine;
mod environment;
mod failure;
mod finding;
mod hardware;
mod histogram;
mod hop;
mod interval;
pub mod journal;
mod metric;
mod mtu_fit;
mod network_pair;
mod network_turn;
mod offload;
mod overhead;
mod packet_drops;
mod plan;
mod publication;
mod rate_search;
mod shape;
mod skipped_network;
mod stopped_by;
mod trial;
mod units;

pub use ablation::{
    Ablation, AblationEffect, AblationFactor, AblationVariant, UnaccountedGap, UnknownFactor,
};
pub use cell::{Cell, Difference, Ratio, Verdict, WithheldReason};
pub use chart_data::{ChartData, CpuCost, TrialTimeline, WorkUnit};
pub use comparison::{
    CellChange, CellKey, ComparedCell, ComparedRun, ComparedSide, Comparison, ComparisonBasis,
    EnvironmentDifference, GateOutcome, RegressionEstimate, RegressionGate, SampleUnit,
    UnmatchedCell,
};
pub use counters::{CoreCounts, CounterDeltas, NamespaceCounts, TrialCounters};
pub use cpu::{AgentsCpu, CpuUse, HostActivity, HostMemory, MachineSample, ThreadCpu};
pub use distribution::LatencyDistribution;
pub use document::Document;
pub use engine::EngineDescription;
pub use environment::{Environment, Headroom, HostDevice};
pub use failure::{NetworkFailure, RemainingPlan};
pub use finding::Finding;
pub use hardware::{CounterScope, HardwareCounters, HardwareEventCounts, HardwareSample};
pub use histogram::{HistogramError, LatencyHistogram};
pub use hop::{Hop, HopKind};
pub use interval::{DatagramCounts, Interval, Series, TcpInfoTotals};
pub use metric::{Better, ComparedBy, LatencyKind, LatencyStatistic, Metric, UnknownMetric};
pub use mtu_fit::MtuFit;
pub use network_pair::NetworkPair;
pub use network_turn::NetworkTurn;
pub use offload::{Offload, Offloads, UnknownOffload};
pub use overhead::{KernelProgramRuns, MeasurementOverhead};
pub use packet_drops::{DropCause, PacketDrops};
pub use plan::{
    BlockPolicy, CorrectionFamily, NetworkEntry, Plan, PlanSection, Sizing, WarmUpPolicy,
    WorkloadPlan,
};
pub use publication::{
    AveragingUnit, CellPattern, CellRelation, Conclusion, ConclusionResult, ConclusionTest,
    FigurePair, MeasuredFigure, ProtocolBasis, ProtocolField, ProtocolScale, Publication,
    PublishedFigure, RankAgreement, Replication, ShapePattern, TestedConclusion,
};
pub use rate_search::{GoalResult, RateSearch, SearchTrial};
pub use shape::{Family, MtuSource, Placement, PlacementError, Shape};
pub use skipped_network::SkippedNetwork;
pub use stopped_by::StoppedBy;
pub use trial::{EndCounts, Parameters, Phase, Trial, unquoted_value};
pub use units::Nanos;
