//! The kernel's tables of counters.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    tare_network::fuzzing::counters(text);
    tare_observe::fuzzing::tables(text);
});
