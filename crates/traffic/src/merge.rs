//! Merge of the reports of all agents into the outcome of one trial.

use crate::{SideReport, TrialOutcome, cpu};
use serde_json::Value;
use std::collections::BTreeMap;
use tare_record::finding::{ClientStall, OtherCongestionControl, PayloadMismatch};
use tare_record::{
    AgentsCpu, EndCounts, Finding, HistogramError, Interval, Metric, Nanos, Parameters, Series,
    ThreadCpu,
};

/// Adds the intervals of another thread or process, on the same grid. Intervals that only one of them has are not whole
/// and are dropped.
pub(crate) fn add_intervals(
    into: &mut Vec<Interval>,
    more: Vec<Interval>,
) -> Result<(), HistogramError> {
    if into.is_empty() {
        *into = more;
        return Ok(());
    }
    into.truncate(more.len());
    for (interval, other) in into.iter_mut().zip(more) {
        interval.merge(other)?;
    }
    Ok(())
}

/// Builds the outcome of a trial from the reports of both sides.
///
/// # Errors
/// Returns an error if the sides' latencies cannot be recorded in one histogram.
pub fn merge_reports(
    servers: Vec<SideReport>,
    clients: Vec<SideReport>,
) -> Result<TrialOutcome, HistogramError> {
    let mut ends = EndCounts::default();
    let mut series: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
    let stated = merge_stated(clients.iter().chain(&servers));
    let mut findings: Vec<Finding> = Vec::new();
    let mut agents_cpu = Nanos(0);
    let agents = AgentsCpu { clients: sum_cpu(&clients), servers: sum_cpu(&servers) };
    let offsets = client_offsets(&clients);
    let epoch = clients.iter().chain(&servers).filter_map(|report| report.epoch).min();
    let mut search = None;
    let [client_side, server_side] = [&clients, &servers]
        .map(|side| merge_side_parameters(side.iter().map(|report| &report.parameters)));
    for report in clients.into_iter().chain(servers) {
        ends = add_ends(ends, report.ends);
        agents_cpu = agents_cpu + report.cpu;
        search = search.or(report.search);
        report.findings.into_iter().for_each(|finding| add_finding(&mut findings, finding));
        for one in report.series {
            add_intervals(series.entry(one.client).or_default(), one.intervals)?;
        }
    }
    for (client, intervals) in &mut series {
        let offset = offsets.get(client).copied().unwrap_or_default();
        intervals.iter_mut().for_each(|interval| interval.start = interval.start + offset);
    }
    for finding in find_disagreements(ends)
        .into_iter()
        .chain(find_differing_congestion(&client_side, &server_side))
    {
        add_finding(&mut findings, finding);
    }
    Ok(TrialOutcome {
        series: series
            .into_iter()
            .map(|(client, intervals)| Series {
                client,
                intervals,
                stated: stated.get(&client).cloned().unwrap_or_default(),
            })
            .collect(),
        ends,
        parameters: join_side_parameters(client_side, server_side),
        findings,
        agents_cpu,
        agents,
        epoch,
        search,
    })
}

/// Returns the metrics that the tools of each client stated, with the statements of several processes combined.
fn merge_stated<'r>(
    reports: impl Iterator<Item = &'r SideReport>,
) -> BTreeMap<u32, BTreeMap<Metric, f64>> {
    let mut all: BTreeMap<u32, BTreeMap<Metric, Vec<f64>>> = BTreeMap::new();
    for one in reports.flat_map(|report| &report.series) {
        for (metric, figure) in &one.stated {
            all.entry(one.client).or_default().entry(*metric).or_default().push(*figure);
        }
    }
    let together =
        |(metric, figures): (Metric, Vec<f64>)| Some((metric, metric.combine_clients(&figures)?));
    all.into_iter()
        .map(|(client, stated)| (client, stated.into_iter().filter_map(together).collect()))
        .collect()
}

/// Returns each client's delay after the earliest client's beginning. Every client counts from its own first payload.
fn client_offsets(clients: &[SideReport]) -> BTreeMap<u32, Nanos> {
    let mut began: BTreeMap<u32, Nanos> = BTreeMap::new();
    for report in clients {
        if let (Some(series), Some(epoch)) = (report.series.first(), report.epoch) {
            let first = began.entry(series.client).or_insert(epoch);
            *first = (*first).min(epoch);
        }
    }
    let zero = began.values().min().copied().unwrap_or_default();
    began.into_iter().map(|(client, epoch)| (client, epoch - zero)).collect()
}

