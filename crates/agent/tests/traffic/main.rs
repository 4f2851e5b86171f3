//! Generators and receivers on loopback and between namespaces: their reports agree with the kernel's counters.
#![allow(clippy::unwrap_used, reason = "a failure fails the test")]

mod common;
mod connections;
mod cuts;
mod faults;
mod lookups;
mod loopback;
mod measures;
mod round_trips;
mod slices;
mod stalls;
mod streams;
mod udp;
mod udp_losses;
mod udp_round_trips;
