//! Tests of what comes from others: clients of a listener, and files.

mod clients;
mod files;
mod programs;
