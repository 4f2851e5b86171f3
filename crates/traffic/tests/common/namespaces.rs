//! Two network namespaces of the test's own, joined by a veth pair. They end with the processes that hold them.

use super::Here;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

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