/// Adds up the CPU time of one side by interval.
fn sum_cpu(side: &[SideReport]) -> Vec<ThreadCpu> {
    let mut all = Vec::new();
    side.iter().for_each(|report| cpu::add_rows(&mut all, &report.cpu_by_interval));
    all
}

fn add_ends(one: EndCounts, two: EndCounts) -> EndCounts {
    EndCounts {
        sent: one.sent + two.sent,
        received: one.received + two.received,
        completed: one.completed + two.completed,
        answered: one.answered + two.answered,
        datagrams_sent: one.datagrams_sent + two.datagrams_sent,
        datagrams_received: one.datagrams_received + two.datagrams_received,
        connected: one.connected + two.connected,
        accepted: one.accepted + two.accepted,
    }
}

/// Returns a finding for each pair of counters of the two ends that differ.
fn find_disagreements(ends: EndCounts) -> Vec<Finding> {
    // Lost datagrams are no disagreement, but no transaction completes without an answer.
    let answered =
        if ends.datagrams_sent > 0 { ends.answered.min(ends.completed) } else { ends.answered };
    [(ends.sent, ends.received), (answered, ends.completed), (ends.connected, ends.accepted)]
        .into_iter()
        .filter(|(sent, received)| sent != received)
        .map(|(sent, received)| Finding::PayloadMismatch(PayloadMismatch { sent, received }))
        .collect()
}

/// Returns a finding if the two sides used different congestion controls, which happens if none was requested and their
/// defaults differ.
fn find_differing_congestion(client: &Parameters, server: &Parameters) -> Option<Finding> {
    let word =
        |side: &Parameters| side.get("congestion").and_then(Value::as_str).map(str::to_owned);
    let (asked, used) = (word(client)?, word(server)?);
    (asked != used)
        .then_some(Finding::OtherCongestionControl(OtherCongestionControl { asked, used }))
}

/// Adds a finding unless it is there already; of stalls only the longest is kept.
fn add_finding(findings: &mut Vec<Finding>, finding: Finding) {
    if let Finding::ClientStall(ClientStall { longest: new }) = finding {
        for known in findings.iter_mut() {
            if let Finding::ClientStall(ClientStall { longest }) = known {
                *longest = new.max(*longest);
                return;
            }
        }
    }
    if !findings.contains(&finding) {
        findings.push(finding);
    }
}

/// Merges the effective parameters of one side: lists (of cores) are united; of other values the first is kept.
fn merge_side_parameters<'r>(reports: impl Iterator<Item = &'r Parameters>) -> Parameters {
    let mut all = Parameters::new();
    for (name, value) in reports.flatten() {
        match (all.get_mut(name), value) {
            (Some(Value::Array(known)), Value::Array(more)) => {
                known.extend(
                    more.iter().filter(|one| !known.contains(one)).cloned().collect::<Vec<_>>(),
                );
                known.sort_by_key(Value::as_u64);
            }
            (Some(_), _) => {}
            (None, value) => drop(all.insert(name.clone(), value.clone())),
        }
    }
    all
}

