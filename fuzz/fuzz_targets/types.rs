//! Kernel type information (BTF).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_sandbox::fuzzing::types(bytes));
