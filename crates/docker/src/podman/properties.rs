//! Properties of a Podman that its own API states: whether it is rootless, and the programs of its networks.

use crate::address::EngineAddress;
use crate::podman::libpod::{LibpodRefusal, LibpodRequest};
use crate::requirement::{EngineRequirement, UserModeStack};
use serde_json::Value;
use tare_network::UnmetRequirement;

/// Properties of a Podman.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodmanProperties {
    /// True if its containers belong to an ordinary user.
    pub(crate) rootless: bool,
    /// Program that makes its bridges: netavark or cni.
    pub(crate) backend: Option<String>,
    /// Version of slirp4netns, if it is installed.
    pub(crate) slirp4netns: Option<String>,
    /// Version of pasta, if it is installed and Podman knows it (4.4 and later).
    pub(crate) pasta: Option<String>,
}

impl PodmanProperties {
    /// Asks Podman. One that does not have this version of its own API has none of the properties.
    ///
    /// # Errors
    /// Podman does not answer: what its networks are is unknown then.
    pub(crate) async fn query(address: &EngineAddress) -> Result<Self, LibpodRefusal> {
        match LibpodRequest::get("/info").send(address).await {
            Ok(info) => Ok(Self::from_info(&info)),
            Err(LibpodRefusal::NotFound) => Ok(Self::default()),
            Err(refusal) => Err(refusal),
        }
    }

    /// Returns the programs of its networks, each with its version or, for the backend, its name.
    pub(crate) fn components(&self) -> impl Iterator<Item = (String, String)> {
        let all = [
            ("network backend", &self.backend),
            ("slirp4netns", &self.slirp4netns),
            ("pasta", &self.pasta),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)))
    }

    /// Returns what this Podman lacks of a requirement. Returns `None` if it is met, or no requirement on Podman.
    pub(crate) fn requirement(&self, want: &EngineRequirement) -> Option<UnmetRequirement> {
        match want {
            EngineRequirement::RootfulPodman => self.rootless.then(no_root),
            EngineRequirement::RootlessPodman => (!self.rootless).then(no_user),
            EngineRequirement::PodmanStack(stack) => {
                self.stack(*stack).is_none().then(|| no_stack(*stack))
            }
            _ => None,
        }
    }

    /// Returns the version of a stack. Returns `None` if Podman has no such network mode, or if the program is missing.
    fn stack(&self, stack: UserModeStack) -> Option<&str> {
        match stack {
            UserModeStack::Pasta => self.pasta.as_deref(),
            UserModeStack::Slirp4netns => self.slirp4netns.as_deref(),
        }
    }

    /// Reads the answer to `/libpod/info`.
    fn from_info(info: &Value) -> Self {
        let host = &info["host"];
        let first_line = |text: &Value| {
            let line = text.as_str()?.lines().next()?.trim();
            (!line.is_empty()).then(|| line.to_owned())
        };
        // Some versions of pasta are told by their package alone.
        let stack = |name: &str| {
            let stack = &host[name];
            first_line(&stack["executable"])?;
            first_line(&stack["version"])
                .or_else(|| first_line(&stack["package"]))
                .or(Some(String::new()))
        };
        Self {
            rootless: host["security"]["rootless"] == Value::Bool(true),
            backend: first_line(&host["networkBackend"]),
            slirp4netns: stack("slirp4netns"),
            pasta: stack("pasta"),
        }
    }
}

/// Describes what is missing without root's Podman.
fn no_root() -> UnmetRequirement {
    UnmetRequirement {
        reason: "a Podman without root has no access to the devices of the machine".to_owned(),
        remedy: "run tare as root, or set CONTAINER_HOST to the socket of root's Podman".to_owned(),
    }
}

/// Describes what is missing without an ordinary user's Podman.
fn no_user() -> UnmetRequirement {
    UnmetRequirement {
        reason: "Podman connects containers in this way only without root".to_owned(),
        remedy: "run tare as an ordinary user, or set CONTAINER_HOST to the user's socket"
            .to_owned(),
    }
}

/// Describes what is missing without a stack.
fn no_stack(stack: UserModeStack) -> UnmetRequirement {
    let (package, version) = match stack {
        UserModeStack::Pasta => ("passt", "4.4 or newer"),
        UserModeStack::Slirp4netns => ("slirp4netns", "before 6"),
    };
    let name = stack.name();
    UnmetRequirement {
        reason: format!("Podman knows no network mode {name}, or does not find the program {name}"),
        remedy: format!("install {package}, and Podman {version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stack_is_there_if_its_program_is() {
        let info = json!({"host": {
            "networkBackend": "netavark",
            "security": {"rootless": true},
            "slirp4netns": {"executable": "/usr/bin/slirp4netns", "version": "slirp4netns version 1.2.0\nx"},
            "pasta": {"executable": "", "version": ""},
        }});
        let told_by_package =
            json!({"executable": "/usr/bin/pasta", "version": "", "package": "passt_1"});
        let newer = PodmanProperties::from_info(&json!({"host": {"pasta": told_by_package}}));
        assert_eq!(newer.pasta.as_deref(), Some("passt_1"));
        let seen = PodmanProperties::from_info(&info);
        let expected = PodmanProperties {
            rootless: true,
            backend: Some("netavark".to_owned()),
            slirp4netns: Some("slirp4netns version 1.2.0".to_owned()),
            pasta: None,
        };
        assert_eq!(seen, expected);
        assert_eq!(PodmanProperties::from_info(&Value::Null), PodmanProperties::default());
        let stack = |stack| seen.requirement(&EngineRequirement::PodmanStack(stack));
        assert!(stack(UserModeStack::Pasta).unwrap().remedy.contains("passt"));
        assert_eq!(stack(UserModeStack::Slirp4netns), None);
        assert_eq!(seen.requirement(&EngineRequirement::RootlessPodman), None);
        let root = seen.requirement(&EngineRequirement::RootfulPodman).unwrap();
        assert!(root.remedy.contains("as root"), "{root:?}");
    }
}
