//! Tests of all reports, on made-up documents with exact figures.

#![allow(clippy::expect_used, reason = "whatever fails here fails the test")]

mod answer;
mod answer_properties;
mod findings;
mod fixture;
mod formats;
mod markup;
mod node_pairs;
mod notes;
mod page;
mod pairs;
mod tables;
