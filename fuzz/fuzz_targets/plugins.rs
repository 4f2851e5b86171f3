//! What CNI's configurations and plugins say, and programs that make networks.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    tare_lab::fuzzing::configuration(text);
    tare_lab::fuzzing::plugin_answer(text);
    tare_lab::fuzzing::exec_answer(text);
});
