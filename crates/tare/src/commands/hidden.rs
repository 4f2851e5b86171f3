//! What tare starts of itself: the agent in each container, the keeper of the lab, the way into a container.

use crate::cli::AgentArguments;
use crate::exit::Exit;

/// Runs traffic on orders from standard input until it is closed.
pub(crate) fn agent(arguments: &AgentArguments) -> anyhow::Result<Exit> {
    // Started by its descriptor, the process would be called "exe": people look for a running tare by its name.
    let _ = rustix::thread::set_name(c"tare");
    tare_traffic::agent(&arguments.namespaces)?;
    Ok(Exit::Done)
}

/// Lives until the tare that started it ends, and takes the lab's processes along.
pub(crate) fn keeper() -> anyhow::Result<Exit> {
    Ok(if tare_lab::keeper() == 0 { Exit::Done } else { Exit::Failed })
}

/// Forwards a port in userspace until it is killed.
pub(crate) fn proxy() -> anyhow::Result<Exit> {
    let _ = rustix::thread::set_name(c"tare");
    tare_lab::proxy(std::env::args_os().skip(2))?;
    Ok(Exit::Done)
}

/// Carries a device's frames in UDP until it is killed.
pub(crate) fn sleeve() -> anyhow::Result<Exit> {
    let _ = rustix::thread::set_name(c"tare");
    tare_lab::sleeve(std::env::args_os().skip(2))?;
    Ok(Exit::Done)
}

/// Computes beside the traffic until it is killed.
pub(crate) fn burn() -> anyhow::Result<Exit> {
    let _ = rustix::thread::set_name(c"tare");
    tare_lab::burn()
}

/// Says what a container sees of its network.
#[cfg(feature = "docker")]
pub(crate) fn look() -> anyhow::Result<Exit> {
    tare_docker::look(std::env::args().skip(2))?;
    Ok(Exit::Done)
}

/// Speaks to the tasks of a Swarm, from the container in which they come home.
#[cfg(feature = "docker")]
pub(crate) fn home() -> anyhow::Result<Exit> {
    let _ = rustix::thread::set_name(c"tare");
    Ok(Exit::Of(tare_docker::home(std::env::args().skip(2))?))
}

/// Comes home from a task of a Swarm, and starts there what it is told.
#[cfg(feature = "docker")]
pub(crate) fn away() -> anyhow::Result<Exit> {
    let _ = rustix::thread::set_name(c"tare");
    tare_docker::away(std::env::args().skip(2))?;
    Ok(Exit::Done)
}

/// Becomes another program, with a private hosts file.
///
/// The arguments are the lab's own spelling, `--` included, so they are taken as they came.
pub(crate) fn inside() -> anyhow::Result<Exit> {
    match tare_lab::inside(std::env::args_os().skip(2))? {}
}
