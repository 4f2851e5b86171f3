//! System calls that need `unsafe`, one topic a file.
//!
//! All `unsafe` code of this crate is here, each block with the reason why it is sound.
#![allow(unsafe_code)]

mod busy_poll;
mod mmsg;
mod pacing;
mod pinned_buffer;
mod splice;
mod tcp_info;
mod udp_options;
mod usage;

pub(crate) use busy_poll::{enable_busy_poll, enable_epoll_busy_poll, incoming_napi_id};
pub(crate) use mmsg::{Ancillary, BatchWait, ReceiveBatch, ReceivedDatagram, SendBatch};
pub(crate) use pacing::set_pacing_rate;
pub(crate) use splice::PagePipe;
pub(crate) use tcp_info::{TcpInfo, read_tcp_info};
pub(crate) use udp_options::{enable_arrival_timestamps, enable_gro, set_gso_size, socket_drops};
pub use usage::thread_cpu_usage;
