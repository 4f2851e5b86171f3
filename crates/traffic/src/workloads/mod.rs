//! Workloads of tare itself, one file or folder each.

mod answer_budget;
mod dns_rr;
mod idle;
mod rr;
mod serving_state;
mod tcp_crr;
mod tcp_rr;
mod tcp_stream;
mod udp_rate;
mod udp_rr;
mod udp_search;

use crate::Workload;
use dns_rr::DnsRr;
use idle::Idle;
use tcp_crr::TcpCrr;
use tcp_rr::TcpRr;
use tcp_stream::TcpStream;
use udp_rate::UdpRate;
use udp_rr::UdpRr;
use udp_search::UdpSearch;

/// Returns tare's own workloads.
#[must_use]
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(TcpStream),
        Box::new(UdpRate),
        Box::new(UdpSearch),
        Box::new(TcpRr),
        Box::new(UdpRr),
        Box::new(TcpCrr),
        Box::new(DnsRr),
        Box::new(Idle),
    ]
}
