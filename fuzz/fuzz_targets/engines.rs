//! What engines, containers and Docker's client say.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    tare_docker::fuzzing::context(text);
    tare_docker::fuzzing::snapshot(text);
});
