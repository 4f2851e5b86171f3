//! A network's configuration: what is in its file, and where its plugins are.

use serde_json::{Map, Value};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use tare_network::{Error, Missing};

/// The versions of the specification whose results are read here.
const VERSIONS: [&str; 5] = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

/// Where plugins are, unless CNI_PATH says it: as Debian has them, and as everybody else.
const DIRECTORIES: &str = "/usr/lib/cni:/opt/cni/bin";

/// A network's configuration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List {
    /// The network's name.
    pub(crate) name: String,
    /// The version of the specification.
    pub(crate) version: String,
    /// The plugins, in the order in which they attach.
    pub(crate) plugins: Vec<Plugin>,
}

/// One plugin's part of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plugin {
    /// The program's name.
    pub(crate) kind: String,
    /// The address manager's, where it has one.
    pub(crate) manager: Option<String>,
    /// Its configuration, as it was written.
    pub(crate) config: Map<String, Value>,
}

impl List {
    /// Reads a configuration (`.conf`) or a list of them (`.conflist`).
    pub(crate) fn read(file: &Path) -> Result<Self, Error> {
        let what = || format!("read the CNI configuration {}", file.display());
        let text = fs::read_to_string(file).map_err(|error| {
            Error::new(what(), error)
                .with_remedy("name a file, as in cni:/etc/cni/net.d/10-x.conflist")
        })?;
        Self::parse(&text).map_err(|why| Error::new(what(), why))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Value::Object(whole) = value else {
            return Err("it is no JSON object".to_owned());
        };
        let field = |key: &str| {
            let text = whole.get(key).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("it has no `{key}`"))
        };
        let version = field("cniVersion")?;
        if !VERSIONS.contains(&version.as_str()) {
            let known = VERSIONS.join(", ");
            return Err(format!("its cniVersion is {version}; those known here are {known}"));
        }
        let name = field("name")?;
        let plugins = match whole.get("plugins") {
            None => vec![Plugin::of(whole)?],
            Some(Value::Array(plugins)) => plugins
                .iter()
                .map(|one| match one {
                    Value::Object(config) => Plugin::of(config.clone()),
                    _ => Err("one of its plugins is no JSON object".to_owned()),
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err("its `plugins` is no list".to_owned()),
        };
        if plugins.is_empty() {
            return Err("it has no plugins".to_owned());
        }
        Ok(Self { name, version, plugins })
    }

    /// Whether a plugin says that it can do this.
    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        self.plugins.iter().any(|plugin| plugin.has_capability(capability))
    }

    /// The programs that it takes, each once.
    pub(crate) fn programs(&self) -> Vec<&str> {
        let mut programs = Vec::new();
        for plugin in &self.plugins {
            for name in std::iter::once(&plugin.kind).chain(&plugin.manager) {
                if !programs.contains(&name.as_str()) {
                    programs.push(name);
                }
            }
        }
        programs
    }

    /// The first of its programs that is not there.
    pub(crate) fn missing(&self) -> Option<Missing> {
        let missing = |name: &&str| find(name).is_none();
        self.programs().into_iter().find(missing).map(|name| Missing {
            reason: format!("the CNI plugin {name} is not in {}", plugins_path()),
            remedy: "sudo apt-get install containernetworking-plugins, or set CNI_PATH".to_owned(),
        })
    }
}

impl Plugin {
    fn of(config: Map<String, Value>) -> Result<Self, String> {
        let program = |config: &Map<String, Value>| {
            config.get("type").and_then(Value::as_str).map(str::to_owned)
        };
        let kind = program(&config).ok_or("one of its plugins has no `type`")?;
        let manager = config.get("ipam").and_then(Value::as_object).and_then(program);
        // A type is the name of a program in a directory of plugins, never a path out of it.
        if let Some(bad) = [Some(&kind), manager.as_ref()]
            .into_iter()
            .flatten()
            .find(|name| name.is_empty() || name.contains('/'))
        {
            return Err(format!("`{bad}` is no plugin's name"));
        }
        Ok(Self { kind, manager, config })
    }

    /// Whether it says that it can do this.
    pub(super) fn has_capability(&self, capability: &str) -> bool {
        let said = self.config.get("capabilities").and_then(|all| all.get(capability));
        said.and_then(Value::as_bool).unwrap_or(false)
    }
}

/// Where plugins are looked for, in the spelling of CNI_PATH.
pub(crate) fn plugins_path() -> String {
    env::var("CNI_PATH").ok().filter(|path| !path.is_empty()).unwrap_or(DIRECTORIES.to_owned())
}

/// Where a plugin is.
pub(super) fn find(name: &str) -> Option<PathBuf> {
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
        let list = List::parse(text).unwrap();
        assert_eq!((list.name.as_str(), list.version.as_str()), ("n", "0.4.0"));
        assert_eq!(list.programs(), ["bridge", "host-local"]);
        assert_eq!(list.plugins[0].config["bridge"], "cni0");
        assert!(!list.has_capability("portMappings"));
    }

    #[test]
    fn a_list_keeps_its_order_and_says_what_it_can() {
        let text = r#"{"cniVersion": "1.0.0", "name": "n", "plugins": [
            {"type": "ptp"}, {"type": "portmap", "capabilities": {"portMappings": true}}]}"#;
        let list = List::parse(text).unwrap();
        assert_eq!(list.programs(), ["ptp", "portmap"]);
        assert!(list.has_capability("portMappings"));
        assert!(!list.plugins[0].has_capability("portMappings"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("", "EOF"),
            ("[]", "no JSON object"),
            (r#"{"name": "n", "type": "x"}"#, "no `cniVersion`"),
            (r#"{"cniVersion": "0.2.0", "name": "n", "type": "x"}"#, "cniVersion is 0.2.0"),
            (r#"{"cniVersion": "1.0.0", "type": "x"}"#, "no `name`"),
            (r#"{"cniVersion": "1.0.0", "name": "n"}"#, "no `type`"),
            (
                r#"{"cniVersion": "1.0.0", "name": "n", "type": "../sh"}"#,
                "`../sh` is no plugin's name",
            ),
            (r#"{"cniVersion": "1.0.0", "name": "n", "plugins": []}"#, "no plugins"),
            (r#"{"cniVersion": "1.0.0", "name": "n", "plugins": 3}"#, "no list"),
        ] {
            let why = List::parse(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in r#"([{}\[\]:,]|"(cniVersion|name|type|plugins|1.0.0|ipam)"|[0-9]){0,20}"#) {
            let _ = List::parse(&text);
        }
    }
}
