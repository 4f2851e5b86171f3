//! Adapters of the tools, one file each, and what several of them share: figures in text, progress lines, an HTTP server.

mod fortio;
mod http;
mod iperf;
mod iperf3;
mod mysql;
mod netperf;
mod parse;
mod postgres;
mod progress;
mod qperf;
mod redis;
mod sockperf;
mod sysbench;
mod wrk;

pub(crate) use fortio::Fortio;
pub(crate) use iperf::Iperf;
pub(crate) use iperf3::Iperf3;
pub(crate) use mysql::Mysql;
pub(crate) use netperf::{Netperf, NetperfTest};
pub(crate) use postgres::Postgres;
pub(crate) use qperf::Qperf;
pub(crate) use redis::Redis;
pub(crate) use sockperf::Sockperf;
pub(crate) use wrk::Wrk;
