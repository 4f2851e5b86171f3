//! Objects that runs made by hand on the engine's machine, as root and not through the engine: devices, rules of
//! iptables, and bridges of Open vSwitch. They carry the labels of their run as an alias, a comment or an external id.

use crate::address::EngineAddress;
use crate::label::RUN_LABEL;
use crate::leftovers::{Leftover, LeftoverKind};
use crate::run_owner::OWNER_LABEL;
use rustix::net::sockopt::socket_peercred;
use serde::Deserialize;
use serde_json::Value;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tare_network::Error;

/// Programs that filter, each with the suffix that saves or restores its rules.
const FILTERS: [&str; 2] = ["iptables", "ip6tables"];

/// Network namespace of an engine on this machine, whose devices and rules root may change.
pub(crate) struct EngineHost {
    namespace: PathBuf,
}

impl EngineHost {
    /// Finds the network namespace of the engine at this address. Returns `None` if the engine is on another machine, or
    /// if this process is not root.
    pub(crate) fn find(address: &EngineAddress) -> Option<Self> {
        let EngineAddress::Unix(socket) = address else { return None };
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let stream = UnixStream::connect(socket).ok()?;
        let engine = socket_peercred(&stream).ok()?.pid.as_raw_pid();
        let namespace = PathBuf::from(format!("/proc/{engine}/ns/net"));
        namespace.exists().then_some(Self { namespace })
    }

    /// Lists what runs made here. What needs a program that is missing was not made either.
    pub(crate) fn list(&self) -> Vec<Leftover> {
        let mut found = Vec::new();
        for filter in FILTERS {
            let rules = self.output(&format!("{filter}-save"), &[]);
            found.extend(marked_rules(filter, &rules.unwrap_or_default()));
        }
        let bridges = ["--timeout=10", "--format=json", "--columns=name,external_ids"];
        let bridges = self.output("ovs-vsctl", &[&bridges[..], &["list", "bridge"]].concat());
        found.extend(marked_bridges(&bridges.unwrap_or_default()));
        let devices = self.output("ip", &["-json", "link", "show"]);
        found.extend(marked_devices(&devices.unwrap_or_default()));
        found
    }

    /// Removes one of these objects. One that is gone already is none.
    ///
    /// # Errors
    /// Fails if a program fails that removes it.
    pub(crate) fn remove(&self, one: &Leftover) -> Result<(), Error> {
        match one.kind {
            LeftoverKind::Rule => self.remove_rule(&one.id),
            LeftoverKind::OvsBridge => {
                self.run("ovs-vsctl", &["--timeout=10", "--if-exists", "del-br", &one.id], "")
            }
            _ => self.run("ip", &["link", "delete", "dev", &one.id], ""),
        }
    }

    /// Removes a rule, of the form `FILTER TABLE RULE`.
    fn remove_rule(&self, id: &str) -> Result<(), Error> {
        let mut words = id.splitn(3, ' ');
        let (Some(filter), Some(table), Some(rule)) = (words.next(), words.next(), words.next())
        else {
            return Err(Error::new("remove a rule", format!("`{id}` names none")));
        };
        let input = format!("*{table}\n-D {rule}\nCOMMIT\n");
        self.run(&format!("{filter}-restore"), &["--noflush"], &input)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.namespace.display())).arg("--").arg(program);
        command.args(arguments);
        command
    }

    fn output(&self, program: &str, arguments: &[&str]) -> Option<String> {
        let output = self.command(program, arguments).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn run(&self, program: &str, arguments: &[&str], input: &str) -> Result<(), Error> {
        let what = || format!("remove what a run left, by {program}");
        let failed = |error: std::io::Error| Error::new(what(), error);
        let mut command = self.command(program, arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut pipe) = child.stdin.take() {
            // A program that does not read its input says why it failed.
            let _ = pipe.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(what(), said.lines().last().unwrap_or("it failed without a message").trim()))
    }
}

/// Creates the leftover of an object that carries a run's labels in a text. Returns `None` if it carries none.
fn marked(kind: LeftoverKind, id: String, name: String, text: &str) -> Option<Leftover> {
    let value = |label: &str| {
        let (_, rest) = text.split_once(&format!("{label}="))?;
        rest.split([' ', '"', '\'', '\\']).next().map(str::to_owned)
    };
    let owner = value(OWNER_LABEL).and_then(|owner| owner.parse().ok());
    Some(Leftover { kind, id, name, run: value(RUN_LABEL)?, running: false, owner })
}

