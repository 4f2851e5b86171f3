//! Packages of this version, installed in clean systems, used by an ordinary user, and removed. `cargo xtask test-system --only
//! packages` builds the packages and installs the systems first.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod clean_root;
mod crates;
mod emulated;
mod files;
mod image;
mod python;
mod systems;
