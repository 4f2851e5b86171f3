//! The workloads, one file each.

mod tcp_rr;
mod tcp_stream;

pub(crate) use tcp_rr::TcpRr;
pub(crate) use tcp_stream::TcpStream;
