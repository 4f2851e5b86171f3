//! Published studies with every network of the lab that they name, once on a kernel that supports all of them: function
//! only.
//!
//! `make test-system` runs these tests in the virtual machine. They are not part of `make test`, which skips networks
//! that a machine's kernel lacks; hundreds of trials on an emulated processor take long.

use serde_json::Value;
use support::ScratchDirectory;
use support::program::Tare;
use support::{list, text};

/// Runs a whole study, every trial once and short. Only networks that need an engine (`docker:…`) may be skipped.
fn whole(study: &str) -> Value {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root()).with_cache_of_its_own();
    let short = ["--blocks", "1", "--duration", "1s", "--interval", "100ms"];
    let asked = ["run", study, "--scaled", "--load-modules", "--json", "--out", "out"];
    let document = tare.run(&[&asked[..], &short].concat()).json();
    assert_eq!(document["environment"]["emulated"], true, "{}", document["environment"]["cpu"]);
    for skipped in list(&document, "skipped") {
        assert!(text(skipped, "network").contains(':'), "{skipped}");
    }
    // Emulation says nothing about speed, and figures with too few samples are withheld: only the existence of figures
    // is checked.
    for figure in list(&document["rerun"], "figures") {
        let cell = &figure["published"]["cell"];
        let broke = list(&document, "failed").iter().any(|one| one["network"] == cell["network"]);
        let always = ["throughput", "tps"].iter().any(|metric| cell["metric"] == *metric);
        assert!(broke || !always || !figure["measured"].is_null(), "{figure}");
    }
    document
}

/// Returns the labels of the measured networks.
fn labels(document: &Value) -> Vec<&str> {
    let mut labels: Vec<&str> =
        list(document, "cells").iter().map(|cell| text(cell, "label")).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

#[test]
#[ignore = "needs a kernel with all modules: make test-system"]
fn containers_of_one_machine_which_the_machine_cannot_carry() {
    let document = whole("icc-2014");
    assert_eq!(
        labels(&document),
        ["iptables", "link", "ovs", "ovs-userspace", "pipework", "published"]
    );
    // The server of iperf 2.1.8 does not always survive many clients, which may cost only a row.
    for failed in list(&document, "failed") {
        let is_its_own = text(failed, "reason").contains("iperf ended with signal");
        let shape = &failed["shape"];
        let is_the_largest = shape["clients"] == 16 && shape["processes"] == 16;
        assert!(is_its_own || is_the_largest, "{failed}");
    }
}

#[test]
#[ignore = "needs a kernel with all modules: make test-system"]
fn overlays_between_two_machines_which_the_machine_cannot_carry() {
    let document = whole("ec2-overlays-2015");
    // Fifty streams through a cipher may take too long on an emulated processor. No other failure is allowed.
    for failed in list(&document, "failed") {
        assert!(text(failed, "reason").contains("took longer than"), "{failed}");
    }
    assert_eq!(labels(&document), ["docker", "host", "rancher", "rancher-userspace", "swarm"]);
}

#[test]
#[ignore = "needs a kernel with all modules: make test-system"]
fn databases_over_every_network_which_the_machine_cannot_carry() {
    let document = whole("mysql-multihost-2016");
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    let labels = labels(&document);
    for network in ["weave", "ovs-vxlan", "overlay-encrypted", "flannel", "calico"] {
        assert!(labels.contains(&network), "{network} is not among {labels:?}");
    }
}
