//! Number of blocks that a figure is made of.

use tare_record::finding::PooledBlocks;
use tare_record::{Cell, Finding};

/// Returns the number of blocks that a sample of a cell is made of.
pub(super) fn blocks_per_sample(cell: &Cell) -> u32 {
    let pooled = cell.findings.iter().find_map(|finding| match finding {
        Finding::PooledBlocks(PooledBlocks { blocks }) => Some(*blocks),
        _ => None,
    });
    pooled.unwrap_or(1)
}
