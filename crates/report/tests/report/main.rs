//! What a reader sees of made-up documents with exact figures.

mod fixture;
mod formats;
mod markup;
mod page;
mod pairs;
mod tables;
