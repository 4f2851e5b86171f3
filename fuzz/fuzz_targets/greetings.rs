//! What opens a connection of a trial, and datagrams.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_traffic::fuzzing::greetings(bytes));
