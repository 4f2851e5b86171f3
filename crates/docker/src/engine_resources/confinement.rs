//! Confinement of containers: agents need next to nothing of what Docker gives by default, and tools little of it.

use bollard::models::{HostConfig, SystemInfo};

/// Capabilities of containers with foreign tools: of those that Docker gives by default, the ones that servers need to
/// change their user, and clients to send what they measure.
const TOOL_CAPABILITIES: [&str; 9] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETGID",
    "SETUID",
];

/// Most processes and threads of a container.
const MOST_PROCESSES: i64 = 16_384;

/// Option of `--security-opt` by which programs gain no privileges.
const NO_NEW_PRIVILEGES: &str = "no-new-privileges";

/// Programs that the containers of a run hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContainerPrograms {
    /// tare alone.
    OwnOnly,
    /// Programs of the host, or of an image that the user chose.
    Foreign,
}

/// Limits of each container, as far as the engine can set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContainerLimits {
    pids: Option<i64>,
    /// Memory, bytes.
    memory: Option<i64>,
}

impl From<&SystemInfo> for ContainerLimits {
    /// Returns the limits on an engine: nine tenths of its machine's memory, so that the rest of it goes on.
    fn from(info: &SystemInfo) -> Self {
        let memory = info.mem_total.filter(|_| info.memory_limit == Some(true));
        Self {
            pids: (info.pids_limit == Some(true)).then_some(MOST_PROCESSES),
            memory: memory.map(|bytes| bytes / 10 * 9),
        }
    }
}

/// Adds the confinement to a container's configuration. Options of the user take precedence.
pub(crate) fn confine(
    config: HostConfig,
    programs: ContainerPrograms,
    limits: ContainerLimits,
) -> HostConfig {
    let mut security = config.security_opt.unwrap_or_default();
    if !security.iter().any(|option| option.starts_with(NO_NEW_PRIVILEGES)) {
        security.push(NO_NEW_PRIVILEGES.to_owned());
    }
    let capabilities = match programs {
        ContainerPrograms::OwnOnly => Vec::new(),
        ContainerPrograms::Foreign => TOOL_CAPABILITIES.map(str::to_owned).to_vec(),
    };
    HostConfig {
        security_opt: Some(security),
        cap_drop: Some(vec!["ALL".to_owned()]),
        cap_add: (!capabilities.is_empty()).then_some(capabilities),
        pids_limit: limits.pids,
        memory: limits.memory,
        ..config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_asks_for_takes_precedence_and_all_else_is_given_up() {
        let limits = ContainerLimits { pids: Some(7), memory: None };
        let own = confine(HostConfig::default(), ContainerPrograms::OwnOnly, limits);
        assert_eq!(own.security_opt, Some(vec!["no-new-privileges".to_owned()]));
        assert_eq!((own.cap_add, own.pids_limit), (None, Some(7)));
        assert_eq!(own.cap_drop, Some(vec!["ALL".to_owned()]));
        let asked = vec!["no-new-privileges=false".to_owned(), "seccomp=unconfined".to_owned()];
        let config = HostConfig { security_opt: Some(asked.clone()), ..HostConfig::default() };
        let user = confine(config, ContainerPrograms::Foreign, limits);
        assert_eq!(user.security_opt, Some(asked));
        assert!(user.cap_add.unwrap().contains(&"SETUID".to_owned()));
    }

    #[test]
    fn an_engine_that_cannot_limit_is_asked_for_no_limit() {
        let info = |can: bool| SystemInfo {
            mem_total: Some(1_000),
            memory_limit: Some(can),
            pids_limit: Some(can),
            ..SystemInfo::default()
        };
        assert_eq!(ContainerLimits::from(&info(false)), ContainerLimits::default());
        let limits = ContainerLimits { pids: Some(MOST_PROCESSES), memory: Some(900) };
        assert_eq!(ContainerLimits::from(&info(true)), limits);
    }
}
