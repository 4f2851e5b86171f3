//! Listener, with arbitrary bytes from a client.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_probe::fuzzing::conversation(bytes));
