//! Roles that tare starts itself: the agent in each container, the init process of the lab, the exec into a container.

use crate::cli::{AgentArguments, InternalRole};
use crate::exit::CommandExit;
use crate::workloads::workload_registry;

/// Number of words before the arguments of a role: `tare internal ROLE`.
const ROLE_WORDS: usize = 3;

/// Runs a role.
pub(crate) fn run(role: &InternalRole) -> anyhow::Result<CommandExit> {
    match role {
        InternalRole::Agent(arguments) => run_agent(arguments),
        InternalRole::Init => run_init(),
        #[cfg(feature = "docker")]
        InternalRole::Pause => pause(),
        InternalRole::CpuLoad => run_cpu_load(),
        InternalRole::Exec(_) => exec_with_hosts(),
        InternalRole::Proxy(_) => run_proxy(),
        InternalRole::Publish(_) => publish_port(),
        InternalRole::EbpfRedirect(_) => attach_redirect(),
        InternalRole::WeaveSleeve(_) => run_weave_sleeve(),
        InternalRole::NetnsProbe(_) => run_netns_probe(),
        #[cfg(feature = "docker")]
        InternalRole::Tunnel(_) => run_tunnel_server(),
        #[cfg(feature = "docker")]
        InternalRole::TaskAgent(_) => run_task_agent(),
        #[cfg(feature = "kubernetes")]
        InternalRole::PodAgent => run_pod_agent(),
        #[cfg(feature = "kubernetes")]
        InternalRole::KubernetesReaper(_) => run_reaper(),
    }
}

/// Runs traffic as commanded on standard input until it is closed.
fn run_agent(arguments: &AgentArguments) -> anyhow::Result<CommandExit> {
    // Started through its file descriptor, the process would be called "exe", but users look for a running tare by its
    // name.
    let _ = rustix::thread::set_name(c"tare");
    tare_agent::run_agent(&arguments.namespaces, &workload_registry())?;
    Ok(CommandExit::Done)
}

/// Runs until the tare that started it ends, and ends the lab's processes with it.
fn run_init() -> anyhow::Result<CommandExit> {
    Ok(if tare_sandbox::run_init() == 0 { CommandExit::Done } else { CommandExit::Failed })
}

/// Waits for a signal that ends the container. The first process of a container is not ended by a signal that it does not
/// handle.
#[cfg(feature = "docker")]
fn pause() -> anyhow::Result<CommandExit> {
    crate::signals::wait_for_stop()?;
    Ok(CommandExit::Done)
}

/// Forwards a port in user space until it is killed.
fn run_proxy() -> anyhow::Result<CommandExit> {
    tare_lab::run_proxy(std::env::args_os().skip(ROLE_WORDS))?;
    Ok(CommandExit::Done)
}

/// Publishes a port by a request to slirp4netns.
fn publish_port() -> anyhow::Result<CommandExit> {
    tare_lab::request_port(std::env::args_os().skip(ROLE_WORDS))?;
    Ok(CommandExit::Done)
}

/// Attaches a program that redirects packets between veth pairs of this network namespace.
fn attach_redirect() -> anyhow::Result<CommandExit> {
    tare_lab::attach_redirect(std::env::args_os().skip(ROLE_WORDS))?;
    Ok(CommandExit::Done)
}

/// Carries a device's frames in UDP until it is killed.
fn run_weave_sleeve() -> anyhow::Result<CommandExit> {
    tare_lab::sleeve(std::env::args_os().skip(ROLE_WORDS))?;
    Ok(CommandExit::Done)
}

/// Generates CPU load beside the traffic until it is killed.
fn run_cpu_load() -> anyhow::Result<CommandExit> {
    let _ = rustix::thread::set_name(c"tare");
    tare_lab::burn_cpu()
}

/// Reports a container's view of its network.
fn run_netns_probe() -> anyhow::Result<CommandExit> {
    tare_netns_probe::run_netns_probe(std::env::args().skip(ROLE_WORDS))?;
    Ok(CommandExit::Done)
}

/// Serves the reverse tunnel of a Swarm's tasks, from the container to which they connect.
#[cfg(feature = "docker")]
fn run_tunnel_server() -> anyhow::Result<CommandExit> {
    let _ = rustix::thread::set_name(c"tare");
    Ok(CommandExit::ProgramCode(tare_swarm::run_tunnel(std::env::args().skip(ROLE_WORDS))?))
}

/// Connects a Swarm's task to the reverse tunnel, and starts programs in it as commanded.
#[cfg(feature = "docker")]
fn run_task_agent() -> anyhow::Result<CommandExit> {
    let _ = rustix::thread::set_name(c"tare");
    tare_swarm::run_task_agent(std::env::args().skip(ROLE_WORDS))?;
    Ok(CommandExit::Done)
}

/// Starts programs in a pod as commanded, until the run ends.
#[cfg(feature = "kubernetes")]
fn run_pod_agent() -> anyhow::Result<CommandExit> {
    let _ = rustix::thread::set_name(c"tare");
    tare_kubernetes::run_pod_agent()?;
    Ok(CommandExit::Done)
}

/// Waits for the end of a run, and removes what it has left in a cluster.
#[cfg(feature = "kubernetes")]
fn run_reaper() -> anyhow::Result<CommandExit> {
    let _ = rustix::thread::set_name(c"tare");
    tare_kubernetes::run_reaper(std::env::args_os().skip(ROLE_WORDS))?;
    Ok(CommandExit::Done)
}

/// Executes another program, with a private hosts file.
///
/// The arguments are written by the lab, `--` included, so they are taken verbatim.
fn exec_with_hosts() -> anyhow::Result<CommandExit> {
    match tare_sandbox::exec_with_hosts(std::env::args_os().skip(ROLE_WORDS))? {}
}
