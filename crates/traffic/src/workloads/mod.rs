//! The workloads, one file each.

mod tcp_rr;
mod tcp_stream;
mod udp_rate;

pub(crate) use tcp_rr::TcpRr;
pub(crate) use tcp_stream::TcpStream;
pub(crate) use udp_rate::UdpRate;
