//! Table before layout: columns of cells, each made of pieces that can be placed side by side or stacked.

use crate::style::Tone;

/// Words of one tone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CellPiece {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl CellPiece {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone }
    }
}

/// Pieces of a cell, most important first. All cells of a column have the same kind of piece at the same index.
pub(crate) type GridCell = Vec<CellPiece>;

/// Index of a cell's bar among its pieces. It is drawn if there is room.
pub(crate) const BAR: usize = 3;

/// Column: its headings, and its cells from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GridColumn {
    /// Heading that several columns share, such as the workload.
    pub(crate) group: String,
    /// Name of the column, such as the metric.
    pub(crate) name: String,
    /// Unit of the figures; empty if they have none.
    pub(crate) unit: String,
    /// Cells, one for each row.
    pub(crate) cells: Vec<GridCell>,
}

impl GridColumn {
    /// Returns true if the column has text in this row.
    pub(crate) fn has_text(&self, row: usize) -> bool {
        self.cells
            .get(row)
            .is_some_and(|cell| cell.iter().any(|piece| !piece.text.trim().is_empty()))
    }
}

/// Table: the column that names the rows, and the columns of figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Names of the rows, repeated wherever the table is continued below.
    pub(crate) names: GridColumn,
    /// Columns of figures.
    pub(crate) columns: Vec<GridColumn>,
}
