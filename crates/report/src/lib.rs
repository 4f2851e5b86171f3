//! Reports of a [`Document`](tare_record::Document) for people and programs.
//!
//! Everything here is derived from the document alone: nothing is measured, nothing is computed beyond rounding, and
//! the same document gives the same bytes. Reports of a run begin with its answer in sentences. [`table()`] is for the terminal, [`markdown()`] for an issue or a README,
//! [`csv()`] for a spreadsheet, [`samples()`] and [`density()`] for statistics programs, [`json()`] and
//! [`openmetrics()`] for programs, [`html()`] for browsers. [`plot()`] draws latencies in the terminal, [`pairs()`]
//! compares every network with every other. [`comparison_table()`], [`comparison_markdown()`] and [`junit()`] report a
//! comparison of two sets of runs. [`study_page()`] is a study's page of the documentation, [`answer_page()`] that of a question, and [`terminal_picture()`] a picture of a run for it. [`bundle()`] packs a run for publication, after [`redact()`] if desired.
#![forbid(unsafe_code)]

mod answer;
mod answer_page;
mod bundle;
mod client_shares;
mod columns;
mod comparison;
mod csv_table;
mod curves;
mod density;
mod export;
mod grid;
mod headline;
mod html;
mod latency_bins;
mod layout;
mod markdown;
mod median;
mod node_matrix;
mod notes;
mod number;
mod pairs;
mod pipe_table;
mod plot;
mod replication;
mod scale;
mod sections;
mod shape_facts;
mod style;
mod table;
mod terminal_picture;
mod text;
mod variants;

pub use answer_page::{answer_figure, answer_page};
pub use bundle::{BundleError, bundle, open_bundle, redact};
pub use comparison::{comparison_markdown, comparison_table, junit};
pub use density::density;
pub use export::csv::csv;
pub use export::json::json;
pub use export::openmetrics::openmetrics;
pub use export::samples::samples;
pub use html::{Page, html};
pub use markdown::markdown;
pub use notes::NoteExtent;
pub use pairs::pairs;
pub use plot::plot;
pub use replication::study_page;
pub use style::Style;
pub use table::table;
pub use terminal_picture::terminal_picture;

/// Error of writing a document in a format.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// JSON cannot be written.
    #[error("cannot write the result as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// CSV cannot be written.
    #[error("cannot write the result as CSV: {0}")]
    Csv(#[from] ::csv::Error),
    /// The archive cannot be written.
    #[error("cannot pack the run into an archive: {0}")]
    Pack(#[from] std::io::Error),
}
