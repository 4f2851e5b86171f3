//! Attachment of a container: `ADD` when it is made, `DEL` when it is dropped.

use super::config::{PluginConfig, find_plugin, plugins_path};
use super::result::error_message;
use super::{CniResult, DEVICE, NetworkConfigList};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use tare_network::Error;
use tare_sandbox::programs::ExecContext;

/// Port of the node that is mapped to a container's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortMapping {
    /// Address of the node.
    pub(crate) host_address: IpAddr,
    /// Port number, the same on the node and in the container.
    pub(crate) port: u16,
}

/// Values that a runtime passes to plugins in addition to their configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuntimeConfig {
    /// `portMappings`, for plugins with that capability: each mapping for TCP and for UDP.
    pub(crate) ports: Vec<PortMapping>,
    /// `mtu`, bytes, for plugins that create devices and whose configuration sets no MTU. It is not a part of the
    /// specification, but all common plugins accept it.
    pub(crate) mtu: Option<u32>,
}

/// Plugins that accept `mtu`.
const MTU_PLUGINS: [&str; 5] = ["bridge", "ipvlan", "macvlan", "ptp", "vlan"];

impl RuntimeConfig {
    /// Returns `runtimeConfig` for a plugin: the values whose capability it declares. Returns `None` if there are none.
    fn capability_arguments(&self, plugin: &PluginConfig) -> Option<Value> {
        const PORTS: &str = "portMappings";
        if self.ports.is_empty() || !plugin.has_capability(PORTS) {
            return None;
        }
        let mappings = self.ports.iter().flat_map(|&PortMapping { host_address: on, port }| {
            ["tcp", "udp"].map(|protocol| {
                json!({"hostPort": port, "containerPort": port, "protocol": protocol, "hostIP": on})
            })
        });
        Some(json!({ PORTS: mappings.collect::<Vec<Value>>() }))
    }

    /// Returns the MTU to pass to a plugin, bytes. Returns `None` if it does not accept one, or if its configuration
    /// sets one.
    fn mtu_for(&self, plugin: &PluginConfig) -> Option<u32> {
        let takes = MTU_PLUGINS.contains(&plugin.program.as_str());
        self.mtu.filter(|_| takes && !plugin.config.contains_key("mtu"))
    }
}

/// Attached container. Dropping it detaches the container.
pub(crate) struct Attachment {
    context: ExecContext,
    list: Arc<NetworkConfigList>,
    container: String,
    runtime: RuntimeConfig,
    /// Result of the last plugin that returned one.
    pub(crate) result: CniResult,
}

impl Attachment {
    /// Attaches a container, given by the name of its namespace. The plugins run in the node's execution context.
    ///
    /// Fails if a plugin is not installed, does not run, or returns an error or a result that cannot be read.
    pub(crate) fn make(
        station: &ExecContext,
        list: &Arc<NetworkConfigList>,
        container: &str,
        runtime: RuntimeConfig,
    ) -> Result<Self, Error> {
        let mut attachment = Self {
            context: station.clone(),
            list: Arc::clone(list),
            container: container.to_owned(),
            runtime,
            result: CniResult::default(),
        };
        // If a later plugin fails, dropping `attachment` undoes what the earlier ones did.
        for plugin in &list.plugins {
            let said = attachment.invoke("ADD", plugin)?;
            // A plugin that adds nothing may print nothing.
            if !said.trim().is_empty() {
                attachment.result = CniResult::parse(&said).map_err(|why| {
                    Error::new(
                        format!("parse the output of the CNI plugin {}", plugin.program),
                        why,
                    )
                })?;
            }
        }
        Ok(attachment)
    }

    /// Runs a plugin and returns its standard output.
    fn invoke(&self, verb: &str, plugin: &PluginConfig) -> Result<String, Error> {
        let what = format!("run the CNI plugin {} ({verb}) for {}", plugin.program, self.container);
        let program = find_plugin(&plugin.program).ok_or_else(|| {
            Error::new(&what, format!("the plugin is not in {}", plugins_path()))
                .with_remedy("install the plugin there, or set CNI_PATH")
        })?;
        let mut command = Command::new(program);
        command.envs(plugin_environment(verb, &self.container));
        let previous = (!self.result.raw.is_null()).then_some(&self.result.raw);
        let input = plugin_input(&self.list, plugin, &self.runtime, previous).to_string();
        let output = self.context.run(command, &input)?;
        if let Some(words) = error_message(&output.stdout).filter(|_| !output.status.success()) {
            return Err(Error::new(what, words));
        }
        output.into_stdout(&what)
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        for plugin in self.list.plugins.iter().rev() {
            // An error does no harm: the namespaces, and all that plugins create in them, are removed in any case.
            let _ = self.invoke("DEL", plugin);
        }
    }
}

/// Returns the environment variables of a plugin.
pub(super) fn plugin_environment(verb: &str, container: &str) -> [(&'static str, String); 6] {
    // Plugins run programs of /usr/sbin and /sbin, which an ordinary user's PATH lacks.
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

/// Builds a plugin's standard input: its own configuration, with the name and version of the list, the runtime's values
/// and the previous plugin's result.
pub(super) fn plugin_input(
    list: &NetworkConfigList,
    plugin: &PluginConfig,
    runtime: &RuntimeConfig,
    previous: Option<&Value>,
) -> Value {
    let mut config: Map<String, Value> = plugin.config.clone();
    config.insert("name".to_owned(), json!(list.name));
    config.insert("cniVersion".to_owned(), json!(list.version));
    config.extend(runtime.mtu_for(plugin).map(|mtu| ("mtu".to_owned(), json!(mtu))));
    config.extend(
        runtime.capability_arguments(plugin).map(|runtime| ("runtimeConfig".to_owned(), runtime)),
    );
    config.extend(previous.map(|previous| ("prevResult".to_owned(), previous.clone())));
    Value::Object(config)
}
