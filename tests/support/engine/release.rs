//! Docker Engine 29, with each of its two firewalls. `cargo xtask engine-programs` builds its programs. The tests of a run share
//! one engine for each firewall.

use super::{Engine, path};
use crate::shared::{SharedGuard, SharedResource};
use serde_json::Value;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use tare_dev::eventually;

/// Programs of the release. Everything else is Debian's.
const PROGRAMS: [&str; 4] = ["dockerd", "docker-proxy", "runc", "runsc"];

/// Version that the engine states: its module has no other.
pub const VERSION: &str = "library-import";

/// Addresses of the machine and of the default bridge in IPv6. With nftables, dockerd does not switch forwarding on by itself.
const MACHINE: &str = "echo 1 >/proc/sys/net/ipv4/ip_forward\n\
                       echo 1 >/proc/sys/net/ipv6/conf/all/forwarding\n\
                       ip address add 2001:db8::1/128 dev lo\n";
const FLAGS: [&str; 2] = ["--ipv6", "--fixed-cidr-v6=fd00:9::/64"];

/// Firewall of an engine.
pub trait Firewall {
    /// Name that dockerd gives it.
    const NAME: &str;
    /// Kind of the shared engine that has it.
    const KIND: &str;
    /// Name, as a hop, of the rules that translate a published port.
    const PORT_RULES: &str;
    /// Name, as a hop, of the rules of forwarded packets.
    const FORWARD_RULES: &str;
    /// Shell line that prints all rules, without their counters.
    const LISTING: &str;
    /// Shell line that prints the rule that leads from the machine's own connections to those of published ports, with its
    /// counters.
    const OUTPUT_JUMP: &str;
}

/// Chains of iptables.
pub struct Iptables;

impl Firewall for Iptables {
    const NAME: &str = "iptables";
    const KIND: &str = "engine29-iptables";
    const PORT_RULES: &str = "nat/DOCKER";
    const FORWARD_RULES: &str = "filter/FORWARD";
    const LISTING: &str =
        "iptables-save | grep -v '^[#:]' | sort; ip6tables-save | grep -v '^[#:]' | sort";
    const OUTPUT_JUMP: &str =
        "iptables-save --counters --table nat | grep -e '-A OUTPUT .* -j DOCKER' | tr '[:]' '   '";
}

/// Tables `docker-bridges` of nftables.
pub struct Nftables;

impl Firewall for Nftables {
    const NAME: &str = "nftables";
    const KIND: &str = "engine29-nftables";
    const PORT_RULES: &str = "docker-bridges/nat-prerouting-and-output";
    const FORWARD_RULES: &str = "docker-bridges/filter-FORWARD";
    const LISTING: &str = "nft --stateless list ruleset | sort";
    const OUTPUT_JUMP: &str = "nft list chain ip docker-bridges nat-OUTPUT | sed -n 's/.*packets \\([0-9]*\\).*jump.*/\\1/p'";
}

/// Engine 29 with a firewall.
pub struct Engine29<F> {
    engine: Engine,
    firewall: PhantomData<F>,
}

impl<F: Firewall> Engine29<F> {
    /// Takes the engine that the tests of this run share.
    #[track_caller]
    pub fn shared() -> SharedGuard<Self> {
        SharedGuard::take()
    }

    /// Starts an engine with further flags of dockerd, for one test.
    pub fn with(flags: &[&str]) -> Self {
        let firewall = format!("--firewall-backend={}", F::NAME);
        let script = format!("export PATH={}:\"$PATH\"\n{MACHINE}", programs().display());
        let flags = [&[firewall.as_str()], &FLAGS[..], flags].concat();
        Self::from_engine(Engine::prepared(&script, &flags))
    }

    fn from_engine(engine: Engine) -> Self {
        Self { engine, firewall: PhantomData }
    }

    /// Returns the packets that have met the rules of published ports, of the machine's own connections.
    #[track_caller]
    pub fn translated(&self) -> u64 {
        let line = self.shell_output(F::OUTPUT_JUMP);
        let packets = line.split_whitespace().next().and_then(|packets| packets.parse().ok());
        packets.unwrap_or_else(|| panic!("no counter in `{line}`"))
    }

    /// Returns whether packets on a bridge pass the machine's rules.
    pub fn filters_bridged_packets(&self) -> bool {
        self.shell_output("cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null || :")
            == "1"
    }

    /// Kills the engine, like a crash, and starts it again on what it has left.
    pub fn crash(&self) -> CrashedEngine<'_> {
        let arguments = "tr '\\0' '\\n' <\"/proc/$(pidof dockerd)/cmdline\"";
        let arguments = self.shell_output(arguments).lines().map(str::to_owned).collect();
        self.kill_daemon();
        CrashedEngine { engine: &self.engine, arguments }
    }
}

impl<F> Deref for Engine29<F> {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl<F: Firewall> SharedResource for Engine29<F> {
    const KIND: &str = F::KIND;

    fn start() -> Self {
        Self::with(&[])
    }

    fn handle(&self) -> Value {
        self.engine.handle()
    }

    fn join(handle: &Value) -> Self {
        Self::from_engine(Engine::join(handle))
    }

    /// Lists what every engine's inventory has, and the rules of the engine's own firewall, without the names of tables: the
    /// table `raw` stays once a port has been published.
    fn inventory(&self) -> Vec<String> {
        let mut inventory = self.engine.inventory();
        inventory.push(self.shell_output(F::LISTING));
        let is_kept = |line: &&str| !line.starts_with('*') && *line != "COMMIT";
        let kept =
            |listing: &String| listing.lines().filter(is_kept).collect::<Vec<_>>().join("\n");
        inventory.iter().map(kept).collect()
    }
}

/// Engine whose daemon was killed.
pub struct CrashedEngine<'a> {
    engine: &'a Engine,
    arguments: Vec<String>,
}

impl CrashedEngine<'_> {
    /// Starts the daemon again once its containerd has ended too, and waits until it answers. The first process of the
    /// namespaces collects no children, so that the numbers of both still seem to be in use.
    #[track_caller]
    pub fn restart(self) {
        eventually("the engine's programs have ended", || {
            let left = self.engine.shell_output("pidof dockerd containerd || :");
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
        let stale =
            [self.engine.directory.join("pid"), "/run/docker/containerd/containerd.pid".into()];
        let [daemon, containerd] = stale.map(|file| file.display().to_string());
        self.engine.shell_output(&format!("rm -f {daemon} {containerd}"));
        let search = format!("{}:{}", programs().display(), path());
        let mut daemon = self.engine.command_beside(Path::new("/bin/sh"));
        daemon.args(["-c", "setsid \"$@\" >>\"$LOG\" 2>&1 </dev/null &", "restart"]);
        daemon
            .args(&self.arguments)
            .env("PATH", search)
            .env("LOG", self.engine.directory.join("log"));
        let status = daemon.status();
        assert!(status.expect("a shell").success());
        self.engine.wait_until_it_answers();
    }
}

/// Returns whether the programs of the release are built.
#[must_use]
pub fn is_built() -> bool {
    PROGRAMS.iter().all(|name| programs().join(name).is_file())
}

/// Returns the path of one of the programs.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    programs().join(name)
}

/// Returns the directory of the programs, which is on no search path but that of these engines.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/engine")
}
