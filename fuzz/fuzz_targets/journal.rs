//! Journal: a record is the same after writing and reading. What is made of a whole journal is read by `reports`.
#![no_main]

use tare_record::journal::Record;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|&byte| byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Record>(line) else { continue };
        let written = serde_json::to_vec(&record).expect("a record is JSON");
        let again: Record = serde_json::from_slice(&written).expect("a record");
        assert_eq!(again, record);
    }
});
