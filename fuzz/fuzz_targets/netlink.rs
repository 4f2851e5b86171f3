//! Devices and queues in the kernel's netlink format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_sandbox::fuzzing::answer(bytes));
