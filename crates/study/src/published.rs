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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BUILTIN, builtin};
    use std::ops::RangeInclusive;
    use tare_network::{FindError, Missing, Spelled};
    use tare_record::Plan;

    /// A build that has every network and every workload.
    struct Everything;

    impl Catalogue for Everything {
        fn networks(&self) -> Vec<String> {
            vec!["host".to_owned()]
        }

        fn lacks(&self, _: &Spelled) -> Result<Option<Missing>, FindError> {
            Ok(None)
        }

        fn nodes(&self, _: &Spelled) -> Result<RangeInclusive<u32>, FindError> {
            Ok(1..=2)
        }

        fn workloads(&self) -> Vec<String> {
            vec!["tcp-stream".to_owned()]
        }

        fn metrics(&self, _: &str) -> Option<Vec<Metric>> {
            Some(Metric::ALL.to_vec())
        }

        fn resolve(&self, _: &str, asked: &Parameters) -> Result<Parameters, String> {
            Ok(asked.clone())
        }
    }

    /// How many combinations of a plan a cell describes.
    fn measured(plan: &Plan, cell: &CellPart) -> usize {
        let label = |network: &usize| plan.networks[*network].label == cell.network;
        let is = |network: usize, workload: usize, shape: usize| {
            let one = &plan.workloads[workload];
            let asked =
                cell.parameters.iter().all(|(name, value)| one.parameters.get(name) == Some(value));
            one.name == cell.workload
                && asked
                && one.metrics.contains(&cell.metric)
                && cell.shape.is_of(&plan.shapes[shape])
                && plan.measures(network, workload, shape)
        };
        (0..plan.networks.len())
            .filter(label)
            .flat_map(|network| (0..plan.workloads.len()).map(move |workload| (network, workload)))
            .map(|(network, workload)| {
                (0..plan.shapes.len()).filter(|&shape| is(network, workload, shape)).count()
            })
            .sum()
    }

    #[test]
    fn every_published_figure_and_every_test_is_of_a_cell_that_its_study_measures() {
        for study in BUILTIN {
            let plan = builtin(study.name).unwrap().unwrap().plan(&Everything, 1).unwrap();
            let Some(publication) = &plan.publication else {
                assert_eq!(study.name, "tour");
                continue;
            };
            for figure in &publication.figures {
                let found = measured(&plan, &figure.cell);
                // A baseline that was measured once stands beside that of every family.
                let once = figure.cell.network == plan.baseline
                    && figure.cell.shape == ShapePart::default();
                assert!(found == 1 || once && found > 1, "{}: {found} of {figure:?}", study.name);
            }
            for test in publication.conclusions.iter().flat_map(|one| &one.tests) {
                for cell in [Some(&test.left), test.right.as_ref()].into_iter().flatten() {
                    let found = measured(&plan, cell);
                    assert!(found >= 1, "{}: nothing measures {cell:?}", study.name);
                }
            }
        }
    }
}
