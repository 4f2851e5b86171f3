//! Tests of `tare up`, a network to inspect, and of the wiring in `tare show` and in a run's document.

use serde_json::Value;
use support::ScratchDirectory;
use support::program::{ProgramOutcome, Tare, User};
use support::{list, machine, short_run, text};

/// Runs a test as each available kind of user, with a copy of the program that nothing else runs.
fn for_everybody(test: impl Fn(&Tare, &ScratchDirectory)) {
    for &user in User::all() {
        let scratch = ScratchDirectory::new();
        test(&Tare::copied(&scratch, user), &scratch);
    }
}

/// Runs a shell script in the first client of a network. Its first argument is the server's address.
fn in_client(tare: &Tare, up: &[&str], script: &str) -> ProgramOutcome {
    tare.run(&[&["up"], up, &["--", "/bin/sh", "-euc", script, "script", "{server}"]].concat())
}

#[test]
fn the_server_answers_by_its_address_and_by_its_name() {
    for_everybody(|tare, _| {
        for server in ["{server}", "server"] {
            let outcome =
                tare.run(&["up", "bridge", "--", "ping", "-c1", "-W240", server]).expect(0);
            assert!(outcome.text().contains("1 received"), "{}", outcome.text());
        }
    });
}

#[test]
fn the_server_answers_over_ipv6() {
    for_everybody(|tare, _| {
        let ping = "ping -6 -c1 -W240 server >&2; ping -6 -c1 -W240 \"$1\" >&2; echo \"$1\"";
        let outcome = in_client(tare, &["bridge", "--family", "ipv6"], ping).expect(0);
        let address: std::net::IpAddr = outcome.text().trim().parse().expect("an address");
        assert!(address.is_ipv6(), "{address}");
    });
}

#[test]
fn the_program_is_told_where_the_server_is() {
    for_everybody(|tare, _| {
        let same = "[ \"$TARE_SERVER\" = \"$1\" ]; getent ahosts server | grep -q \"^$1 \"; cat";
        in_client(tare, &["veth"], same).expect(0);
    });
}

#[test]
fn the_programs_end_is_its_own() {
    for_everybody(|tare, _| {
        in_client(tare, &["loopback"], "exit 7").expect(7);
        in_client(tare, &["loopback"], "kill -TERM $$").expect(143);
    });
}

/// Server that greets one client, written with programs that every Debian has.
const GREET: &str = "exec perl -MIO::Socket::INET -e '\
    $s = IO::Socket::INET->new(Listen => 5, LocalPort => 5201, ReuseAddr => 1) or die; \
    while ($c = $s->accept) { print $c \"greetings\\n\"; close $c }'";

/// Client that waits until the server is ready.
const BE_GREETED: &str = "exec perl -MIO::Socket::INET -e '\
    until ($c = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => 5201)) { } \
    print <$c>' \"$1\"";

#[test]
fn a_program_serves_in_the_server_as_long_as_the_client_runs() {
    for_everybody(|tare, scratch| {
        // Path of an unused file, which identifies the server.
        let mark = scratch.write_file("mark", "");
        for network in ["bridge", "published"] {
            let serve = format!("{GREET} {}", mark.display());
            let outcome = in_client(tare, &[network, "--serve", &serve], BE_GREETED).expect(0);
            assert_eq!(outcome.text(), "greetings\n", "{network}");
            assert_eq!(machine::processes_of(&mark), [], "the server of {network}");
        }
    });
}

#[test]
fn show_names_the_translation_of_a_published_port() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let shown = tare.run(&["show", "published", "--port", "8080"]).expect(0).text();
    let rule = shown.lines().find(|line| line.contains("dnat to"));
    assert!(rule.is_some_and(|rule| rule.contains("tcp dport 8080")), "{shown}");
    let plain = tare.run(&["show", "bridge-plain"]).expect(0).text();
    assert!(!plain.contains("nft"), "{plain}");
}

#[test]
fn the_hops_of_a_published_port_are_named_in_their_order() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let document = tare
        .run(&short_run(&[
            "--network",
            "host,published",
            "--workload",
            "tcp-stream",
            "--metric",
            "throughput",
            "--family",
            "ipv4,ipv6",
            "--blocks",
            "1",
            "--json",
        ]))
        .expect(0)
        .json();
    let cells: Vec<&Value> =
        list(&document, "cells").iter().filter(|cell| cell["network"] == "published").collect();
    assert_eq!(cells.len(), 2, "a cell for each family");
    for cell in cells {
        let hops: Vec<(&str, &str, &str)> = list(cell, "hops")
            .iter()
            .map(|hop| (text(hop, "kind"), text(hop, "place"), text(hop, "name")))
            .collect();
        let expected = [
            ("conntrack", "node-0", "nf_conntrack"),
            ("nat", "node-0", "nat/DOCKER"),
            ("bridge", "node-0", "docker0"),
            ("veth", "node-0", "veth-s0"),
            ("veth", "server-0", "eth0"),
        ];
        assert_eq!(hops, expected);
        let rule = text(&cell["hops"][1], "detail");
        assert!(rule.contains("dnat to"), "{rule}");
    }
}
