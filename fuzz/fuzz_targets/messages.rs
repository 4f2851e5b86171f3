//! Messages of the control protocol of both sides, and whether a listener would serve what they ask.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_traffic::fuzzing::messages(bytes));
