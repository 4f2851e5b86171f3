//! Output of foreign tools. The first line names the tool; a line with a form feed separates output and errors.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Some((name, said)) = text.split_once('\n') else { return };
    let (output, errors) = said.split_once("\x0c\n").unwrap_or((said, ""));
    tare_tools::fuzzing::tool(name, output, errors);
});
