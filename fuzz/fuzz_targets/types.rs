//! Kernel type information (BTF).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_lab::fuzzing::types(bytes));
