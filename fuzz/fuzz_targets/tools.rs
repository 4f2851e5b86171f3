//! What other people's tools say: the first line names the tool, a line of a form feed parts its output from its errors.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Some((name, said)) = text.split_once('\n') else { return };
    let (output, errors) = said.split_once("\x0c\n").unwrap_or((said, ""));
    tare_traffic::fuzzing::tool(name, output, errors);
});
