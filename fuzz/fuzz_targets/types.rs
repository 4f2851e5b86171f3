//! The kernel's description of its types.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_lab::fuzzing::types(bytes));
