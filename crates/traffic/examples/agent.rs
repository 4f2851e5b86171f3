//! The agent as a program of its own: what `tare agent` is, for this crate's tests.

fn main() -> Result<(), tare_traffic::Error> {
    tare_traffic::agent()
}
