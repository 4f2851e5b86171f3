//! What a reader sees of made-up documents with exact figures.

mod fixture;
mod formats;
mod pairs;
mod tables;
