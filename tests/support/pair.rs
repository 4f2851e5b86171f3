//! Two network namespaces of the test's own, joined by a veth pair. They end with the test, also when that is killed.

use super::program::{Running, Tare, User, is_root, tied};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A namespace, held by a process that ends with the test.
struct Held(Child);

impl Held {
    /// Runs `words`, which make the namespace, and waits until it is there.
    fn by(words: &[String]) -> Self {
        let mut child = tied(User::Caller, &words[0])
            .args(&words[1..])
            .args(["sh", "-c", "echo held; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is there");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it speaks");
        assert_eq!(line, "held\n", "this account may make namespaces");
        Self(child)
    }

    /// The words before a command that shall run in it.
    fn enter(&self) -> Vec<String> {
        let pid = self.0.id().to_string();
        let user: &[&str] = if is_root() { &[] } else { &["--user", "--preserve-credentials"] };
        let words = ["nsenter", "--target", &pid, "--net"];
        words.into_iter().chain(user.iter().copied()).map(str::to_owned).collect()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let words = self.enter();
        let mut command = tied(User::Caller, &words[0]);
        command.args(&words[1..]).arg(program).args(arguments);
        command
    }

    fn run(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let status = self.command(words[0], &words[1..]).status().expect("nsenter is there");
        assert!(status.success(), "{line}");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client's and a server's namespace: 10.99.0.1 and fd99::1, 10.99.0.2 and fd99::2.
pub(crate) struct Pair {
    client: Held,
    server: Held,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let client = Held::by(&if is_root() {
            words(&["unshare", "--net"])
        } else {
            words(&["unshare", "--user", "--map-root-user", "--net"])
        });
        // The server's namespace belongs to the same user namespace, so that the pair can reach into both.
        let mut inside = client.enter();
        inside.extend(words(&["unshare", "--net"]));
        let server = Held::by(&inside);
        let pair = Self { client, server };
        let peer = pair.server.0.id();
        pair.client.run(&format!("ip link add eth0 type veth peer name eth0 netns {peer}"));
        for (held, host) in [(&pair.client, 1), (&pair.server, 2)] {
            held.run(&format!("ip address add 10.99.0.{host}/24 dev eth0"));
            held.run(&format!("ip address add fd99::{host}/64 dev eth0 nodad"));
            held.run("ip link set lo up");
            held.run("ip link set eth0 up");
        }
        pair
    }

    /// Starts the program in the client's namespace.
    pub(crate) fn in_client(&self, tare: &Tare, arguments: &[&str]) -> Running {
        Self::start(&self.client, tare, arguments)
    }

    /// Starts the program in the server's namespace.
    pub(crate) fn in_server(&self, tare: &Tare, arguments: &[&str]) -> Running {
        Self::start(&self.server, tare, arguments)
    }

    fn start(held: &Held, tare: &Tare, arguments: &[&str]) -> Running {
        let program = tare.program().to_str().expect("a plain path");
        Running::of(held.command(program, arguments).current_dir(tare.directory()))
    }
}
