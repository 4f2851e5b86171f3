//! Test on a kernel with modules that are not loaded: tare loads none, unless the user allows it.
//!
//! Only such a kernel can show this: `make test-system` boots Debian's in a virtual machine and runs the test there.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use support::ScratchDirectory;
use support::program::{Tare, User};
use support::{list, text};

/// Modules that networks need, and that a newly booted kernel has not loaded.
const NEEDED: [&str; 4] = ["veth", "bridge", "br_netfilter", "nf_tables"];

/// Returns the loaded modules.
fn loaded() -> BTreeSet<String> {
    let modules = fs::read_to_string("/proc/modules").expect("a kernel that can load modules");
    modules.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn network<'a>(document: &'a Value, name: &str) -> &'a Value {
    list(document, "networks").iter().find(|one| one["name"] == name).expect("the network")
}

/// Tries all read-only commands and a run, as both kinds of user; then the effect of `--load-modules`. This is one test
/// because the order matters: a loaded module stays.
#[test]
#[ignore = "needs a kernel whose modules are not loaded: make test-system"]
fn no_module_is_loaded_unless_the_user_says_so() {
    let before = loaded();
    for module in NEEDED {
        assert!(!before.contains(module), "{module} is loaded already: this kernel shows nothing");
    }
    for &user in User::all() {
        nothing_is_loaded_by(user, &before);
    }
    loaded_when_allowed(&before);
}

fn nothing_is_loaded_by(user: User, before: &BTreeSet<String>) {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, user);
    let listed = tare.run(&["list", "networks", "--json"]).expect(0).json();
    let bridge = network(&listed, "bridge");
    assert_eq!(bridge["available"], false, "{bridge}");
    assert!(text(bridge, "remedy").contains("modprobe"), "{bridge}");
    assert_eq!(network(&listed, "loopback")["available"], true);
    let modules = tare.run(&["doctor", "--modules"]).expect(0).text();
    let named: BTreeSet<&str> = modules.lines().collect();
    assert!(NEEDED.iter().all(|module| named.contains(module)), "{modules}");
    tare.run(&["doctor", "--settings"]);
    tare.run(&["show", "bridge"]).expect(0);
    tare.run(&["up", "veth", "--", "true"]).assert_error(1, &["modprobe", "veth"]);
    let short = ["--blocks", "1", "--duration", "200ms", "--interval", "10ms", "--json"];
    // A network named explicitly that cannot run: skipped with its reason, exit 1.
    let named = [
        &["run", "--network", "loopback,bridge", "--baseline", "loopback", "--out", "named"][..],
        &short,
    ]
    .concat();
    let document = tare.run(&named).expect(1).json();
    assert_eq!(text(&list(&document, "skipped")[0], "network"), "bridge");
    assert!(!list(&document, "cells").is_empty(), "what can run did");
    // All networks available here are those that need no module.
    let all = [&["run", "--network", "all", "--out", "all"][..], &short].concat();
    let document = tare.run(&all).expect(0).json();
    let skipped: BTreeSet<&str> =
        list(&document, "skipped").iter().map(|one| text(one, "network")).collect();
    assert!(
        ["bridge", "published", "veth"].iter().all(|name| skipped.contains(name)),
        "{skipped:?}"
    );
    assert_eq!(loaded(), *before, "as {user:?}");
}

fn loaded_when_allowed(before: &BTreeSet<String>) {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    tare.run(&["up", "bridge", "--load-modules", "--", "true"]).expect(0);
    let after = loaded();
    for module in NEEDED {
        assert!(after.contains(module), "{module} was not loaded: {after:?}");
    }
    assert!(after.is_superset(before));
    // An ordinary user may use the modules that are now loaded.
    let scratch = ScratchDirectory::new();
    let ordinary = Tare::copied(&scratch, User::Ordinary);
    let listed = ordinary.run(&["list", "networks", "--json"]).expect(0).json();
    assert_eq!(network(&listed, "bridge")["available"], true);
    ordinary.run(&["up", "bridge", "--", "true"]).expect(0);
}
