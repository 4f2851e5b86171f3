//! Archives of runs, as others pack them: the reader of `tare show` and `tare report`. The bytes are those within gzip, whose checksum
//! would keep a fuzzer out.
#![no_main]

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory takes it");
    let packed = packed.finish().expect("memory takes it");
    let _ = tare_report::open_bundle(&*packed);
});