/// Returns the marked rules among those that `iptables-save` prints.
fn marked_rules(filter: &str, saved: &str) -> Vec<Leftover> {
    let mut table = "";
    let mut found = Vec::new();
    for line in saved.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = name;
        } else if let Some(rule) = line.strip_prefix("-A ") {
            let chain = rule.split(' ').next().unwrap_or_default();
            let (id, name) =
                (format!("{filter} {table} {rule}"), format!("{filter} {table} {chain}"));
            found.extend(marked(LeftoverKind::Rule, id, name, rule));
        }
    }
    found
}

/// Device as `ip -json link show` prints it.
#[derive(Deserialize)]
struct Link {
    ifname: String,
    #[serde(default)]
    ifalias: String,
}

fn marked_devices(printed: &str) -> Vec<Leftover> {
    let links: Vec<Link> = serde_json::from_str(printed).unwrap_or_default();
    let device =
        |link: Link| marked(LeftoverKind::Device, link.ifname.clone(), link.ifname, &link.ifalias);
    links.into_iter().filter_map(device).collect()
}

/// Returns the marked bridges among those that `ovs-vsctl --format=json` lists: `[NAME, ["map", [[KEY, VALUE], …]]]`.
fn marked_bridges(printed: &str) -> Vec<Leftover> {
    let listed: Value = serde_json::from_str(printed).unwrap_or_default();
    let rows = listed["data"].as_array().into_iter().flatten();
    let bridge = |row: &Value| {
        let name = row[0].as_str()?.to_owned();
        let pairs = row[1][1].as_array()?;
        let mark = pairs.iter().find(|pair| pair[0] == "tare")?[1].as_str()?;
        marked(LeftoverKind::OvsBridge, name.clone(), name, mark)
    };
    rows.filter_map(bridge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_owner::RunOwner;

    const MARK: &str = "tare.run=00ab tare.owner=m.b.4026531836.17.900";

    fn owner() -> Option<RunOwner> {
        "m.b.4026531836.17.900".parse().ok()
    }

    #[test]
    fn rules_are_found_by_their_comments() {
        let saved = format!(
            "# Generated by iptables-save\n*filter\n:FORWARD DROP [0:0]\n\
             -A FORWARD -i tare1 -o tare1 -m comment --comment \"{MARK}\" -j ACCEPT\n\
             -A FORWARD -i docker0 -j ACCEPT\nCOMMIT\n*nat\n\
             -A PREROUTING -d 10.0.0.9/32 -m comment --comment tare.run=7 -j DNAT --to-destination 1.2.3.4\n\
             COMMIT\n"
        );
        let found = marked_rules("iptables", &saved);
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["iptables filter FORWARD", "iptables nat PREROUTING"]);
        assert_eq!((found[0].run.as_str(), &found[0].owner), ("00ab", &owner()));
        assert_eq!((found[1].run.as_str(), &found[1].owner), ("7", &None));
        let rule = "-i tare1 -o tare1 -m comment --comment";
        assert_eq!(found[0].id, format!("iptables filter FORWARD {rule} \"{MARK}\" -j ACCEPT"));
    }

    #[test]
    fn devices_and_bridges_are_found_by_their_marks() {
        let links = format!(
            "[{{\"ifname\":\"lo\"}},{{\"ifname\":\"tare1\",\"ifalias\":\"{MARK}\"}},\
              {{\"ifname\":\"eth0\",\"ifalias\":\"uplink\"}}]"
        );
        let bridges = format!(
            "{{\"data\":[[\"tare2\",[\"map\",[[\"tare\",\"{MARK}\"]]]],[\"br0\",[\"map\",[]]]],\
              \"headings\":[\"name\",\"external_ids\"]}}"
        );
        for (found, name) in
            [(marked_devices(&links), "tare1"), (marked_bridges(&bridges), "tare2")]
        {
            let [one] = found.try_into().expect("one is marked");
            assert_eq!((one.id.as_str(), one.run.as_str(), one.owner), (name, "00ab", owner()));
        }
        assert_eq!((marked_devices(""), marked_bridges("x")), (Vec::new(), Vec::new()));
    }
}
