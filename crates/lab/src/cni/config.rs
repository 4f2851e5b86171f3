//! Network configuration of CNI: its file, and the search path of its plugins.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::{env, fs};
use tare_network::{Error, UnmetRequirement};

/// Versions of the CNI specification that are supported.
const SUPPORTED_VERSIONS: [&str; 5] = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

/// Search path of plugins if CNI_PATH is not set: Debian's directory, then the usual one.
const DEFAULT_PLUGIN_PATH: &str = "/usr/lib/cni:/opt/cni/bin";

/// Network configuration list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NetworkConfigList {
    /// Name of the network.
    pub(crate) name: String,
    /// Version of the CNI specification that the configuration is written for.
    pub(crate) version: String,
    /// Plugins, in the order in which they attach a container.
    pub(crate) plugins: Vec<PluginConfig>,
}

/// Configuration of one plugin in a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PluginConfig {
    /// Name of the plugin's program (`type`).
    pub(crate) program: String,
    /// Name of its IPAM plugin's program (`ipam.type`), if it has one.
    pub(crate) ipam_program: Option<String>,
    /// Whole configuration, as written in the file.
    pub(crate) config: Map<String, Value>,
}

impl NetworkConfigList {
    /// Reads a configuration (`.conf`) or a list of them (`.conflist`).
    ///
    /// Fails if the file cannot be read, or if it is no valid configuration of a supported version.
    pub(crate) fn read(file: &Path) -> Result<Self, Error> {
        let what = || format!("read the CNI configuration {}", file.display());
        let text = fs::read_to_string(file).map_err(|error| {
            Error::new(what(), error)
                .with_remedy("name a file, for example cni:/etc/cni/net.d/10-x.conflist")
        })?;
        Self::parse(&text).map_err(|why| Error::new(what(), why))
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Value::Object(whole) = value else {
            return Err("the configuration is not a JSON object".to_owned());
        };
        let field = |key: &str| {
            let text = whole.get(key).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("the configuration has no `{key}`"))
        };
        let version = field("cniVersion")?;
        if !SUPPORTED_VERSIONS.contains(&version.as_str()) {
            let known = SUPPORTED_VERSIONS.join(", ");
            return Err(format!("unsupported cniVersion `{version}`: expected one of {known}"));
        }
        let name = field("name")?;
        let plugins = match whole.get("plugins") {
            None => vec![PluginConfig::from_config(whole)?],
            Some(Value::Array(plugins)) => plugins
                .iter()
                .map(|one| match one {
                    Value::Object(config) => PluginConfig::from_config(config.clone()),
                    _ => Err("an element of `plugins` is not a JSON object".to_owned()),
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err("`plugins` is not a list".to_owned()),
        };
        if plugins.is_empty() {
            return Err("the list `plugins` is empty".to_owned());
        }
        Ok(Self { name, version, plugins })
    }

    /// Returns true if any plugin of the list declares the capability.
    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        self.plugins.iter().any(|plugin| plugin.has_capability(capability))
    }

    /// Returns the names of all programs that the list needs, each once.
    pub(crate) fn programs(&self) -> Vec<&str> {
        let mut programs = Vec::new();
        for plugin in &self.plugins {
            for name in std::iter::once(&plugin.program).chain(&plugin.ipam_program) {
                if !programs.contains(&name.as_str()) {
                    programs.push(name);
                }
            }
        }
        programs
    }

    /// Returns the first program of the list that is not installed. Returns `None` if all are.
    pub(crate) fn missing(&self) -> Option<UnmetRequirement> {
        let missing = |name: &&str| find_plugin(name).is_none();
        self.programs().into_iter().find(missing).map(|name| UnmetRequirement {
            reason: format!("the CNI plugin {name} is not in {}", plugins_path()),
            remedy: "sudo apt-get install containernetworking-plugins, or set CNI_PATH".to_owned(),
        })
    }
}

