//! Network of the example program whose packets pass a daemon, with a small socket buffer, and the kernel's own counters
//! of that socket.

use std::path::Path;
use tare_dev::ScratchDirectory;

/// Name of the daemon's process.
pub const RELAY: &str = "relay";

/// Receive buffer that the daemon asks for, bytes. The kernel doubles it.
pub const RELAY_BUFFER: u64 = 8192;

/// Directory of the counters, in the scratch directory.
const COUNTERS: &str = "relay-counters";

/// Program for the node: `up`, `down` and `commands` as the example's, and `relay`, which forwards the ports of the node's
/// address to the server in both directions, one thread for each connection and each client of UDP.
const PROGRAM: &str = r#"#!/usr/bin/env python3
import json, pathlib, shutil, socket, subprocess, sys, threading

OWN, SERVER = "10.77.0.100", "10.77.0.1"

def copy(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass

def serve_tcp(port):
    listener = socket.create_server((OWN, port))
    while True:
        client, _ = listener.accept()
        try:
            server = socket.create_connection((SERVER, port))
        except OSError:
            client.close()
            continue
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=copy, args=(one, other), daemon=True).start()

def answer(listener, server, client):
    while True:
        try:
            listener.sendto(server.recv(65536), client)
        except ConnectionRefusedError:
            pass

def serve_udp(port):
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    listener.bind((OWN, port))
    servers = {}
    while True:
        data, client = listener.recvfrom(65536)
        if client not in servers:
            servers[client] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            servers[client].connect((SERVER, port))
            threading.Thread(target=answer, args=(listener, servers[client], client), daemon=True).start()
        try:
            servers[client].send(data)
        except ConnectionRefusedError:
            pass

def relay(ports):
    pathlib.Path("/proc/self/comm").write_text("relay")
    for port in ports:
        for serve in (serve_tcp, serve_udp):
            threading.Thread(target=serve, args=(port,), daemon=True).start()
    threading.Event().wait()

def main():
    if sys.argv[1] == "relay":
        return relay([int(port) for port in sys.argv[2:]])
    order = sys.stdin.read()
    if sys.argv[1] == "down":
        shutil.copy("/proc/net/udp", TO)
        shutil.copy("/proc/net/snmp", TO)
    run = subprocess.run([EXAMPLE, sys.argv[1]], input=order, stdout=subprocess.PIPE, text=True, check=True)
    if sys.argv[1] != "up":
        return print(run.stdout)
    subprocess.run(["ip", "address", "add", OWN + "/24", "dev", "example0"], check=True)
    ports = [str(port) for port in json.loads(order)["ports"]]
    subprocess.Popen([sys.executable, __file__, "relay", *ports], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    reply = json.loads(run.stdout)
    reply["servers"][0]["dial"] = OWN
    reply["hops"].insert(3, {"kind": "forwarder", "name": "relay", "place": "node-0"})
    for port in ports:
        wait_for(int(port))
    print(json.dumps(reply))

def wait_for(port):
    while True:
        try:
            return socket.create_connection((OWN, port)).close()
        except ConnectionRefusedError:
            pass

main()
"#;

/// Returns the name of a network whose datagrams pass a daemon on the node. [`relay_drops`] reads the counters of its last
/// turn.
pub fn relayed_network(scratch: &ScratchDirectory) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/exec/bridge.py");
    let example = example.canonicalize().expect("the example is there");
    let to = scratch.path(COUNTERS);
    std::fs::create_dir(&to).expect("one such network in a scratch directory");
    let program = PROGRAM
        .replace("BUFFER)", &format!("{RELAY_BUFFER})"))
        .replace("EXAMPLE", &format!("{:?}", example.display().to_string()))
        .replace("TO)", &format!("{:?})", to.display().to_string()));
    format!("exec:{}", scratch.write_program("relay.py", &program).display())
}

/// Drops of the daemon's UDP sockets, and those of all UDP sockets of the node, as the kernel counted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayDrops {
    /// Drops of the sockets that listen on the node's address (`drops` of `/proc/net/udp`).
    pub of_sockets: u64,
    /// Datagrams for which a socket of the node had no room (`RcvbufErrors` of `/proc/net/snmp`).
    pub of_node: u64,
}

/// Reads the counters that [`relayed_network`] saved in this directory.
///
/// # Panics
///
/// Panics if no network of this directory was removed.
pub fn relay_drops(scratch: &ScratchDirectory) -> RelayDrops {
    let text = |name: &str| {
        let path = scratch.path(COUNTERS).join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
    };
    let udp = text("udp");
    // 10.77.0.100 in the kernel's notation, the bytes of the address in reverse.
    let own = udp.lines().filter(|line| line.contains(": 64004D0A:"));
    let drops = own.map(|line| line.split_whitespace().last().and_then(|last| last.parse().ok()));
    let of_sockets = drops.map(|drops: Option<u64>| drops.expect("a count of drops")).sum();
    let snmp = text("snmp");
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let mut pairs = names.split(' ').zip(values.split(' '));
    let value = pairs.find(|(name, _)| *name == "RcvbufErrors").map(|(_, value)| value);
    RelayDrops {
        of_sockets,
        of_node: value.and_then(|value| value.parse().ok()).expect("a known counter"),
    }
}
