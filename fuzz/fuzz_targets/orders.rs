//! Messages to an agent on its standard input, and its answers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_agent::fuzzing::orders(bytes));
