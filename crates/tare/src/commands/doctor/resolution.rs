//! Resolution of the machine: how small a difference between two networks it tells apart in a minute, from a null
//! comparison of two networks that are alike.

use crate::catalogue::build_catalogue;
use crate::commands::measure;
use crate::congestion;
use crate::output;
use crate::signals::StopRequest;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::{Duration, Instant};
use tare_observe::doctor::HealthCheck;
use tare_observe::environment;
use tare_observe::headroom::LimitPolicy;
use tare_record::finding::{OtherWork, StolenTime};
use tare_record::journal::{FORMAT, Journal, Record, RunHeader};
use tare_record::{Document, Finding, Metric, Nanos, Plan, StoppedBy, Trial};
use tare_runner::network_environment::NetworkEnvironment;
use tare_runner::{SilentProgress, StartPoint, run_plan};
use tare_sandbox::ModuleLoading;
use tare_stats::sample_size::expected_half_width;
use tare_study::Study;

/// Study of two networks that are alike.
const STUDY: &str = include_str!("null.toml");

/// Time of the run whose precision is predicted.
const RUN: Duration = Duration::from_secs(60);

/// Largest chance by which a null comparison of a good machine looks like a difference, over all metrics together.
const FALSE_ALARM: f64 = 0.001;

/// Result of the null comparison.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct MachineResolution {
    /// Number of blocks of the comparison.
    blocks: u32,
    /// Time of the comparison, s.
    seconds: f64,
    /// Expected half width of the ratio's 95 % interval after a minute, by metric.
    metrics: Vec<MetricResolution>,
    /// Metrics whose resolution is unknown: fewer than two blocks, or a block without a figure.
    unknown: Vec<Metric>,
    /// Disturbances during the comparison: other work, steal.
    disturbances: Vec<String>,
}

/// Resolution in one metric.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct MetricResolution {
    /// Metric.
    metric: Metric,
    /// Expected half width of the ratio's 95 % interval after a minute, as a share of 1.
    half_width: f64,
    /// Ratio of the two networks that are alike.
    ratio: f64,
    /// Its 95 % interval.
    ci95: [f64; 2],
    /// Probability of such a ratio between networks that are alike, corrected over the metrics.
    p: f64,
}

/// Outcome of the null comparison.
pub(super) enum NullComparison {
    /// It was measured.
    Measured(MachineResolution),
    /// The user stopped it.
    Interrupted,
    /// It could not be measured.
    Failed {
        /// Reason, in one line.
        reason: String,
    },
    /// The machine is emulated: its figures show function, not speed.
    Emulated,
}

impl NullComparison {
    /// Compares two networks that are alike for ten seconds. Changes nothing outside the namespaces that it makes.
    pub(super) fn measure() -> Self {
        if environment::read().emulated {
            return Self::Emulated;
        }
        output::print_status("tare: two networks that are alike are compared for ten seconds");
        compare().unwrap_or_else(|error| Self::Failed { reason: format!("{error:#}") })
    }

    /// Returns the checks that it adds to those of the machine's settings.
    pub(super) fn checks(&self) -> Vec<HealthCheck> {
        match self {
            Self::Measured(resolution) => resolution.checks(),
            Self::Interrupted => Vec::new(),
            Self::Failed { reason } => vec![HealthCheck::warn(
                RESOLUTION,
                format!("cannot compare two networks that are alike: {reason}"),
                "see the checks above; `tare doctor --settings` leaves the comparison out",
            )],
            Self::Emulated => {
                vec![HealthCheck::ok(RESOLUTION, "not measured: this machine is emulated")]
            }
        }
    }
}

/// Name of the check.
const RESOLUTION: &str = "resolution";

fn compare() -> anyhow::Result<NullComparison> {
    let stop = StopRequest::new()?;
    let plan = plan()?;
    let (presence, _) = measure::check_host(&plan, LimitPolicy::Enforced)?;
    let (sandbox, _limits) = measure::enter_sandbox(ModuleLoading::Never)?;
    let run = RunHeader {
        format: FORMAT,
        plan: plan.clone(),
        environment: environment::read(),
        findings: Vec::new(),
    };
    let everything = build_catalogue(Some(sandbox), ModuleLoading::Never);
    let (networks, workloads) = (&everything.networks, &everything.workloads);
    let mut live = NetworkEnvironment::new(networks, workloads, stop.flag(), presence, Nanos(0))
        .with_congestion(plan.default_congestion.clone());
    let mut records: Vec<Record> = Vec::new();
    let began = Instant::now();
    let start = StartPoint::default();
    let stopped_by = run_plan(&plan, start, &mut live, &mut records, &mut SilentProgress)?;
    if stopped_by == StoppedBy::Interrupted {
        return Ok(NullComparison::Interrupted);
    }
    let journal = Journal { run, records };
    Ok(NullComparison::Measured(MachineResolution::from_journal(&journal, began.elapsed())?))
}

fn plan() -> anyhow::Result<Plan> {
    let everything = build_catalogue(None, ModuleLoading::Never);
    let study = Study::parse(STUDY, "null.toml")?;
    let mut plan = study.plan(&everything, tare_study::block_order::fresh_seed())?;
    congestion::complete_plan(&mut plan, &everything, &[])?;
    Ok(plan)
}

