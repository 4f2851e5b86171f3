//! Heat maps of pairs of a cluster's nodes: for each network, the client's node by the server's.

use super::data_table::{DataTable, TableValue};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::heat_map::{FieldLayout, ROW, draw_field, field_datum};
use super::networks::PageNetworks;
use super::plot::{text, tooltip, truncate};
use crate::node_matrix::{NodeMatrices, NodeMatrix, node_matrices};
use tare_record::Document;

/// Height of the headings above a panel, px.
const HEAD: f64 = 36.0;
/// Space between panels, px.
const GAP: f64 = 16.0;

/// Columns of one panel: a network, and as many servers' nodes as fit.
struct Panel<'a> {
    network: &'a NodeMatrix<'a>,
    servers: &'a [&'a str],
}

/// Draws a figure for each workload. None unless the run has several pairs of nodes.
pub(crate) fn node_heat_maps(document: &Document, networks: &PageNetworks<'_>) -> Vec<Figure> {
    let all = node_matrices(document);
    all.iter().enumerate().map(|(at, matrices)| figure(at, matrices, networks)).collect()
}

fn figure(at: usize, matrices: &NodeMatrices<'_>, networks: &PageNetworks<'_>) -> Figure {
    let baseline = networks.baseline().unwrap_or("the baseline");
    let caption = format!(
        "A row for each client’s node, a column for each server’s. {baseline} has its figures, because pairs of nodes differ \
         by themselves; the other networks have their ratios to {baseline} on the same pair. Blue is better, red is worse, \
         pale is unclear."
    );
    let described = format!(
        "{} networks over pairs of {} clients’ and {} servers’ nodes. The table below the figure has every value.",
        matrices.networks.len(),
        matrices.clients.len(),
        matrices.servers.len()
    );
    Figure::new(format!("nodes-{}", at + 1), matrices.heading.clone(), table(matrices))
        .with_text(caption, described)
        .with_drawings(|width| draw(matrices, networks, width))
}

fn table(matrices: &NodeMatrices<'_>) -> DataTable {
    let heads = ["network", "from"].map(str::to_owned).into_iter();
    let mut table =
        DataTable::new(heads.chain(matrices.servers.iter().map(|node| format!("to {node}"))));
    for network in &matrices.networks {
        for client in &matrices.clients {
            let names: [TableValue; 2] = [network.label.into(), (*client).into()];
            let fields =
                matrices.servers.iter().map(|server| field_datum(network.cell(client, server)));
            table.add(names.into_iter().chain(fields).collect());
        }
    }
    table
}

/// Draws the panels one below the other.
fn draw(matrices: &NodeMatrices<'_>, networks: &PageNetworks<'_>, width: f64) -> Drawing {
    let FieldLayout { names, each, field } =
        FieldLayout::new(&matrices.clients, matrices.servers.len(), width);
    let tall = HEAD + ROW * matrices.clients.len() as f64 + GAP;
    let panels = matrices.networks.iter().flat_map(|network| {
        matrices.servers.chunks(each).map(move |servers| Panel { network, servers })
    });
    let mut content = Vec::new();
    let mut height = 0.0;
    for panel in panels {
        let mut group = networks.group(panel.network.label);
        for element in draw_panel(&panel, &matrices.clients, networks, [names, field, height]) {
            group.add(element);
        }
        content.push(group);
        height += tall;
    }
    Drawing { width, height: height - GAP, content }
}

/// Draws a panel whose names and fields have these widths, and whose upper edge is at the third number, px.
fn draw_panel(
    panel: &Panel<'_>,
    clients: &[&str],
    networks: &PageNetworks<'_>,
    [names, field, top]: [f64; 3],
) -> Vec<Element> {
    let x = |column: usize| names + field * column as f64;
    let room = field * panel.servers.len() as f64 - 6.0;
    // Bold text is wider than plain text.
    let title = truncate(panel.network.label, room * 0.86);
    let mut elements = vec![
        text(names + 2.0, top + 12.0, &title).class("strong").push(tooltip(panel.network.label)),
    ];
    for (column, server) in panel.servers.iter().enumerate() {
        let words = format!("to {server}");
        let head = text(x(column) + 2.0, top + 29.0, &truncate(&words, field - 6.0)).class("tick");
        elements.push(head.push(tooltip(words)));
    }
    for (row, client) in clients.iter().enumerate() {
        let y = top + HEAD + ROW * row as f64;
        let name = text(0.0, y + ROW / 2.0 + 4.0, &truncate(client, names - 4.0)).class("name");
        elements.push(name.push(tooltip(format!("from {client}"))));
        for (column, server) in panel.servers.iter().enumerate() {
            let cell = panel.network.cell(client, server);
            elements.push(draw_field(cell, networks, [x(column), y], field));
        }
    }
    elements
}