impl PluginConfig {
    fn from_config(config: Map<String, Value>) -> Result<Self, String> {
        let program = |config: &Map<String, Value>| {
            config.get("type").and_then(Value::as_str).map(str::to_owned)
        };
        let kind = program(&config).ok_or("a plugin has no `type`")?;
        let manager = config.get("ipam").and_then(Value::as_object).and_then(program);
        // A type names a program in a directory of plugins; a path may not lead out of it.
        if let Some(bad) = [Some(&kind), manager.as_ref()]
            .into_iter()
            .flatten()
            .find(|name| name.is_empty() || name.contains('/'))
        {
            return Err(format!(
                "invalid plugin name `{bad}`: expected a file name without a path"
            ));
        }
        Ok(Self { program: kind, ipam_program: manager, config })
    }

    /// Returns true if the plugin declares the capability.
    pub(super) fn has_capability(&self, capability: &str) -> bool {
        let said = self.config.get("capabilities").and_then(|all| all.get(capability));
        said.and_then(Value::as_bool).unwrap_or(false)
    }
}

/// Returns the search path of plugins, in the syntax of CNI_PATH: directories separated by colons.
pub(crate) fn plugins_path() -> String {
    env::var("CNI_PATH")
        .ok()
        .filter(|path| !path.is_empty())
        .unwrap_or(DEFAULT_PLUGIN_PATH.to_owned())
}

/// Returns the path of a plugin's program. Returns `None` if it is in no directory of the search path.
pub(crate) fn find_plugin(name: &str) -> Option<PathBuf> {
    let path = plugins_path();
    env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_plugin_is_a_list_of_one() {
        let text = r#"{"cniVersion": "0.4.0", "name": "n", "type": "bridge", "bridge": "cni0",
            "ipam": {"type": "host-local", "subnet": "10.22.0.0/16"}}"#;
        let list = NetworkConfigList::parse(text).unwrap();
        assert_eq!((list.name.as_str(), list.version.as_str()), ("n", "0.4.0"));
        assert_eq!(list.programs(), ["bridge", "host-local"]);
        assert_eq!(list.plugins[0].config["bridge"], "cni0");
        assert!(!list.has_capability("portMappings"));
    }

    #[test]
    fn a_list_keeps_its_order_and_says_what_it_can() {
        let text = r#"{"cniVersion": "1.0.0", "name": "n", "plugins": [
            {"type": "ptp"}, {"type": "portmap", "capabilities": {"portMappings": true}}]}"#;
        let list = NetworkConfigList::parse(text).unwrap();
        assert_eq!(list.programs(), ["ptp", "portmap"]);
        assert!(list.has_capability("portMappings"));
        assert!(!list.plugins[0].has_capability("portMappings"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("", "EOF"),
            ("[]", "the configuration is not a JSON object"),
            (r#"{"name": "n", "type": "x"}"#, "no `cniVersion`"),
            (
                r#"{"cniVersion": "0.2.0", "name": "n", "type": "x"}"#,
                "unsupported cniVersion `0.2.0`",
            ),
            (r#"{"cniVersion": "1.0.0", "type": "x"}"#, "no `name`"),
            (r#"{"cniVersion": "1.0.0", "name": "n"}"#, "no `type`"),
            (
                r#"{"cniVersion": "1.0.0", "name": "n", "type": "../sh"}"#,
                "invalid plugin name `../sh`",
            ),
            (r#"{"cniVersion": "1.0.0", "name": "n", "plugins": []}"#, "`plugins` is empty"),
            (r#"{"cniVersion": "1.0.0", "name": "n", "plugins": 3}"#, "`plugins` is not a list"),
        ] {
            let why = NetworkConfigList::parse(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in r#"([{}\[\]:,]|"(cniVersion|name|type|plugins|1.0.0|ipam)"|[0-9]){0,20}"#) {
            let _ = NetworkConfigList::parse(&text);
        }
    }
}
