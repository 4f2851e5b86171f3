//! Packets that carry frames between nodes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tare_lab::fuzzing::packet(bytes));
