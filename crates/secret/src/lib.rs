//! Secrets: random bytes from the kernel, and proofs that two processes know one secret.
#![forbid(unsafe_code)]

mod random;
mod shared_secret;

pub use random::{random_bytes, to_hex};
pub use shared_secret::{PROOF_SIZE, SharedSecret};
