//! Description of a container in a pod, as Podman's own API takes it: Docker's has no pods.
//!
//! Source: `SpecGenerator` in containers/podman, pkg/specgen/specgen.go.

use bollard::models::{ContainerCreateBody, HostConfig, Mount, MountType};
use rustix::process::Signal;
use serde_json::{Map, Value, json};

/// Converts the description of a container to that of one in a pod, which has its network from the pod. Options that
/// tare's containers never have are left out.
///
/// # Errors
/// A security option has no counterpart. The error names it.
pub(crate) fn in_pod(body: ContainerCreateBody, name: &str, pod: &str) -> Result<Value, String> {
    let host = body.host_config.unwrap_or_default();
    let (volumes, mounts): (Vec<&Mount>, Vec<&Mount>) =
        host.mounts.iter().flatten().partition(|mount| mount.typ == Some(MountType::VOLUME));
    let mut request = json!({
        "name": name,
        "pod": pod,
        "image": body.image,
        "entrypoint": body.entrypoint,
        "command": body.cmd,
        "env": variables(&body.env.unwrap_or_default()),
        "stdin": body.open_stdin,
        // This API takes numbers.
        "stop_signal": Signal::KILL.as_raw(),
        "labels": body.labels,
        "remove": host.auto_remove,
        "cap_drop": host.cap_drop,
        "cap_add": host.cap_add,
        "mounts": mounts.into_iter().map(mount).collect::<Vec<_>>(),
        "volumes": volumes.into_iter().map(|one| json!({"Dest": one.target})).collect::<Vec<_>>(),
        "resource_limits": limits(&host),
    });
    for option in host.security_opt.iter().flatten() {
        let (field, value) = security(option)
            .ok_or_else(|| format!("a container in a pod takes no security option `{option}`"))?;
        request[field] = value;
    }
    Ok(request)
}

/// Returns variables, each `NAME=value`, by name.
fn variables(all: &[String]) -> Map<String, Value> {
    let pairs = all.iter().filter_map(|one| one.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn mount(one: &Mount) -> Value {
    let read_only = one.read_only == Some(true);
    match one.typ {
        Some(MountType::TMPFS) => json!({"type": "tmpfs", "destination": one.target}),
        _ => json!({
            "type": "bind",
            "source": one.source,
            "destination": one.target,
            "options": if read_only { ["rbind", "ro"] } else { ["rbind", "rw"] },
        }),
    }
}

fn limits(host: &HostConfig) -> Value {
    let mut limits = json!({});
    if let Some(pids) = host.pids_limit {
        limits["pids"] = json!({"limit": pids});
    }
    if let Some(memory) = host.memory {
        limits["memory"] = json!({"limit": memory});
    }
    limits
}

/// Returns the field of a security option, and its value. Returns `None` for an option without a counterpart.
fn security(option: &str) -> Option<(&'static str, Value)> {
    match option {
        "no-new-privileges" | "no-new-privileges=true" => Some(("no_new_privileges", true.into())),
        "no-new-privileges=false" => Some(("no_new_privileges", false.into())),
        _ => {
            let (name, value) = option.split_once('=')?;
            let field = match name {
                "seccomp" => "seccomp_profile_path",
                "apparmor" => "apparmor_profile",
                _ => return None,
            };
            Some((field, value.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_keeps_its_confinement_in_a_pod() {
        let words = |all: &[&str]| Some(all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        let bind = Mount {
            typ: Some(MountType::BIND),
            source: Some("/usr".to_owned()),
            target: Some("/usr".to_owned()),
            read_only: Some(true),
            ..Mount::default()
        };
        let volume = Mount {
            typ: Some(MountType::VOLUME),
            target: Some("/var/lib/tare".to_owned()),
            ..Mount::default()
        };
        let body = |security: &[&str]| ContainerCreateBody {
            cmd: words(&["internal", "init"]),
            env: words(&["PATH=/usr/bin"]),
            host_config: Some(HostConfig {
                cap_drop: words(&["ALL"]),
                pids_limit: Some(7),
                mounts: Some(vec![bind.clone(), volume.clone()]),
                security_opt: words(security),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let options = ["no-new-privileges", "seccomp=unconfined"];
        let request = in_pod(body(&options), "client-0", "pod").unwrap();
        assert_eq!(request["command"], json!(["internal", "init"]));
        assert_eq!(request["stop_signal"], 9);
        assert_eq!(request["env"], json!({"PATH": "/usr/bin"}));
        assert_eq!(request["cap_drop"], json!(["ALL"]));
        assert_eq!(request["no_new_privileges"], json!(true));
        assert_eq!(request["seccomp_profile_path"], json!("unconfined"));
        assert_eq!(request["resource_limits"], json!({"pids": {"limit": 7}}));
        assert_eq!(request["mounts"][0]["options"], json!(["rbind", "ro"]));
        assert_eq!(request["volumes"], json!([{"Dest": "/var/lib/tare"}]));
        let refused = in_pod(body(&["label=disable"]), "client-0", "pod").unwrap_err();
        assert!(refused.contains("`label=disable`"), "{refused}");
    }
}
