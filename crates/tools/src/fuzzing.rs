//! Fuzz target of the parsers of tools' output.

use crate::adapters::{
    Fortio, Iperf, Iperf3, Mysql, Netperf, NetperfTest, Postgres, Qperf, Redis, Sockperf, Wrk,
};
use crate::child_process::ProgramOutput;
use crate::test_data::task_of;
use crate::tool::Tool;
use std::time::Duration;

/// Parses output with the parser of this tool. Every figure must be finite and not negative.
pub fn tool(name: &str, output: &str, errors: &str) {
    let said =
        ProgramOutput { output: output.to_owned(), errors: errors.to_owned(), cpu: Duration::ZERO };
    let words = said.error_summary();
    assert!(!words.contains('\n'), "the summary is one line: {words:?}");
    match name {
        "fortio" => read(&Fortio, &said),
        "iperf" => read(&Iperf, &said),
        "iperf3" => [false, true].into_iter().for_each(|udp| read(&Iperf3 { udp }, &said)),
        "netperf" => [NetperfTest::Stream, NetperfTest::Rr, NetperfTest::Crr]
            .into_iter()
            .for_each(|test| read(&Netperf(test), &said)),
        "pgbench" => read(&Postgres, &said),
        "qperf" => [false, true].into_iter().for_each(|latency| read(&Qperf { latency }, &said)),
        "redis" => read(&Redis, &said),
        "sockperf" => read(&Sockperf, &said),
        "sysbench" => read(&Mysql, &said),
        "wrk" => read(&Wrk, &said),
        _ => {}
    }
}

/// Parses output and asserts that every figure is finite and not negative.
fn read(tool: &impl Tool, said: &ProgramOutput) {
    let task = task_of(tool.description().info.name, vec![([127, 0, 0, 1], 7).into()]);
    let Ok(report) = tool.parse_output(&task, said) else { return };
    for (metric, figure) in report.stated {
        assert!(figure.is_finite() && figure >= 0.0, "{metric}: {figure}");
    }
}
