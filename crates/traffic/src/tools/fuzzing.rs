//! Fuzz target of the parsers of tools' output.

use super::*;

/// Parses output with the parser of this tool. Every figure must be finite and not negative.
pub fn tool(name: &str, output: &str, errors: &str) {
    let said = Said { output: output.to_owned(), errors: errors.to_owned(), cpu: Duration::ZERO };
    let words = said.last_words();
    assert!(!words.contains('\n'), "last words are one line: {words:?}");
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

fn read(tool: &impl Tool, said: &Said) {
    let nowhere = vec![([127, 0, 0, 1], 7).into()];
    let Ok(reading) = tool.read(&Task::made_up(tool.about().name, nowhere), said) else { return };
    for (metric, figure) in reading.stated {
        assert!(figure.is_finite() && figure >= 0.0, "{metric}: {figure}");
    }
}
