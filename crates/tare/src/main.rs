//! tare
fn main() {}