impl MachineResolution {
    /// Predicts the precision of a minute from a comparison that took this long.
    fn from_journal(journal: &Journal, took: Duration) -> anyhow::Result<Self> {
        let document = tare_analysis::document(journal, None)?;
        if let Some(failure) = document.failed.first() {
            anyhow::bail!("the null comparison failed: {}", failure.reason);
        }
        // The number of blocks is fixed: there is no pilot among them.
        let trials = journal.trials();
        let plan = &journal.run.plan;
        let blocks = document.cells.iter().map(|cell| cell.n).max().unwrap_or_default();
        let in_a_minute = f64::from(blocks) * RUN.as_secs_f64() / took.as_secs_f64().max(1e-3);
        let spreads = tare_analysis::estimate_spreads(plan, &trials)?;
        let metrics = spreads.values().filter_map(|spread| {
            let half_width = expected_half_width(spread.log_ratio, in_a_minute as u32)?;
            MetricResolution::new(&document, spread.metric, half_width, spreads.len())
        });
        let mut metrics: Vec<MetricResolution> = metrics.collect();
        metrics.sort_by_key(|one| one.metric);
        let is_unknown = |metric: &Metric| metrics.iter().all(|one| one.metric != *metric);
        let planned = plan.workloads.iter().flat_map(|workload| workload.metrics.iter().copied());
        Ok(Self {
            blocks,
            seconds: took.as_secs_f64(),
            unknown: planned.filter(is_unknown).collect(),
            metrics,
            disturbances: worst_disturbances(&trials).iter().map(Finding::to_string).collect(),
        })
    }

    fn checks(&self) -> Vec<HealthCheck> {
        let mut checks = Vec::new();
        let told: Vec<String> = self.metrics.iter().map(MetricResolution::to_words).collect();
        if !self.unknown.is_empty() {
            let unknown: Vec<&str> = self.unknown.iter().map(|&metric| words_for(metric)).collect();
            checks.push(HealthCheck::warn(
                RESOLUTION,
                format!(
                    "unknown for {}: a null comparison of {} blocks has too few figures",
                    unknown.join(", "),
                    self.blocks
                ),
                "run it again when the machine is less busy",
            ));
        }
        if !told.is_empty() {
            checks.push(HealthCheck::ok(
                RESOLUTION,
                format!(
                    "in a minute, this machine tells apart two networks that differ by {} (null comparison: {} blocks in {:.0} s)",
                    told.join(", "),
                    self.blocks,
                    self.seconds
                ),
            ));
        }
        checks.extend(self.disturbances.iter().map(|disturbance| {
            let remedy = "end other work, or accept that a run takes longer: its intervals say how exact it is";
            HealthCheck::warn("disturbance", format!("meanwhile, {disturbance}"), remedy)
        }));
        checks.extend(self.metrics.iter().filter(|one| one.p < FALSE_ALARM).map(|one| {
            let remedy = "run `tare doctor` again; if it stays so, do not trust comparisons on this machine, and report it";
            let [low, high] = one.ci95;
            let detail = format!(
                "two networks that are alike differ: {} is {:.3}×, 95 % interval {low:.3} to {high:.3}",
                one.metric, one.ratio
            );
            HealthCheck::warn("null comparison", detail, remedy)
        }));
        checks
    }
}

impl MetricResolution {
    /// Creates the resolution in one of so many metrics.
    fn new(document: &Document, metric: Metric, half_width: f64, metrics: usize) -> Option<Self> {
        let compared = document.cells.iter().filter(|cell| cell.metric == metric);
        let ratio = compared.filter_map(|cell| cell.ratio.as_ref()).next()?;
        // Bonferroni's correction: each metric is a family of its own in a document.
        let p = (ratio.p_adjusted * metrics as f64).min(1.0);
        Some(Self { metric, half_width, ratio: ratio.value, ci95: ratio.ci95, p })
    }

    fn to_words(&self) -> String {
        format!("{:.1} % of {}", self.half_width * 100.0, words_for(self.metric))
    }
}

/// Returns the words for one of the metrics of the null comparison.
fn words_for(metric: Metric) -> &'static str {
    match metric {
        Metric::Transactions => "round trips",
        Metric::LatencyP50 => "the median round trip",
        _ => "throughput",
    }
}

/// Returns the worst of each kind of disturbance.
fn worst_disturbances(trials: &[&Trial]) -> Vec<Finding> {
    let findings = || trials.iter().flat_map(|trial| &trial.findings);
    let worst = |share_of: fn(&Finding) -> Option<f64>| {
        findings().filter_map(share_of).max_by(f64::total_cmp)
    };
    let busy = worst(|finding| match finding {
        Finding::OtherWork(OtherWork { share }) => Some(*share),
        _ => None,
    });
    let stolen = worst(|finding| match finding {
        Finding::StolenTime(StolenTime { share }) => Some(*share),
        _ => None,
    });
    let busy = busy.map(|share| Finding::OtherWork(OtherWork { share }));
    busy.into_iter().chain(stolen.map(|share| Finding::StolenTime(StolenTime { share }))).collect()
}
