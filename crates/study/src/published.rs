//! What a study's source published, as a study file writes it: tables, each with what its figures have in common.

use crate::{Catalogue, Study};
use schemars::JsonSchema;
use serde::Deserialize;
use tare_record::{
    CellPart, Conclusion, Metric, Parameters, Per, Publication, PublishedFigure, ShapePart, Test,
};

/// A published table, or whatever else figures stand in.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedTable {
    /// Its heading, or where its figures stand.
    pub table: String,
    /// The workload of its figures.
    pub workload: String,
    /// The metric of its figures.
    pub metric: Metric,
    /// Their unit, as printed.
    pub unit: String,
    /// Over what they were averaged.
    #[serde(default)]
    pub per: Per,
    /// What their shapes have in common.
    #[serde(default)]
    pub shape: ShapePart,
    /// What their workloads' parameters have in common.
    #[serde(default)]
    pub parameters: Parameters,
    /// Why the unit or the cells are in doubt, where all of them are.
    pub ambiguous: Option<String>,
    /// The figures.
    pub figures: Vec<FigureStudy>,
}

/// One published figure.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureStudy {
    /// The label of its network.
    pub network: String,
    /// The figure; nothing where only a ratio was published.
    pub value: Option<f64>,
    /// The ratio to its baseline, where one was printed.
    pub ratio: Option<f64>,
    /// The text, verbatim.
    pub text: String,
    /// Its unit, where it is not the table's.
    pub unit: Option<String>,
    /// Its metric, where it is not the table's.
    pub metric: Option<Metric>,
    /// What its shape has beside what all have.
    #[serde(default)]
    pub shape: ShapePart,
    /// What its parameters have beside what all have.
    #[serde(default)]
    pub parameters: Parameters,
    /// What else the source says of the same thing.
    pub conflict: Option<String>,
    /// Why its unit or its cell is in doubt.
    pub ambiguous: Option<String>,
}

/// What the study's source published, its parameters spelled as this build spells them; nothing where that is nothing.
pub(crate) fn publication(study: &Study, catalogue: &dyn Catalogue) -> Option<Publication> {
    let nothing =
        study.protocol.is_empty() && study.published.is_empty() && study.conclusions.is_empty();
    let figures = study.published.iter().flat_map(figures);
    (!nothing).then(|| Publication {
        scale: study.scale,
        protocol: study.protocol.clone(),
        figures: figures
            .map(|mut figure| {
                spell(&mut figure.cell, catalogue);
                figure
            })
            .collect(),
        conclusions: study.conclusions.iter().map(|one| spelled(one, catalogue)).collect(),
    })
}

fn figures(table: &PublishedTable) -> impl Iterator<Item = PublishedFigure> + '_ {
    table.figures.iter().map(|figure| {
        let mut parameters = table.parameters.clone();
        parameters.extend(figure.parameters.clone());
        PublishedFigure {
            table: table.table.clone(),
            cell: CellPart {
                network: figure.network.clone(),
                workload: table.workload.clone(),
                metric: figure.metric.unwrap_or(table.metric),
                shape: both(&table.shape, &figure.shape),
                parameters,
                per: table.per,
            },
            value: figure.value,
            unit: figure.unit.clone().unwrap_or_else(|| table.unit.clone()),
            ratio: figure.ratio,
            text: figure.text.clone(),
            conflict: figure.conflict.clone(),
            ambiguous: figure.ambiguous.clone().or_else(|| table.ambiguous.clone()),
        }
    })
}

fn both(all: &ShapePart, one: &ShapePart) -> ShapePart {
    ShapePart {
        nodes: one.nodes.or(all.nodes),
        servers: one.servers.or(all.servers),
        clients: one.clients.or(all.clients),
        processes: one.processes.or(all.processes),
        flows: one.flows.or(all.flows),
        family: one.family.or(all.family),
        mtu: one.mtu.or(all.mtu),
    }
}

fn spelled(conclusion: &Conclusion, catalogue: &dyn Catalogue) -> Conclusion {
    let mut conclusion = conclusion.clone();
    for Test { left, right, .. } in &mut conclusion.tests {
        spell(left, catalogue);
        if let Some(right) = right {
            spell(right, catalogue);
        }
    }
    conclusion
}

/// Writes a cell's parameters as plans do: `4mbit` may be another spelling of what a plan has.
fn spell(cell: &mut CellPart, catalogue: &dyn Catalogue) {
    let Ok(resolved) = catalogue.resolve(&cell.workload, &cell.parameters) else {
        return;
    };
    for (name, value) in &mut cell.parameters {
        if let Some(spelled) = resolved.get(name) {
            value.clone_from(spelled);
        }
    }
}
