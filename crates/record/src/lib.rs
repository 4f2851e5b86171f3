//! The vocabulary of tare, and the journal that keeps it.
//!
//! Everything that one crate tells another about a measurement is a type of this crate: what was asked
//! ([`Plan`], [`Shape`]), what happened ([`Trial`], [`Interval`], [`Hop`], [`Finding`]) and what follows from it
//! ([`Cell`], [`Document`]). The words are those of the field: RFC 1242 and RFC 2544, netperf's and iperf's.
//! Nothing here measures, decides or prints.
#![forbid(unsafe_code)]

mod ablation;
mod cell;
mod comparison;
mod counted;
mod cpu;
mod distribution;
mod document;
mod dropped;
mod engine;
mod environment;
mod failure;
mod finding;
mod fit;
mod hardware;
mod histogram;
mod hop;
mod interval;
pub mod journal;
mod metric;
mod offload;
mod overhead;
mod pair;
mod picture;
mod plan;
mod publication;
mod search;
mod shape;
mod trial;
mod turn;
mod units;

pub use ablation::{Ablation, Effect, Factor, Unaccounted, UnknownFactor, Variant};
pub use cell::{Cell, Difference, Ratio, Verdict, Withheld};
pub use comparison::{
    CellKey, Change, Compared, ComparedCell, Comparison, Contrasted, Gate, Outcome, Regression,
    Session, Side, Unit, Unmatched,
};
pub use counted::{CoreCounts, Counted, Gains, PlaceCounts};
pub use cpu::{AgentsCpu, CpuUse, MachineSample, Meanwhile, Memory, ThreadCpu};
pub use distribution::Distribution;
pub use document::{Document, Skipped, StoppedBy};
pub use dropped::{Cause, Dropped};
pub use engine::Engine;
pub use environment::{Device, Environment, Headroom};
pub use failure::{Failure, Standing};
pub use finding::Finding;
pub use fit::Fit;
pub use hardware::{Counting, Executed, Hardware, HardwareSample};
pub use histogram::{HistogramError, LatencyHistogram};
pub use hop::{Hop, HopKind};
pub use interval::{Datagrams, Interval, Series, TcpState};
pub use metric::{Beside, Better, Latency, Metric, Point, UnknownMetric};
pub use offload::{Offload, Offloads, UnknownOffload};
pub use overhead::{Overhead, Ran};
pub use pair::Pair;
pub use picture::{Course, CpuCost, Picture, Work};
pub use plan::{Blocks, Entry, FamilyScope, Part, Plan, Sizing, WarmUp, WorkloadPlan};
pub use publication::{
    Basis, CellPart, Concluded, Conclusion, FigurePair, Holding, MeasuredFigure, Per,
    ProtocolField, Publication, PublishedFigure, RankAgreement, Relation, Rerun, Scale, ShapePart,
    Test,
};
pub use search::{Bounds, Probe, Search};
pub use shape::{Family, MtuBy, Placement, PlacementError, Shape};
pub use trial::{Ends, Parameters, Phase, Trial, bare};
pub use turn::Turn;
pub use units::Nanos;
