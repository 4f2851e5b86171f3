//! Network namespaces that a test makes, joined by veth pairs. They end with the processes that hold them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// Returns `true` if root runs the tests.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Network namespace, held by a process whose input is a pipe. The process ends when this value is dropped or when the
/// test ends.
pub struct TestNamespace(Child);

impl TestNamespace {
    /// Makes a fresh namespace. For an ordinary user it is in a user namespace of its own.
    #[must_use]
    pub fn new() -> Self {
        let user: &[&str] = if is_root() { &[] } else { &["--user", "--map-root-user"] };
        Self::unshared(&[&["unshare"], user, &["--net"]].concat())
    }

    /// Makes a fresh namespace in the user namespace of this one, so that one process can enter both.
    #[must_use]
    pub fn sibling(&self) -> Self {
        let inside = self.enter_command();
        let words: Vec<&str> = inside.iter().map(String::as_str).collect();
        Self::unshared(&[&words[..], &["unshare", "--net"]].concat())
    }

    /// Runs `words`, a command that makes a namespace, and waits until it exists.
    fn unshared(words: &[&str]) -> Self {
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .args(["sh", "-c", "echo held; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is installed");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("the output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("the output is text");
        let held = Self(child);
        assert_eq!(line, "held\n", "this account may not make network namespaces: run as root");
        held
    }

    /// Returns the id of the process that holds the namespace.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Returns the words that, before a command, run it in the namespace.
    #[must_use]
    pub fn enter_command(&self) -> Vec<String> {
        let pid = self.pid().to_string();
        let user: &[&str] = if is_root() { &[] } else { &["--user", "--preserve-credentials"] };
        let words = ["nsenter", "--target", &pid, "--net"].into_iter().chain(user.iter().copied());
        words.map(str::to_owned).collect()
    }

    /// Returns the command that runs a command line in the namespace, split at spaces.
    #[must_use]
    pub fn command(&self, line: &str) -> Command {
        let words = self.enter_command();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(line.split(' '));
        command
    }

    /// Runs a command line in the namespace.
    ///
    /// # Panics
    ///
    /// The command failed.
    #[track_caller]
    pub fn run(&self, line: &str) {
        let status = self.command(line).status().expect("nsenter is installed");
        assert!(status.success(), "{line}");
    }

    /// Returns the output of a command line in the namespace.
    ///
    /// # Panics
    ///
    /// The command failed.
    #[must_use]
    #[track_caller]
    pub fn output(&self, line: &str) -> String {
        let output = self.command(line).output().expect("nsenter is installed");
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stdout).expect("the output is text")
    }

    /// Creates a veth pair with one end in each namespace, gives each end its addresses, and sets both up.
    fn join(&self, device: &str, addresses: &[&str], other: &Self, others: &[&str]) {
        let peer = other.pid();
        self.run(&format!("ip link add {device} type veth peer name eth0 netns {peer}"));
        for (namespace, device, addresses) in [(self, device, addresses), (other, "eth0", others)] {
            for address in addresses {
                // Duplicate address detection would delay the use of an IPv6 address.
                let nodad = if address.contains(':') { " nodad" } else { "" };
                namespace.run(&format!("ip address add {address} dev {device}{nodad}"));
            }
            namespace.run("ip link set lo up");
            namespace.run(&format!("ip link set {device} up"));
        }
    }
}

impl Default for TestNamespace {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TestNamespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Namespaces of a client (10.99.0.1, fd99::1) and a server (10.99.0.2, fd99::2), each with an `eth0`.
pub struct NamespacePair {
    /// Namespace of the client.
    pub client: TestNamespace,
    /// Namespace of the server.
    pub server: TestNamespace,
}

impl NamespacePair {
    /// Makes a fresh pair.
    #[must_use]
    pub fn new() -> Self {
        let client = TestNamespace::new();
        let server = client.sibling();
        client.join(
            "eth0",
            &["10.99.0.1/24", "fd99::1/64"],
            &server,
            &["10.99.0.2/24", "fd99::2/64"],
        );
        Self { client, server }
    }
}

impl Default for NamespacePair {
    fn default() -> Self {
        Self::new()
    }
}

/// Namespaces of a server and of some clients, each client joined to the server by a veth pair: client N at 10.99.N.2,
/// the server for it at 10.99.N.1 on its device `cN`.
pub struct NamespaceStar {
    /// Namespaces of the clients.
    pub clients: Vec<TestNamespace>,
    /// Namespace of the server.
    pub server: TestNamespace,
}

impl NamespaceStar {
    /// Makes a fresh star with `clients` clients.
    #[must_use]
    pub fn new(clients: u8) -> Self {
        let server = TestNamespace::new();
        let joined = |number: u8| {
            let client = server.sibling();
            let addresses = [1, 2].map(|last| format!("10.99.{number}.{last}/24"));
            server.join(&format!("c{number}"), &[&addresses[0]], &client, &[&addresses[1]]);
            client
        };
        Self { clients: (0..clients).map(joined).collect(), server }
    }
}
