//! `tare up`: a network to look around in, with a program (or a shell) in its first client.

use crate::catalogue::{self, Everything, everything_with};
use crate::cli::UpArguments;
use crate::commands::measure::{care, crowd, with_remedy};
use crate::commands::show;
use crate::docker::Docker;
use crate::exit::{Exit, usage};
use std::net::IpAddr;
use tare_lab::{EnterOptions, Lab};
use tare_network::{Command, Exit as Ended, Process, Shape, Site, Spelled, Stdio, Topology};
use tare_observe::headroom;

/// Raises the network, runs the program, and takes it down when the program ends.
pub(crate) fn run(arguments: &UpArguments) -> anyhow::Result<Exit> {
    let shape = show::one_shape(&arguments.shape)?;
    let modules = catalogue::modules(arguments.load_modules);
    let docker = Docker::of(&arguments.docker);
    let known = everything_with(None, modules, &docker);
    let (spelled, _) = show::find(&known.networks, &arguments.network)?;
    if let Some(missing) = known.missing(&spelled).map_err(usage)? {
        anyhow::bail!("{spelled} cannot run here: {}: {}", missing.reason, missing.remedy);
    }
    check_room(&known, &spelled, &shape, arguments)?;
    let lab =
        Lab::enter(EnterOptions { modules, ..EnterOptions::default() }).map_err(with_remedy)?;
    let everything = everything_with(Some(lab), modules, &docker);
    docker.finish_on_signal(&spelled)?;
    let (spelled, network) = show::find(&everything.networks, &arguments.network)?;
    let site = Site::of(&spelled, arguments.port.clone());
    let topology = network.raise(&shape, &site).map_err(with_remedy)?;
    let server = server_address(&topology)?;
    let mut serving =
        arguments.serve.as_deref().map(|line| serve(&topology, line, server)).transpose()?;
    let ended = run_in_client(&topology, &arguments.program, server)?;
    if let Some(serving) = &mut serving {
        serving.kill();
    }
    drop(serving);
    drop(topology);
    docker.finish().map_err(with_remedy)?;
    Ok(match ended {
        Ended::Code(code) => Exit::Of(u8::try_from(code).unwrap_or(1)),
        // As a shell reports a signal.
        Ended::Signal(signal) => Exit::Of(u8::try_from(128 + signal).unwrap_or(1)),
    })
}

/// Refuses what the network, or this machine, has no room for.
fn check_room(
    known: &Everything,
    spelled: &Spelled,
    shape: &Shape,
    arguments: &UpArguments,
) -> anyhow::Result<()> {
    let site = Site::of(spelled, arguments.port.clone());
    known.networks.find(spelled).map_err(usage)?.has_room(shape, &site).map_err(with_remedy)?;
    headroom::lift_open_files();
    let narrow = headroom::check(&crowd(std::slice::from_ref(shape)), care(arguments.force))?;
    narrow.iter().for_each(|finding| crate::out::say(&format!("tare: warning: {finding}")));
    Ok(())
}

/// The address that the first client dials.
fn server_address(topology: &Topology) -> anyhow::Result<IpAddr> {
    topology
        .routes_of(0)
        .next()
        .map(|route| route.dial.ip())
        .ok_or_else(|| usage(anyhow::anyhow!("--port: at least one is needed")))
}

/// Runs a shell command in the first server.
fn serve(topology: &Topology, line: &str, server: IpAddr) -> anyhow::Result<Box<dyn Process>> {
    let command = Command {
        program: Some("/bin/sh".into()),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        environment: environment(server),
        hosts: hosts(server),
        stdio: Stdio::Inherit,
    };
    let container =
        topology.servers.first().ok_or_else(|| anyhow::anyhow!("the network has no server"))?;
    container.spawn(&command).map_err(with_remedy)
}

/// Runs the program in the first client, and waits for its end.
fn run_in_client(topology: &Topology, program: &[String], server: IpAddr) -> anyhow::Result<Ended> {
    let shell = || std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
    let mut words = program.iter().map(|word| word.replace("{server}", &server.to_string()));
    let command = Command {
        program: Some(words.next().unwrap_or_else(shell).into()),
        arguments: words.collect(),
        environment: environment(server),
        hosts: hosts(server),
        stdio: Stdio::Inherit,
    };
    let container =
        topology.clients.first().ok_or_else(|| anyhow::anyhow!("the network has no client"))?;
    let mut process = container.spawn(&command).map_err(with_remedy)?;
    process.wait().map_err(with_remedy)
}

fn environment(server: IpAddr) -> Vec<(String, String)> {
    vec![("TARE_SERVER".to_owned(), server.to_string())]
}

fn hosts(server: IpAddr) -> Vec<(String, IpAddr)> {
    vec![("server".to_owned(), server)]
}
