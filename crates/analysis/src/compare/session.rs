//! One run as a comparison reads it: its cells by what was asked for, and all that may differ from another run.

use super::environment::{Facts, facts};
use super::{Asked, Named};
use crate::asked::asked;
use crate::{Error, document};
use tare_record::{Beside, Better, Cell, CellKey, Compared, Document, Metric, Plan, Session};

/// One run.
pub(super) struct Read {
    pub(super) session: Session,
    pub(super) facts: Facts,
    pub(super) cells: Vec<Figures>,
}

/// A cell's figures in one run.
pub(super) struct Figures {
    pub(super) key: CellKey,
    pub(super) unit: String,
    pub(super) better: Better,
    pub(super) margin: f64,
    /// One a block, in order.
    pub(super) samples: Vec<f64>,
}

impl Read {
    /// Reads one run.
    pub(super) fn of(named: &Named<'_>, asked: &Asked) -> Result<Self, Error> {
        let run = &named.journal.run;
        if run.environment.emulated {
            return Err(Error::Emulated { directory: named.directory.to_owned() });
        }
        let document = document(named.journal, None)?;
        let wanted =
            |cell: &&Cell| asked.metrics.is_empty() || asked.metrics.contains(&cell.metric);
        Ok(Self {
            session: Session {
                directory: named.directory.to_owned(),
                tare: run.environment.tare.clone(),
                study: run.plan.study.clone(),
                kernel: run.environment.kernel.clone(),
                time: run.environment.time.clone(),
                blocks: document.blocks,
                stopped_by: document.stopped_by,
            },
            facts: facts(&run.plan, &document),
            cells: document
                .cells
                .iter()
                .filter(wanted)
                .filter_map(|cell| figures(cell, &document, &run.plan, asked.of))
                .collect(),
        })
    }
}

/// A cell's figures; nothing for a baseline's ratio to itself.
fn figures(cell: &Cell, document: &Document, plan: &Plan, of: Compared) -> Option<Figures> {
    let (unit, samples) = match of {
        Compared::Figures => (cell.unit.clone(), cell.samples.clone()),
        Compared::Ratios if cell.label == plan.baseline => return None,
        Compared::Ratios => beside_baseline(cell, document, &plan.baseline),
    };
    Some(Figures {
        key: key(cell, plan),
        unit,
        better: cell.better,
        margin: margin(plan, cell.metric),
        samples,
    })
}

/// The figures over the baseline's of the same blocks, or less them where a ratio has no meaning.
fn beside_baseline(cell: &Cell, document: &Document, baseline: &str) -> (String, Vec<f64>) {
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
        Some(match cell.metric.beside() {
            Beside::Ratio => figure / beside,
            Beside::Difference => figure - beside,
        })
    });
    let unit = match cell.metric.beside() {
        Beside::Ratio => format!("× {baseline}"),
        Beside::Difference => cell.unit.clone(),
    };
    (unit, pairs.collect())
}

fn margin(plan: &Plan, metric: Metric) -> f64 {
    plan.margins.get(&metric).copied().unwrap_or_else(|| metric.default_margin())
}

fn key(cell: &Cell, plan: &Plan) -> CellKey {
    CellKey {
        label: cell.label.clone(),
        workload: cell.workload.clone(),
        shape: cell.shape.clone(),
        parameters: asked(cell, plan).map(|plan| plan.parameters.clone()).unwrap_or_default(),
        metric: cell.metric,
        scope: cell.scope.clone(),
    }
}
