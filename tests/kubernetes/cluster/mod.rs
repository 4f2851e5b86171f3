//! Kubernetes cluster of a test: a control plane and nodes, each a simulated machine in namespaces of its own, on which the
//! real programs run. It ends with the test, even if that is killed.

mod image;
mod mesh;
mod resolver;
mod scripts;

pub(crate) use mesh::MeshInjection;

use mesh::{ASKING_POD, injection_objects};
use resolver::RESOLVER;
use scripts::{INIT, KEYS, NODE};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use support::engine::{cgroup_name, start_sweeper};
use support::program::{RunningProgram, User, binary, tied_command};
use support::{ScratchDirectory, eventually};

/// Kind of the network between the pods of two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodRoutes {
    /// Routes by the nodes' addresses.
    Direct,
    /// Tunnels (VXLAN).
    Vxlan,
    /// Tunnels (VXLAN) of the real flannel, whose daemon reads the pods' networks of all nodes from the API.
    Flannel,
}

/// Mode of kube-proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyMode {
    /// Rules of iptables.
    Iptables,
    /// Rules of nftables.
    Nftables,
}

/// Cluster with two or more nodes: `node1`, `node2` and so on. Dropping it ends it, and removes its files.
pub(crate) struct Cluster {
    init: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    sweeper: Child,
    files: ScratchDirectory,
}

impl Cluster {
    /// Starts a cluster with two nodes that have the image of the program under test.
    ///
    /// # Panics
    ///
    /// Panics if the cluster's programs are missing, or the cluster does not start.
    pub(crate) fn start(routes: PodRoutes, proxy: ProxyMode) -> Self {
        Self::with_nodes(2, routes, proxy)
    }

