//! Client of a listener, with arbitrary bytes as the listener's answers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_probe::fuzzing::answers(bytes));
