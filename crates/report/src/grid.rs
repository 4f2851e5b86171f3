//! A table before it is laid out: columns of cells, each cell made of pieces that may stand side by side or stacked.

use crate::style::Tone;

/// A few words of one tone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Piece {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone }
    }
}

/// The pieces of a cell, most important first. All cells of a column have the same kind of piece at the same place.
pub(crate) type Cell = Vec<Piece>;

/// The place of a cell's bar among its pieces: it is drawn where there is room for it.
pub(crate) const BAR: usize = 3;

/// A column: what it is of, and its cells from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Column {
    /// What several columns share, e.g. the workload.
    pub(crate) group: String,
    /// Its name.
    pub(crate) name: String,
    /// Its unit, or nothing.
    pub(crate) unit: String,
    /// One cell a row.
    pub(crate) cells: Vec<Cell>,
}

impl Column {
    /// Whether anything stands in this row.
    pub(crate) fn has(&self, row: usize) -> bool {
        self.cells
            .get(row)
            .is_some_and(|cell| cell.iter().any(|piece| !piece.text.trim().is_empty()))
    }
}

/// A table: the column that names the rows, and the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Names of the rows, repeated wherever the table is continued below.
    pub(crate) names: Column,
    /// All other columns.
    pub(crate) columns: Vec<Column>,
}
