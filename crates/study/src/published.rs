//! Published results of a study's source, as a study file writes them: tables of figures with common properties.

use crate::published_table::PublishedTable;
use crate::{Catalogue, Study};
use tare_record::{
    CellPattern, Conclusion, ConclusionTest, Publication, PublishedFigure, ShapePattern,
};

/// Returns the publication of the study's source, with parameters spelled as in this build. Returns `None` if the study
/// has no protocol, no figures and no conclusions.
pub(crate) fn build_publication(study: &Study, catalogue: &dyn Catalogue) -> Option<Publication> {
    let nothing =
        study.protocol.is_empty() && study.published.is_empty() && study.conclusions.is_empty();
    let figures = study.published.iter().flat_map(expand_figures);
    (!nothing).then(|| Publication {
        question: study.question.clone(),
        scale: study.scale,
        protocol: study.protocol.clone(),
        figures: figures
            .map(|mut figure| {
                normalize_parameters(&mut figure.cell, catalogue);
                figure
            })
            .collect(),
        conclusions: study
            .conclusions
            .iter()
            .map(|one| normalize_conclusion(one, catalogue))
            .collect(),
    })
}

fn expand_figures(table: &PublishedTable) -> impl Iterator<Item = PublishedFigure> + '_ {
    table.figures.iter().map(|figure| {
        let mut parameters = table.parameters.clone();
        parameters.extend(figure.parameters.clone());
        PublishedFigure {
            table: table.table.clone(),
            cell: CellPattern {
                network: figure.network.clone(),
                workload: table.workload.clone(),
                metric: figure.metric.unwrap_or(table.metric),
                shape: overlay_shape(&table.shape, &figure.shape),
                parameters,
                per: table.per,
            },
            value: figure.value,
            row: figure.row.clone(),
            unit: figure.unit.clone().unwrap_or_else(|| table.unit.clone()),
            ratio: figure.ratio,
            text: figure.text.clone(),
            printed: figure.value.and_then(|value| printed_figure(&figure.text, value)),
            conflict: figure.conflict.clone(),
            ambiguous: figure.ambiguous.clone().or_else(|| table.ambiguous.clone()),
        }
    })
}

/// Finds a figure in the text that prints it, with the sign of an approximation: `~400` in `~400 Mb/s`. Returns `None`
/// if the text says the figure in words.
fn printed_figure(text: &str, value: f64) -> Option<String> {
    let is_part = |c: char| c.is_ascii_digit() || ".,~".contains(c);
    text.split(|c| !is_part(c))
        .map(|token| token.trim_end_matches(['.', ',']))
        .find(|token| token.replace(['~', ','], "").parse() == Ok(value))
        .map(str::to_owned)
}

fn overlay_shape(all: &ShapePattern, one: &ShapePattern) -> ShapePattern {
    ShapePattern {
        nodes: one.nodes.or(all.nodes),
        servers: one.servers.or(all.servers),
        clients: one.clients.or(all.clients),
        processes: one.processes.or(all.processes),
        flows: one.flows.or(all.flows),
        family: one.family.or(all.family),
        mtu: one.mtu.or(all.mtu),
        cpus: one.cpus.clone().or_else(|| all.cpus.clone()),
        background: one.background.clone().or_else(|| all.background.clone()),
        node_pair: one.node_pair.or(all.node_pair),
    }
}

fn normalize_conclusion(conclusion: &Conclusion, catalogue: &dyn Catalogue) -> Conclusion {
    let mut conclusion = conclusion.clone();
    for ConclusionTest { left, right, .. } in &mut conclusion.tests {
        normalize_parameters(left, catalogue);
        if let Some(right) = right {
            normalize_parameters(right, catalogue);
        }
    }
    conclusion
}

/// Converts a cell's parameters to the spelling of plans: `4mbit` may be another spelling of a plan's value.
fn normalize_parameters(cell: &mut CellPattern, catalogue: &dyn Catalogue) {
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
    use crate::test_data::TestCatalogue;
    use crate::{BUILTIN, builtin_study};
    use tare_record::{Metric, NETWORK_WORKLOAD, Plan};

    /// Build that has every network and every workload.
    const FULL_BUILD: TestCatalogue =
        TestCatalogue { networks: &["host"], workloads: &["tcp-stream"], metrics: &Metric::ALL };

    /// Returns the number of combinations of a plan that a cell describes.
    fn measured(plan: &Plan, cell: &CellPattern) -> usize {
        if cell.workload == NETWORK_WORKLOAD {
            return figures_of_network(plan, cell);
        }
        let label = |network: &usize| plan.networks[*network].label == cell.network;
        let is = |network: usize, workload: usize, shape: usize| {
            let one = &plan.workloads[workload];
            let asked =
                cell.parameters.iter().all(|(name, value)| one.parameters.get(name) == Some(value));
            (one.name == cell.workload || one.stands_for.as_ref() == Some(&cell.workload))
                && asked
                && one.metrics.contains(&cell.metric)
                && cell.shape.matches(&plan.shapes[shape])
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

    /// Returns the number of shapes in which a plan inspects the network that a cell describes.
    fn figures_of_network(plan: &Plan, cell: &CellPattern) -> usize {
        let Some(network) = plan.networks.iter().position(|one| one.label == cell.network) else {
            return 0;
        };
        let is_set_up = |shape: &usize| plan.workloads_of(network, *shape).next().is_some();
        let shapes = (0..plan.shapes.len()).filter(is_set_up);
        let described = shapes.filter(|&shape| cell.shape.matches(&plan.shapes[shape])).count();
        if plan.raising.contains(&cell.metric) { described } else { 0 }
    }

    #[test]
    fn figures_are_found_in_the_text_that_prints_them() {
        let printed = |text, value| printed_figure(text, value);
        assert_eq!(printed("~400 Mb/s", 400.0).as_deref(), Some("~400"));
        assert_eq!(printed("~20% at 896 Mb/s", 20.0).as_deref(), Some("~20"));
        assert_eq!(printed("10.0", 10.0).as_deref(), Some("10.0"));
        assert_eq!(printed("sustained 12Mb/s, or so.", 12.0).as_deref(), Some("12"));
        assert_eq!(printed("we had 1,024.", 1024.0).as_deref(), Some("1,024"));
        assert_eq!(printed("without any loss at 700 Mb/s", 0.0), None);
    }

    #[test]
    fn every_part_that_a_protocol_names_is_one_of_a_workload_of_its_study() {
        for study in BUILTIN {
            let plan = builtin_study(study.name).unwrap().unwrap().plan(&FULL_BUILD, 1).unwrap();
            for field in plan.publication.iter().flat_map(|one| &one.protocol) {
                let Some(run) = &field.run else { continue };
                let workload = run.split_once('.').unwrap().0;
                assert!(plan.workloads.iter().any(|one| one.name == workload), "{run}");
            }
        }
    }

    #[test]
    fn every_published_figure_and_every_test_is_of_a_cell_that_its_study_measures() {
        for study in BUILTIN {
            let plan = builtin_study(study.name).unwrap().unwrap().plan(&FULL_BUILD, 1).unwrap();
            let Some(publication) = &plan.publication else {
                assert_eq!(study.name, "tour");
                continue;
            };
            for figure in &publication.figures {
                let found = measured(&plan, &figure.cell);
                // A baseline that was measured once is compared with the networks of every family.
                let once = figure.cell.network == plan.baseline
                    && figure.cell.shape == ShapePattern::default();
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
