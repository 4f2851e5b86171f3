//! Attaching a container, and detaching it.

use super::answer::complaint;
use super::config::{Plugin, find, plugins_path};
use super::{Answer, DEVICE, List};
use crate::programs::Station;
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use tare_network::Error;

/// A port of the node that leads to a container's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortMapping {
    /// The node's address.
    pub(crate) on: IpAddr,
    /// The port, the same on both.
    pub(crate) port: u16,
}

/// What a runtime tells plugins beside their configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runtime {
    /// `portMappings`, for those that say they can do it: each for TCP and for UDP.
    pub(crate) ports: Vec<PortMapping>,
    /// `mtu`, bytes, for those that make devices and are not told another one: not a part of the specification, but all
    /// plugins that everybody has take it.
    pub(crate) mtu: Option<u32>,
}

/// The plugins that take `mtu`.
const MAKE_DEVICES: [&str; 5] = ["bridge", "ipvlan", "macvlan", "ptp", "vlan"];

impl Runtime {
    /// The part of it that a plugin asks for.
    fn of(&self, plugin: &Plugin) -> Option<Value> {
        const PORTS: &str = "portMappings";
        if self.ports.is_empty() || !plugin.has_capability(PORTS) {
            return None;
        }
        let mappings = self.ports.iter().flat_map(|&PortMapping { on, port }| {
            ["tcp", "udp"].map(|protocol| {
                json!({"hostPort": port, "containerPort": port, "protocol": protocol, "hostIP": on})
            })
        });
        Some(json!({ PORTS: mappings.collect::<Vec<Value>>() }))
    }

    /// The MTU that a plugin is told.
    fn mtu_of(&self, plugin: &Plugin) -> Option<u32> {
        let takes = MAKE_DEVICES.contains(&plugin.kind.as_str());
        self.mtu.filter(|_| takes && !plugin.config.contains_key("mtu"))
    }
}

/// A container that is attached. Dropping it detaches it.
pub(crate) struct Attachment {
    station: Station,
    list: Arc<List>,
    container: String,
    runtime: Runtime,
    /// What came of it.
    pub(crate) answer: Answer,
}

impl Attachment {
    /// Attaches a container, which is a namespace of this name, from the node's station.
    pub(crate) fn make(
        station: &Station,
        list: &Arc<List>,
        container: &str,
        runtime: Runtime,
    ) -> Result<Self, Error> {
        let mut attachment = Self {
            station: station.clone(),
            list: Arc::clone(list),
            container: container.to_owned(),
            runtime,
            answer: Answer::default(),
        };
        // What the first plugins did is undone where a later one fails.
        for plugin in &list.plugins {
            let said = attachment.invoke("ADD", plugin)?;
            // One that adds nothing of its own may stay silent.
            if !said.trim().is_empty() {
                attachment.answer = Answer::read(&said).map_err(|why| {
                    Error::new(format!("read the answer of the CNI plugin {}", plugin.kind), why)
                })?;
            }
        }
        Ok(attachment)
    }

    /// Runs a plugin, and returns what it says.
    fn invoke(&self, verb: &str, plugin: &Plugin) -> Result<String, Error> {
        let what = format!("run the CNI plugin {} ({verb}) for {}", plugin.kind, self.container);
        let program = find(&plugin.kind).ok_or_else(|| {
            Error::new(&what, format!("it is not in {}", plugins_path()))
                .with_remedy("install it there, or set CNI_PATH")
        })?;
        let mut command = Command::new(program);
        command.envs(environment(verb, &self.container));
        let previous = (!self.answer.raw.is_null()).then_some(&self.answer.raw);
        let input = input(&self.list, plugin, &self.runtime, previous).to_string();
        let output = self.station.run(command, &input)?;
        if let Some(words) = complaint(&output.said).filter(|_| !output.status.success()) {
            return Err(Error::new(what, words));
        }
        output.success(&what)
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        for plugin in self.list.plugins.iter().rev() {
            // The namespaces, and with them all that plugins make, go in any case.
            let _ = self.invoke("DEL", plugin);
        }
    }
}

/// What a plugin finds in its environment.
pub(super) fn environment(verb: &str, container: &str) -> [(&'static str, String); 6] {
    // Plugins run administrators' programs, which an ordinary user's PATH lacks.
    let path = std::env::var("PATH").unwrap_or_default();
    [
        ("CNI_COMMAND", verb.to_owned()),
        ("CNI_CONTAINERID", container.to_owned()),
        ("CNI_NETNS", format!("/run/netns/{container}")),
        ("CNI_IFNAME", DEVICE.to_owned()),
        ("CNI_PATH", plugins_path()),
        ("PATH", format!("{path}:/usr/sbin:/sbin")),
    ]
}

/// What a plugin reads: its own configuration, with what it shares with the others.
pub(super) fn input(
    list: &List,
    plugin: &Plugin,
    runtime: &Runtime,
    previous: Option<&Value>,
) -> Value {
    let mut config: Map<String, Value> = plugin.config.clone();
    config.insert("name".to_owned(), json!(list.name));
    config.insert("cniVersion".to_owned(), json!(list.version));
    config.extend(runtime.mtu_of(plugin).map(|mtu| ("mtu".to_owned(), json!(mtu))));
    config.extend(runtime.of(plugin).map(|runtime| ("runtimeConfig".to_owned(), runtime)));
    config.extend(previous.map(|previous| ("prevResult".to_owned(), previous.clone())));
    Value::Object(config)
}
