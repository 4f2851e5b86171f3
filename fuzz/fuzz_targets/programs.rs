//! Files of programs (ELF).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_docker::fuzzing::program(bytes));
