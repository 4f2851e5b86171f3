//! Common parts of the workloads over UDP: control connection, header, pacing and interval counters.

mod arrival_times;
mod control;
mod flow_end;
mod handshake;
pub(crate) mod header;
mod interval_counters;
mod moderation;
mod options;
mod receive;
mod schedule;
mod send;
mod sequence_tracker;
mod serve;
mod sleeping_sockets;
mod sockets;
mod transmit;

pub(crate) use control::{UdpControlLink, UdpControlMessage, unexpected_message};
pub(crate) use handshake::{EstablishedFlows, granted_to_flows};
pub(crate) use interval_counters::IntervalCounters;
pub(crate) use options::{BUFFER, GSO, Options, RECEIVE, SIZE, WAIT};
pub(crate) use receive::UdpReceiver;
pub(crate) use serve::{UdpReceiveResult, UdpServer, UdpServerContext, counts_by_client};
pub(crate) use sleeping_sockets::SleepingSockets;
pub(crate) use sockets::{bind_each, open_for_peer};
pub(crate) use transmit::{PreparedSenders, UdpSendResult, UdpTransmitter};