    /// Starts a cluster with this number of nodes.
    ///
    /// # Panics
    ///
    /// As [`Self::start`].
    pub(crate) fn with_nodes(nodes: u32, routes: PodRoutes, proxy: ProxyMode) -> Self {
        let files = ScratchDirectory::new();
        let images = files.create_directory("images", None);
        let programs = programs();
        image::write_static_image("pause", &programs.join("pause"), &images.join("pause.tar"));
        image::write_program_image(&files, &images.join("tare.tar"));
        let group = cgroup_name(&files);
        let sweeper = start_sweeper(&group);
        let script = format!("set -eu\n{}", INIT.replace("\nkeys\n", KEYS));
        let namespaces = [
            "--net",
            "--mount",
            "--uts",
            "--ipc",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ];
        let mut init = tied_command(User::Caller, "unshare")
            .args(namespaces)
            .args(["/bin/sh", "-c", &script, "cluster"])
            .arg(files.root())
            .args([&group, &nodes.to_string(), routes.name(), proxy.name()])
            .arg(&programs)
            .env("NODE", NODE)
            .env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()))
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is there");
        let orders = init.stdin.take().expect("it is piped");
        let answers = BufReader::new(init.stdout.take().expect("it is piped"));
        let mut cluster = Self { init, orders, answers, sweeper, files };
        cluster.expect_answer("started");
        cluster
    }

    fn expect_answer(&mut self, expected: &str) {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it is text");
        assert_eq!(line.trim_end(), expected, "{}", self.logs());
    }

    /// Returns the last words of the cluster's programs.
    fn logs(&self) -> String {
        let files = fs::read_dir(self.files.path("log")).into_iter().flatten().flatten();
        let last = |text: String| {
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(5)..].join("\n")
        };
        files
            .map(|file| {
                let text = fs::read_to_string(file.path()).unwrap_or_default();
                format!("{}: {}\n", file.file_name().to_string_lossy(), last(text))
            })
            .collect()
    }

    /// Returns a path in the directory in which commands run.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }

    /// Returns a command on the machine of the control plane, as this user of the cluster.
    pub(crate) fn command(&self, user: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = tied_command(User::Caller, "nsenter");
        command.args(["--target", &self.first_process().to_string(), "--net", "--"]).arg(program);
        command.env("KUBECONFIG", self.files.path("kubeconfig").join(user));
        command.current_dir(self.files.root());
        command
    }

    /// Returns the first process of the cluster's namespaces.
    fn first_process(&self) -> u32 {
        *children_of(self.init.id()).first().expect("it runs")
    }

    /// Returns the number of packets that a device of the first node has sent.
    pub(crate) fn packets_sent_by_first_node(&self, device: &str) -> u64 {
        // The first process of the cluster starts the nodes in their order, before everything else.
        let node = children_of(self.first_process())[0];
        let mut command = tied_command(User::Caller, "nsenter");
        command.args(["--target", &node.to_string(), "--net", "ip", "-json", "-statistics"]);
        command.args(["link", "show", "dev", device]);
        let told = RunningProgram::spawn(&mut command).wait().expect(0).json();
        told[0]["stats64"]["tx"]["packets"].as_u64().expect("a counter")
    }

    /// Starts the program under test on the machine of the control plane, as this user of the cluster.
    pub(crate) fn start_tare(&self, user: &str, arguments: &[&str]) -> RunningProgram {
        RunningProgram::spawn(self.command(user, binary()).args(arguments))
    }

    /// Runs a network once with these arguments, and returns the document.
    #[track_caller]
    pub(crate) fn measure(&self, arguments: &[&str]) -> Value {
        let asked = [&["run", "--json"], arguments].concat();
        self.start_tare("admin", &asked).wait().expect(0).json()
    }

    /// Returns the output of kubectl.
    #[track_caller]
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let mut command = self.command("admin", programs().join("cluster-programs"));
        let output = command.arg("kubectl").args(arguments).output().expect("it starts");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {complaint}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Makes an object of the cluster from its text.
    #[track_caller]
    pub(crate) fn apply(&self, object: &str) {
        let file = self.files.write_file("object.yaml", object);
        self.kubectl(&["apply", "--filename", &file.to_string_lossy()]);
    }

    /// Stops the API server as a crash does.
    pub(crate) fn stop_api(&mut self) {
        self.order("stop-api");
    }

    /// Starts the API server again.
    pub(crate) fn start_api(&mut self) {
        self.order("start-api");
    }

    /// Enforces network policies on every node from now on.
    pub(crate) fn enforce_policies(&mut self) {
        self.order("enforce-policies");
    }

    /// Starts the cluster's resolver, and waits until it answers.
    pub(crate) fn start_resolver(&mut self) {
        let archive = self.files.path("images/coredns.tar");
        image::write_static_image("coredns", &programs().join("cluster-addons"), &archive);
        self.order("import coredns");
        self.apply(RESOLVER);
        let available = ["wait", "--for=condition=Available", "deployment/coredns"];
        let place = ["--namespace", "kube-system", "--timeout", "120s"];
        self.kubectl(&[&available[..], &place].concat());
    }

    /// Lets the API server put proxies into pods that ask for them, and waits until it does.
    pub(crate) fn inject_proxies(&mut self, injection: MeshInjection) {
        let archive = self.files.path("images/mesh.tar");
        if !archive.exists() {
            image::write_mesh_image(&programs().join("cluster-addons"), &archive);
            self.order("import mesh");
        }
        self.apply(&injection_objects(injection));
        let pod = self.files.write_file("asking.yaml", ASKING_POD);
        let wanted = match injection {
            MeshInjection::Redirecting => "mesh-rules tare mesh-proxy",
            MeshInjection::Idle => "tare mesh-proxy",
        };
        eventually("pods that ask for a proxy have one", || {
            let names = "jsonpath={.spec.initContainers[*].name} {.spec.containers[*].name}";
            let create = ["create", "--dry-run=server", "--output", names, "--filename"];
            let names = self.kubectl(&[&create[..], &[&pod.to_string_lossy()]].concat());
            if names == wanted { Ok(()) } else { Err(names) }
        });
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it listens");
        self.expect_answer(&format!("done {order}"));
    }

    /// Returns the objects that runs of tare have left.
    pub(crate) fn leftovers(&self) -> String {
        let kinds = "pods,services,configmaps,networkpolicies";
        self.kubectl(&[
            "get",
            kinds,
            "--all-namespaces",
            "--selector",
            "tare.run",
            "--output",
            "name",
        ])
    }

    /// Checks that nothing of a run is left, or is left soon.
    #[track_caller]
    pub(crate) fn expect_nothing_left(&self) {
        eventually("nothing is left in the cluster", || {
            let left = self.leftovers();
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The end of the first process ends all others; its files can be removed then.
        let _ = self.init.kill();
        let _ = self.init.wait();
        drop(self.sweeper.stdin.take());
        let _ = self.sweeper.wait();
    }
}

impl PodRoutes {
    fn name(self) -> &'static str {
        match self {
            Self::Direct => "routes",
            Self::Vxlan => "vxlan",
            Self::Flannel => "flannel",
        }
    }
}

impl ProxyMode {
    fn name(self) -> &'static str {
        match self {
            Self::Iptables => "iptables",
            Self::Nftables => "nftables",
        }
    }
}

/// Returns the directory of the cluster's programs.
pub(crate) fn programs() -> PathBuf {
    let directory = support::schema::repository().join("target/tools/cluster");
    let is_built = directory.join("cluster-programs").is_file();
    assert!(is_built, "{} is missing: make setup-kubernetes", directory.display());
    directory
}

/// Returns the children of a process, in the order of their start.
fn children_of(parent: u32) -> Vec<u32> {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = fs::read_to_string(children).expect("the kernel lists children");
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
