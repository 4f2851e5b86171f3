//! A client against whatever a listener says.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_traffic::fuzzing::answers(bytes));
