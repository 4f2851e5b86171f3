//! What is spelled on a command line or in a study: networks, links, rates, loads, times.
#![no_main]

use tare_study::{Percent, SliceLength, TimeSpan, WarmUpSpan};
use tare_traffic::OfferedLoad;

libfuzzer_sys::fuzz_target!(|text: &str| {
    tare_network::fuzzing::spellings(text);
    let _ = (text.parse::<TimeSpan>(), text.parse::<Percent>(), text.parse::<WarmUpSpan>());
    let _ = (text.parse::<SliceLength>(), text.parse::<OfferedLoad>());
});
