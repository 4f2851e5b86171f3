//! Record types of tare, and the journal that stores them.
//!
//! Everything that one crate passes to another about a measurement is a type of this crate: the request ([`Plan`],
//! [`Shape`]), the observations ([`Trial`], [`Interval`], [`Hop`], [`Finding`]) and the results ([`Cell`],
//! [`Document`]). The terms are those of the field: RFC 1242 and RFC 2544, netperf and iperf. Nothing here measures,
//! decides or prints.
#![forbid(unsafe_code)]

mod ablation;
mod directory;
mod failure;
pub mod finding;
mod histogram;
mod hop;
mod host;
mod interim_analysis;
mod interval;
pub mod journal;
mod metric;
mod mtu_fit;
mod network_pair;
mod network_turn;
mod offload;
mod packet_drops;
mod plan;
mod plan_limits;
mod publication;
mod rate_search;
mod results;
mod saturating_sum;
mod shape;
mod slices;
mod trial;
mod units;
mod visible_text;

pub use ablation::{
    Ablation, AblationEffect, AblationFactor, AblationVariant, UnaccountedGap, UnknownFactor,
};
pub use directory::{DirectoryError, make_own_directory, open_own_directory};
pub use failure::{NetworkFailure, RemainingPlan};
pub use finding::Finding;
pub use histogram::{HistogramError, LatencyHistogram};
pub use hop::{Hop, HopKind};
pub use host::cluster::{ClusterDescription, NodeFacts, PodLifetime};
pub use host::counters::{
    CoreCounts, CounterDeltas, CounterGroups, NamespaceCounts, TrialCounters,
};
pub use host::cpu::{AgentsCpu, CpuUse, HostActivity, HostMemory, MachineSample, ThreadCpu};
pub use host::engine::EngineDescription;
pub use host::environment::{Environment, Headroom, HostDevice};
pub use host::hardware::{CounterScope, HardwareCounters, HardwareEventCounts, HardwareSample};
pub use host::overhead::{KernelProgramRuns, MeasurementOverhead};
pub use interim_analysis::{DecidedNetwork, InterimAnalysis};
pub use interval::{DatagramCounts, Interval, Series, TcpInfoTotals};
pub use metric::{
    Better, ComparedBy, GIGABITS, HardwareEvent, LatencyKind, LatencyStatistic, Metric,
    MetricFormula, NetworkFigure, SearchGoal, SearchUnit, TrafficCount, UnknownMetric,
};
pub use mtu_fit::MtuFit;
pub use network_pair::NetworkPair;
pub use network_turn::{NETWORK_WORKLOAD, NetworkInspection, NetworkTurn};
pub use offload::{Offload, Offloads, UnknownOffload};
pub use packet_drops::{COPIES_CHAIN, DropCause, PacketDrops};
pub use plan::{
    BlockPolicy, CorrectionFamily, NetworkEntry, Plan, PlanSection, Sizing, WarmUpPolicy,
    WorkloadPlan,
};
pub use plan_limits::{
    InvalidPlan, LONGEST_TRIAL, MOST_BLOCKS, MOST_IN_SHAPE, check_label, check_study_name,
};
pub use publication::{
    AveragingUnit, CellPattern, CellRelation, Conclusion, ConclusionTest, ProtocolBasis,
    ProtocolField, ProtocolScale, Publication, PublishedFigure, ShapePattern, StudyQuestion,
};
pub use rate_search::{GoalResult, RateSearch, SearchTrial};
pub use results::cell::{Cell, Difference, Ratio, Verdict, WithheldReason};
pub use results::chart_data::{ChartData, CpuCost, TrialTimeline, WorkUnit};
pub use results::comparison::{
    CellChange, CellKey, ComparedCell, ComparedRun, ComparedSide, Comparison, ComparisonBasis,
    EnvironmentDifference, GateOutcome, RegressionEstimate, RegressionGate, SampleUnit,
    UnmatchedCell,
};
pub use results::distribution::LatencyDistribution;
pub use results::document::Document;
pub use results::replication::{
    ConclusionResult, FigurePair, FigureProvenance, MeasuredFigure, ProtocolEntry, RankAgreement,
    Replication, TestedConclusion,
};
pub use results::skipped_network::SkippedNetwork;
pub use results::stopped_by::StoppedBy;
pub use saturating_sum::SaturatingSum;
pub use shape::{Family, MtuSource, Placement, PlacementError, Shape};
pub use slices::{SliceKind, SlicePlan, TrialSlices};
pub use trial::{EndCounts, Parameters, Phase, Trial, unquoted_value};
pub use units::{Nanos, counted};
pub use visible_text::{is_terminal_control, visible_text};
