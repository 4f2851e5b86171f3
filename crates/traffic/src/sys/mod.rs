//! The system calls that the compiler cannot vouch for, one idea a file.
//!
//! Everything `unsafe` of this crate is here, each block with the reason why it is sound.
#![allow(unsafe_code)]

mod busy_poll;
mod datagram_options;
mod kept;
mod mmsg;
mod offspring;
mod pacing;
mod splice;
mod tcp_info;
mod usage;

pub(crate) use busy_poll::{busy_poll, busy_poll_many, incoming_queue};
pub(crate) use datagram_options::{
    gather_segments, lost_in_full_buffer, split_into_segments, stamp_arrivals,
};
pub(crate) use mmsg::{Ancillary, Inbox, Message, Outbox, Waiting};
pub(crate) use offspring::{As, before_exec, cpu_time, reap};
pub(crate) use pacing::pace;
pub(crate) use splice::PagePipe;
pub(crate) use tcp_info::{TcpInfo, tcp_info};
pub(crate) use usage::thread_usage;
