//! `tare ask many-services`: the lab's networks with up to 10,000 services, without a cluster.

use serde_json::Value;
use support::program::Tare;
use support::{ScratchDirectory, list, text};

#[test]
fn the_price_of_ten_thousand_services_has_its_answer() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    // The blocks that the study asks for at least are measured, whatever the budget.
    let run = ["ask", "many-services", "--budget", "2s", "--json", "--out", "many"];
    let document = tare.run(&run).expect(0).json();
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    assert_eq!(list(&document, "skipped"), [] as [Value; 0]);
    for conclusion in list(&document["rerun"], "conclusions") {
        assert!(text(conclusion, "reason").contains(" × that of "), "{conclusion}");
    }
    let detail = |network: &str, hop: &str| -> String {
        let cell = list(&document, "cells").iter().find(|cell| cell["network"] == network);
        let hops = list(cell.expect("it was measured"), "hops");
        let found = hops.iter().find(|one| one["name"] == hop).expect("the hop is on the path");
        text(found, "detail").to_owned()
    };
    for (network, hop) in [
        ("service-iptables+services=10000", "nat/KUBE-SERVICES"),
        ("service-nftables+services=10000", "kube-proxy/service-ips"),
    ] {
        assert!(detail(network, hop).ends_with("; services: 10000"), "{network}");
    }
}
