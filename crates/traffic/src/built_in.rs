//! The workloads of this build.

use crate::tools::{
    Fortio, Iperf, Iperf3, Mysql, Netperf, NetperfTest, Postgres, Qperf, Redis, Sockperf,
    ToolWorkload, Wrk,
};
use crate::workloads::{Idle, TcpCrr, TcpRr, TcpStream, UdpRate, UdpRr, UdpSearch};
use crate::{Workload, WorkloadRegistry};

/// Returns every workload of this build.
#[must_use]
pub fn built_in_workloads() -> WorkloadRegistry {
    let workloads: [Box<dyn Workload>; 21] = [
        Box::new(TcpStream),
        Box::new(UdpRate),
        Box::new(UdpSearch),
        Box::new(TcpRr),
        Box::new(UdpRr),
        Box::new(TcpCrr),
        Box::new(Idle),
        Box::new(ToolWorkload(Mysql)),
        Box::new(ToolWorkload(Postgres)),
        Box::new(ToolWorkload(Redis)),
        Box::new(ToolWorkload(Iperf)),
        Box::new(ToolWorkload(Iperf3 { udp: false })),
        Box::new(ToolWorkload(Iperf3 { udp: true })),
        Box::new(ToolWorkload(Netperf(NetperfTest::Stream))),
        Box::new(ToolWorkload(Netperf(NetperfTest::Rr))),
        Box::new(ToolWorkload(Netperf(NetperfTest::Crr))),
        Box::new(ToolWorkload(Qperf { latency: false })),
        Box::new(ToolWorkload(Qperf { latency: true })),
        Box::new(ToolWorkload(Sockperf)),
        Box::new(ToolWorkload(Wrk)),
        Box::new(ToolWorkload(Fortio)),
    ];
    workloads.into_iter().collect()
}

#[cfg(any(test, fuzzing))]
impl crate::TrialTask {
    /// Creates a task for tests: one flow, 50 ms, with the workload's default parameters.
    pub(crate) fn for_test(workload: &str, addresses: Vec<std::net::SocketAddr>) -> Self {
        let registry = built_in_workloads();
        let found = registry.find(workload);
        let parameters =
            found.and_then(|one| one.resolve(&tare_record::Parameters::new())).unwrap_or_default();
        let nanos = tare_record::Nanos;
        let alone = Self::single_flow(workload, parameters, nanos(50_000_000), nanos(10_000_000));
        Self { addresses, token: 1, one_clock: true, ..alone }
    }
}
