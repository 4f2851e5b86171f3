//! Lookups of domain names, counted on the wire, by tare's own resolver and by an existing one.

use crate::common::filter::NftFilter;
use crate::common::peer::PeerProgram;
use crate::common::{NEVER, PORT, assert_sound, job, open_session, pair_topology, recorded_trial};
use crate::udp_round_trips::RoundTripCounts;
use serde_json::json;
use tare_dev::NamespacePair;
use tare_record::{EndCounts, Nanos};

/// Matches queries that desire recursion, which are those of a trial, and all others, by the flags of DNS.
const LOOKUP: &str = "udp dport 7001 @th,80,16 0x100";
const FIRST: &str = "udp dport 7001 @th,80,16 0x0";

#[test]
fn lookups_that_a_filter_drops_are_those_that_are_lost() {
    const FLOWS: u64 = 8;
    let pair = NamespacePair::new();
    let drop = format!("{LOOKUP} numgen random mod 100 < 3 counter drop");
    let rules = [format!("{FIRST} accept"), drop, format!("{LOOKUP} counter accept")];
    let queries = NftFilter::new(&pair.server, "inet", "input", &rules);
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    let mut job = job("dns-rr", &topology, &[]);
    job.shape.flows = FLOWS as u32;
    job.duration = Nanos(3_000_000_000);
    let outcome = session.run_trial(&job, NEVER).unwrap();
    assert_sound(&outcome);
    let counted = RoundTripCounts::from_outcome(&outcome);
    let [dropped, passed] = queries.packets().try_into().unwrap();
    let what = format!("{counted:?}, {dropped} dropped");
    counted.assert_agrees([0, 0], [dropped + passed, passed], &what);
    // What the machine answers too late at the end of a flow is given up, too.
    assert!(dropped > 0, "{what}");
    assert!((dropped..=dropped + FLOWS).contains(&counted.given_up()), "{what}");
}

#[test]
fn each_lookup_is_a_new_flow_for_connection_tracking() {
    let pair = NamespacePair::new();
    for (workload, lookup) in [("dns-rr", LOOKUP), ("udp-rr", "udp dport 7001 udp length 9")] {
        let rules = [format!("{lookup} ct state new counter"), format!("{lookup} counter")];
        let filter = NftFilter::new(&pair.server, "inet", "input", &rules);
        let topology = pair_topology(&pair);
        let mut session = open_session(&topology).unwrap();
        session.run_trial(&job(workload, &topology, &[]), NEVER).unwrap();
        let [new, all] = filter.packets().try_into().unwrap();
        pair.server.run("nft delete table inet at_input");
        assert!(all > 10, "{workload}: {all}");
        // A port may come twice among 28,000 while the kernel keeps its flow.
        let is_expected = if workload == "dns-rr" { new > all / 2 } else { new <= 1 };
        assert!(is_expected, "{workload}: {new} of {all}");
    }
}

#[test]
fn an_existing_resolver_is_asked_at_its_address_for_a_name_that_it_knows() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    let address = format!("{}:{}", topology.routes[0].listen.ip(), PORT + 1);
    let _resolver = PeerProgram::start(&pair.server, &["resolve", &address, "known"]);
    let asked = |name: &str| {
        let parameters = [("resolver", json!(address)), ("query_name", json!(name))];
        job("dns-rr", &topology, &parameters)
    };
    let mut session = open_session(&topology).unwrap();
    let outcome = recorded_trial(&mut session, &asked("known"));
    assert_sound(&outcome);
    assert_eq!(outcome.ends, EndCounts::default(), "nobody else has counted");
    assert_eq!(outcome.parameters["resolver_address"], json!(address));
    let mut session = open_session(&topology).unwrap();
    let error = session.run_trial(&asked("unknown"), NEVER).unwrap_err().to_string();
    let expected = format!("the resolver {address} answers NXDOMAIN: name one that it knows");
    assert!(error.contains(&expected), "{error}");
}
