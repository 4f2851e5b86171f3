//! One run as input of a comparison: its cells by their planned parameters, and the facts that may differ from another
//! run.

use super::run_facts::{Facts, run_facts};
use super::{CompareOptions, NamedJournal};
use crate::explain::mixed_congestion::CONGESTION;
use crate::select::plan_lookup::find_workload_plan;
use crate::{Error, document};
use tare_record::{
    Better, Cell, CellKey, ComparedBy, ComparedRun, ComparisonBasis, Document, Metric, Parameters,
    Plan,
};

/// Run as input of a comparison.
pub(super) struct ComparisonInput {
    pub(super) session: ComparedRun,
    pub(super) facts: Facts,
    pub(super) cells: Vec<CellFigures>,
}

/// Figures of a cell in one run.
pub(super) struct CellFigures {
    pub(super) key: CellKey,
    pub(super) unit: String,
    pub(super) better: Better,
    pub(super) margin: f64,
    /// One figure for each block, in order.
    pub(super) samples: Vec<f64>,
}

impl ComparisonInput {
    /// Reads one run.
    pub(super) fn from_journal(
        named: &NamedJournal<'_>,
        asked: &CompareOptions,
    ) -> Result<Self, Error> {
        let run = &named.journal.run;
        if run.environment.emulated {
            return Err(Error::Emulated { directory: named.directory.to_owned() });
        }
        let document = document(named.journal, None)?;
        let wanted =
            |cell: &&Cell| asked.metrics.is_empty() || asked.metrics.contains(&cell.metric);
        Ok(Self {
            session: ComparedRun {
                directory: named.directory.to_owned(),
                tare: run.environment.tare.clone(),
                study: run.plan.study.clone(),
                kernel: run.environment.kernel.clone(),
                time: run.environment.time.clone(),
                blocks: document.blocks,
                stopped_by: document.stopped_by,
            },
            facts: run_facts(&run.plan, &document),
            cells: document
                .cells
                .iter()
                .filter(wanted)
                .filter_map(|cell| cell_figures(cell, &document, &run.plan, asked.compared))
                .collect(),
        })
    }
}

/// Returns a cell's figures. Returns `None` for a baseline's ratio to itself.
fn cell_figures(
    cell: &Cell,
    document: &Document,
    plan: &Plan,
    of: ComparisonBasis,
) -> Option<CellFigures> {
    let (unit, samples) = match of {
        ComparisonBasis::Figures => (cell.unit.clone(), cell.samples.clone()),
        ComparisonBasis::Ratios if cell.label == plan.baseline => return None,
        ComparisonBasis::Ratios => figures_beside_baseline(cell, document, &plan.baseline),
    };
    Some(CellFigures {
        key: cell_key(cell, plan),
        unit,
        better: cell.better,
        margin: margin(plan, cell.metric),
        samples,
    })
}

/// Returns the figures divided by the baseline's of the same blocks, or the differences if a ratio has no meaning.
fn figures_beside_baseline(cell: &Cell, document: &Document, baseline: &str) -> (String, Vec<f64>) {
    let same = |other: &&Cell| {
        other.label == baseline
            && (&other.workload, &other.shape, other.metric, &other.scope)
                == (&cell.workload, &cell.shape, cell.metric, &cell.scope)
            && other.parameters == cell.parameters
    };
    let beside = document.cells.iter().find(same);
    let in_block = |block: &u32| {
        let beside = beside?;
        let at = beside.blocks.iter().position(|other| other == block)?;
        beside.samples.get(at).copied()
    };
    let pairs = cell.blocks.iter().zip(&cell.samples).filter_map(|(block, &figure)| {
        let beside = in_block(block)?;
        Some(match cell.metric.compared_by() {
            ComparedBy::Ratio => figure / beside,
            ComparedBy::Difference => figure - beside,
        })
    });
    let unit = match cell.metric.compared_by() {
        ComparedBy::Ratio => format!("× {baseline}"),
        ComparedBy::Difference => cell.unit.clone(),
    };
    (unit, pairs.collect())
}

fn margin(plan: &Plan, metric: Metric) -> f64 {
    plan.margins.get(&metric).copied().unwrap_or_else(|| metric.default_margin())
}

/// Returns the planned parameters of a cell's workload, without the congestion control if the run has one for all: the
/// default is a run's own, and a difference of it is listed.
fn compared_parameters(cell: &Cell, plan: &Plan) -> Parameters {
    let of_name = || plan.workloads.iter().filter(|workload| workload.name == cell.workload);
    let planned = find_workload_plan(cell, plan).map(|plan| plan.parameters.clone());
    let mut parameters = planned.unwrap_or_default();
    let own = parameters.get(CONGESTION);
    if of_name().all(|workload| workload.parameters.get(CONGESTION) == own) {
        parameters.remove(CONGESTION);
    }
    parameters
}

fn cell_key(cell: &Cell, plan: &Plan) -> CellKey {
    CellKey {
        label: cell.label.clone(),
        workload: cell.workload.clone(),
        shape: cell.shape.clone(),
        parameters: compared_parameters(cell, plan),
        metric: cell.metric,
        scope: cell.scope.clone(),
    }
}
