//! Two network namespaces of the test's own, joined by a veth pair. They end with the processes that hold them.

use super::Here;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tare_network::Topology;

/// A namespace, held by a process that ends when this is dropped, or with the test.
struct Held(Child);

impl Held {
    /// Runs `words`, which shall make the namespaces, and waits until they are there.
    fn by(words: &[&str]) -> Option<Self> {
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .args(["sh", "-c", "echo held; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut()?).read_line(&mut line).ok()?;
        let held = Self(child);
        (line == "held\n").then_some(held)
    }

    /// The words before a command that shall run in it.
    fn enter(&self) -> Vec<String> {
        let pid = self.0.id().to_string();
        let user: &[&str] = if is_root() { &[] } else { &["--user", "--preserve-credentials"] };
        let words = ["nsenter", "--target", &pid, "--net"].into_iter().chain(user.iter().copied());
        words.map(str::to_owned).collect()
    }

    /// Runs a command in it; it must succeed.
    fn run(&self, line: &str) {
        let words: Vec<String> =
            self.enter().into_iter().chain(line.split(' ').map(str::to_owned)).collect();
        let status = Command::new(&words[0]).args(&words[1..]).status().unwrap();
        assert!(status.success(), "{line}");
    }

    /// What a command says in it.
    fn output(&self, line: &str) -> String {
        let words: Vec<String> =
            self.enter().into_iter().chain(line.split(' ').map(str::to_owned)).collect();
        let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A client's and a server's namespace, 10.99.0.1 and 10.99.0.2.
pub(crate) struct Pair {
    client: Held,
    server: Held,
}

impl Pair {
    /// Makes them; nothing, and a word about it, where this account may not.
    pub(crate) fn new() -> Option<Self> {
        let pair = Self::make();
        if pair.is_none() {
            eprintln!("not tested: no network namespaces for this account");
        }
        pair
    }

    fn make() -> Option<Self> {
        let client = if is_root() {
            Held::by(&["unshare", "--net"])?
        } else {
            Held::by(&["unshare", "--user", "--map-root-user", "--net"])?
        };
        // The server's namespace belongs to the same user namespace, so that the pair can reach into both.
        let inside: Vec<String> = client.enter();
        let words: Vec<&str> =
            inside.iter().map(String::as_str).chain(["unshare", "--net"]).collect();
        let server = Held::by(&words)?;
        let pair = Self { client, server };
        let peer = pair.server.0.id();
        pair.client.run(&format!("ip link add eth0 type veth peer name eth0 netns {peer}"));
        for (held, address) in [(&pair.client, "10.99.0.1/24"), (&pair.server, "10.99.0.2/24")] {
            held.run(&format!("ip address add {address} dev eth0"));
            held.run("ip link set lo up");
            held.run("ip link set eth0 up");
        }
        Some(pair)
    }

    /// Runs a command in the client's namespace.
    pub(crate) fn in_client(&self, line: &str) {
        self.client.run(line);
    }

    /// Runs a command in the server's namespace.
    pub(crate) fn in_server(&self, line: &str) {
        self.server.run(line);
    }

    /// What a file of the client's namespace under /proc/net says.
    pub(crate) fn client_file(&self, name: &str) -> String {
        self.client.output(&format!("cat /proc/net/{name}"))
    }

    /// What a file of the server's namespace under /proc/net says.
    pub(crate) fn server_file(&self, name: &str) -> String {
        self.server.output(&format!("cat /proc/net/{name}"))
    }

    /// What a command in the client's namespace prints.
    pub(crate) fn read_in_client(&self, line: &str) -> String {
        self.client.output(line)
    }

    /// What a command in the server's namespace prints.
    pub(crate) fn read_in_server(&self, line: &str) -> String {
        self.server.output(line)
    }

    /// The client's container.
    pub(crate) fn client(&self) -> Here {
        let address = [10, 99, 0, 1].into();
        Here { address, prefix: self.client.enter(), ..Here::new("client-0") }
    }

    /// The server's container.
    pub(crate) fn server(&self) -> Here {
        let address = [10, 99, 0, 2].into();
        Here { address, prefix: self.server.enter(), ..Here::new("server-0") }
    }
}

/// A server's namespace and some clients', each joined to it by a veth pair of its own: client N at 10.99.N.2, the server
/// for it at 10.99.N.1.
pub(crate) struct Star {
    clients: Vec<Held>,
    server: Held,
}

impl Star {
    /// Makes them; nothing where this account may not.
    pub(crate) fn new(clients: usize) -> Option<Self> {
        let server = if is_root() {
            Held::by(&["unshare", "--net"])?
        } else {
            Held::by(&["unshare", "--user", "--map-root-user", "--net"])?
        };
        let mut star = Self { clients: Vec::new(), server };
        for number in 0..clients {
            let inside = star.server.enter();
            let words: Vec<&str> =
                inside.iter().map(String::as_str).chain(["unshare", "--net"]).collect();
            let client = Held::by(&words)?;
            let peer = client.0.id();
            star.server
                .run(&format!("ip link add c{number} type veth peer name eth0 netns {peer}"));
            let ends = [(&star.server, format!("c{number}"), 1), (&client, "eth0".to_owned(), 2)];
            for (held, device, last) in ends {
                held.run(&format!("ip address add 10.99.{number}.{last}/24 dev {device}"));
                held.run("ip link set lo up");
                held.run(&format!("ip link set {device} up"));
            }
            star.clients.push(client);
        }
        Some(star)
    }

    /// Runs a command in a client's namespace.
    pub(crate) fn in_client(&self, number: usize, line: &str) {
        self.clients[number].run(line);
    }

    /// All of them as a topology, with this agent, the server on this port.
    pub(crate) fn topology(&self, agent: &std::path::Path, port: u16) -> Topology {
        let here = |name: String, held: &Held, address: [u8; 4]| Here {
            address: address.into(),
            prefix: held.enter(),
            agent: agent.to_owned(),
            ..Here::new(&name)
        };
        let server = here("server-0".to_owned(), &self.server, [10, 99, 0, 1]);
        let clients = (0u8..)
            .zip(&self.clients)
            .map(|(number, held)| here(format!("client-{number}"), held, [10, 99, number, 2]));
        let mut topology = super::topology(vec![server], clients.collect(), |_| port);
        for (number, route) in (0u8..).zip(&mut topology.routes) {
            route.listen = ([10, 99, number, 1], port).into();
            route.dial = route.listen;
        }
        topology
    }
}
