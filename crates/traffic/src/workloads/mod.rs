//! Workloads of tare itself, one file or folder each.

mod idle;
mod rr;
mod tcp_crr;
mod tcp_rr;
mod tcp_stream;
mod udp_rate;
mod udp_rr;
mod udp_search;

pub(crate) use idle::Idle;
pub(crate) use tcp_crr::TcpCrr;
pub(crate) use tcp_rr::TcpRr;
pub(crate) use tcp_stream::TcpStream;
pub(crate) use udp_rate::UdpRate;
pub(crate) use udp_rr::UdpRr;
pub(crate) use udp_search::UdpSearch;
