//! From a [`Document`](tare_record::Document) to what a person or a program reads.
//!
//! Everything here is derived from the document alone: nothing measures, nothing calculates beyond rounding, and the
//! same document gives the same bytes. [`table()`] is for the terminal, [`markdown()`] for an issue or a README,
//! [`csv()`] for a spreadsheet, [`samples()`] and [`density()`] for statistics programs, [`json()`] and
//! [`openmetrics()`] for programs, [`html()`] for everybody; [`plot()`] draws in the terminal, [`pairs()`] sets every network beside every other.
//! [`comparison_table()`], [`comparison_markdown()`] and [`junit()`] do the same for two sides of runs.
#![forbid(unsafe_code)]

mod bundle;
mod clients;
mod columns;
mod comparison;
mod csv;
mod curves;
mod density;
mod failures;
mod findings;
mod grid;
mod headline;
mod html;
mod json;
mod layout;
mod markdown;
mod notes;
mod number;
mod openmetrics;
mod pairs;
mod plot;
mod rerun;
mod ridges;
mod samples;
mod scale;
mod sections;
mod style;
mod table;
mod text;

pub use bundle::{bundle, redact};
pub use comparison::{comparison_markdown, comparison_table, junit};
pub use csv::csv;
pub use density::density;
pub use html::{Page, html};
pub use json::json;
pub use markdown::markdown;
pub use openmetrics::openmetrics;
pub use pairs::pairs;
pub use plot::plot;
pub use samples::samples;
pub use style::Style;
pub use table::table;

/// A document that cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not as JSON.
    #[error("the document cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Not as CSV.
    #[error("the document cannot be written as CSV: {0}")]
    Csv(#[from] ::csv::Error),
    /// Not as an archive.
    #[error("the run cannot be packed: {0}")]
    Pack(#[from] std::io::Error),
}
