//! Netfilter's rules, as the kernel lists them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_lab::fuzzing::rules(bytes));
