//! Histograms of a journal.
#![no_main]

use tare_record::LatencyHistogram;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(histogram) = LatencyHistogram::decode(text) else { return };
    let again = histogram.encode().expect("what was read is written");
    assert_eq!(LatencyHistogram::decode(&again).ok(), Some(histogram));
});
