//! What an agent is told on its standard input, and what it answers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_traffic::fuzzing::orders(bytes));
