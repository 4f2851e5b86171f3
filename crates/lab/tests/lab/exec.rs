//! Tests of `exec:PATH`, a network that a program of the user sets up: the example in examples/, and programs that
//! fail.

use crate::cases::{enter, path, site};
use crate::daemons::{exchange, program_output};
use crate::harness::Case;
use crate::leftovers::{is_running, process_tree};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tare_dev::{ScratchDirectory, eventually};
use tare_lab::networks;
use tare_network::{Error, Family, NetworkRegistry, NetworkSpec, Shape, Topology};
use tare_sandbox::Sandbox;

fn try_raise(sandbox: &Arc<Sandbox>, program: &Path, shape: &Shape) -> Result<Topology, Error> {
    let spelled: NetworkSpec = format!("exec:{}", program.display()).parse().expect("a good name");
    let registry = NetworkRegistry::new(networks(Some(Arc::clone(sandbox))));
    registry.find(&spelled).expect("a known network").set_up(shape, &site(&spelled))
}

pub(crate) fn all() -> Vec<Case> {
    vec![
        Case::new("exec_example_raises_a_network", the_example_raises_a_network),
        Case::new("exec_program_that_fails_is_quoted", a_program_that_fails_is_quoted),
        Case::new("exec_program_is_asked_to_go", a_program_is_asked_to_take_its_network_down),
    ]
}

fn the_example_raises_a_network() {
    let sandbox = enter();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/exec/bridge.py");
    for family in [Family::Ipv4, Family::Ipv6] {
        let shape = Shape { servers: 2, clients: 3, family, mtu: 9000, ..Shape::default() };
        let topology =
            try_raise(&sandbox, &example, &shape).unwrap_or_else(|error| panic!("{error}"));
        let expected = [
            "client-0:eth0 Veth",
            "node-0:port3 Veth",
            "node-0:example0 Bridge",
            "node-0:port1 Veth",
            "server-0:eth0 Veth",
        ];
        assert_eq!(path(&topology), expected);
        assert_eq!(topology.hops[2].mtu, Some(9000), "as the kernel has it");
        let counter = "/sys/class/net/port3/statistics/rx_bytes";
        let received = || -> u64 {
            program_output(topology.nodes[0].as_ref(), &["cat", counter])
                .trim()
                .parse()
                .expect("a number")
        };
        let before = received();
        exchange(&topology);
        assert!(received() >= before + 100_000, "all bytes have passed the port");
    }
}

fn a_program_that_fails_is_quoted() {
    let sandbox = enter();
    let scratch = ScratchDirectory::new();
    for (name, text, why) in [
        ("fails", "echo it is cold >&2; exit 4", "the program ended with exit code 4: it is cold"),
        ("mute", "true", "EOF while parsing"),
        ("few", r#"echo '{"servers": [], "clients": []}'"#, "addresses of 0 servers and 0 clients"),
        ("unknown", r#"echo '{"servers": [], "clients": [], "hop": []}'"#, "unknown field `hop`"),
        (
            "dead",
            r#"echo '{"servers": [{"address": "10.9.9.9"}], "clients": [{"address": "10.9.9.8"}]}'"#,
            "",
        ),
    ] {
        let script = scratch.write_program(name, &format!("#!/bin/sh\n{text}\n"));
        let error = try_raise(&sandbox, &script, &Shape::default()).unwrap_err();
        assert!(error.why.contains(why), "{name}: {error}");
    }
}

fn a_program_is_asked_to_take_its_network_down() {
    let sandbox = enter();
    let scratch = ScratchDirectory::new();
    let heard = scratch.path("heard");
    let text = format!(
        "#!/bin/sh\ngrep -o '\"state\":.*' | sed \"s/^/$1 /\" >> {}\nsleep 1000 >/dev/null 2>&1 &\n\
         [ \"$1\" = up ] || exit 0\nip -n client-0 address add 10.9.0.1/24 dev lo\n\
         echo '{{\"servers\": [{{\"address\": \"127.0.0.1\"}}], \"clients\": [{{\"address\": \"10.9.0.1\"}}], \"state\": [7]}}'\n",
        heard.display()
    );
    let script = scratch.write_program("telling", &text);
    // Client and server are not connected: the network is removed again at once, with the processes that the program
    // left running.
    let error = try_raise(&sandbox, &script, &Shape::default()).unwrap_err();
    assert!(error.what.starts_with("reach "), "{error}");
    let lines = fs::read_to_string(&heard).expect("it was run");
    assert_eq!(lines, "up \"state\":null}\ndown \"state\":[7]}\n");
    let sleeps = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "sleep" && is_running(*pid)
    };
    eventually("nothing goes on in the background", || {
        !process_tree(std::process::id()).iter().any(sleeps)
    });
}
