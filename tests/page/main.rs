//! Tests of the HTML page in Chromium.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod page;
