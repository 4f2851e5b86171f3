//! rtnetlink (rtnetlink(7), RFC 3549), as much of it as the lab needs, synchronously and in batches.
//!
//! A [`Request`] is one message with what it is for in words; a [`Socket`] carries out many in one go and reports the
//! first that the kernel refused. Devices are created with the index that the caller chose, so that later requests
//! can name them without asking.

mod dump;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod link;
mod pair;
mod request;
mod route;
mod socket;
mod tunnel;

pub(crate) use dump::{Counted, Queue};
pub(crate) use link::NewLink;
pub(crate) use pair::{NewPair, PairEnd};
pub(crate) use request::{NewBridge, Request};
pub(crate) use socket::{Device, Socket};
