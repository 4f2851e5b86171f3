//! Netfilter rules in the kernel's netlink format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_lab::fuzzing::rules(bytes));