/// Merges the effective parameters of both sides. A server's value that differs is named `server_NAME`.
fn join_side_parameters(mut client: Parameters, server: Parameters) -> Parameters {
    for (name, value) in server {
        match client.get(&name) {
            Some(known) if *known == value => {}
            Some(_) => drop(client.insert(format!("server_{name}"), value)),
            None => drop(client.insert(name, value)),
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tare_record::LatencyHistogram;

    fn parameters(pairs: &[(&str, Value)]) -> Parameters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn interval(bytes: u64, latency: u64) -> Interval {
        let latency = Some(LatencyHistogram::from_nanos([latency]).unwrap());
        Interval { bytes, operations: 1, latency, ..Interval::default() }
    }

    #[test]
    fn intervals_of_two_processes_add_up_as_far_as_both_go() {
        let mut all = Vec::new();
        add_intervals(&mut all, vec![interval(1, 10), interval(2, 20)]).unwrap();
        add_intervals(&mut all, vec![interval(4, 30)]).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].bytes, all[0].operations), (5, 2));
        assert_eq!(all[0].latency.as_ref().unwrap().count(), 2);
    }

    #[test]
    fn clients_that_begin_later_have_later_intervals() {
        let client = |client, epoch| SideReport {
            series: vec![Series::new(client, vec![interval(1, 10)])],
            epoch: Some(Nanos(epoch)),
            ..SideReport::default()
        };
        // Client 1 has two processes; the server does not know when its clients began.
        let clients = vec![client(0, 500), client(1, 730), client(1, 700)];
        let server = SideReport {
            series: vec![Series::new(1, vec![interval(8, 10)])],
            epoch: Some(Nanos(400)),
            ..SideReport::default()
        };
        let outcome = merge_reports(vec![server], clients).unwrap();
        let told = |at: usize| {
            (outcome.series[at].intervals[0].start, outcome.series[at].intervals[0].bytes)
        };
        assert_eq!((told(0), told(1)), ((Nanos(0), 1), (Nanos(200), 10)));
    }

    #[test]
    fn what_processes_of_a_client_state_is_one_statement() {
        let client = |client, tps, p95| SideReport {
            series: vec![Series {
                stated: [(Metric::Tps, tps), (Metric::LatencyP95, p95)].into(),
                ..Series::new(client, vec![interval(1, 10)])
            }],
            ..SideReport::default()
        };
        let clients = vec![client(0, 10.0, 3.0), client(0, 20.0, 2.0), client(1, 5.0, 9.0)];
        let outcome = merge_reports(Vec::new(), clients).unwrap();
        assert_eq!(
            outcome.series[0].stated,
            [(Metric::Tps, 30.0), (Metric::LatencyP95, 3.0)].into()
        );
        assert_eq!(outcome.series[1].stated[&Metric::Tps], 5.0);
    }

    #[test]
    fn sides_that_agree_leave_no_finding() {
        let side = |ends| SideReport { ends, ..SideReport::default() };
        let client = side(EndCounts { sent: 10, completed: 3, ..EndCounts::default() });
        let server = side(EndCounts { received: 10, answered: 3, ..EndCounts::default() });
        let agreed = merge_reports(vec![server], vec![client.clone()]).unwrap();
        assert!(agreed.findings.is_empty());
        let short = side(EndCounts { received: 9, answered: 4, ..EndCounts::default() });
        let differ = merge_reports(vec![short], vec![client]).unwrap();
        let expected = [
            Finding::PayloadMismatch(PayloadMismatch { sent: 10, received: 9 }),
            Finding::PayloadMismatch(PayloadMismatch { sent: 4, received: 3 }),
        ];
        assert_eq!(differ.findings, expected);
    }

    #[test]
    fn a_datagram_that_was_answered_in_vain_is_no_disagreement() {
        let ends = |answered| EndCounts {
            datagrams_sent: 9,
            completed: 3,
            answered,
            ..EndCounts::default()
        };
        assert_eq!(find_disagreements(ends(4)), []);
        let expected = Finding::PayloadMismatch(PayloadMismatch { sent: 2, received: 3 });
        assert_eq!(find_disagreements(ends(2)), [expected]);
    }

    #[test]
    fn cores_are_united_and_what_differs_is_named_apart() {
        let side = |pairs: &[(&str, Value)]| SideReport {
            parameters: parameters(pairs),
            ..SideReport::default()
        };
        let clients = vec![
            side(&[("congestion", json!("bbr")), ("client_cores", json!([2]))]),
            side(&[("congestion", json!("bbr")), ("client_cores", json!([0, 2]))]),
        ];
        let servers = vec![side(&[("congestion", json!("reno")), ("server_cores", json!([1]))])];
        let outcome = merge_reports(servers, clients).unwrap();
        let expected = parameters(&[
            ("congestion", json!("bbr")),
            ("server_congestion", json!("reno")),
            ("client_cores", json!([0, 2])),
            ("server_cores", json!([1])),
        ]);
        assert_eq!(outcome.parameters, expected);
        let differs = Finding::OtherCongestionControl(OtherCongestionControl {
            asked: "bbr".into(),
            used: "reno".into(),
        });
        assert_eq!(outcome.findings, [differs]);
    }

    #[test]
    fn of_several_stalls_the_longest_is_kept() {
        let mut findings = Vec::new();
        for longest in [5, 9, 7] {
            add_finding(
                &mut findings,
                Finding::ClientStall(ClientStall { longest: Nanos(longest) }),
            );
        }
        assert_eq!(findings, [Finding::ClientStall(ClientStall { longest: Nanos(9) })]);
    }
}
