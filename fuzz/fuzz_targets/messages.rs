//! Messages of the control protocol of both sides, and a listener's check of their requests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_probe::fuzzing::messages(bytes));
