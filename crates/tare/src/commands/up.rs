//! `tare up`: sets up a network for inspection, with a program (or a shell) in its first client.

use crate::catalogue::{self, BuildCatalogue, build_catalogue_with};
use crate::cli::{ShapeArguments, UpArguments};
use crate::commands::measure::{limit_policy, with_remedy};
use crate::commands::resource_demand::network_demand;
use crate::commands::show;
use crate::exit::{CommandExit, usage_error};
use crate::places::Places;
use std::net::IpAddr;
use tare_network::{
    Command, NetworkParameters, NetworkSpec, Process, ProcessExit as Ended, Shape, Stdio, Topology,
};
use tare_observe::headroom;
use tare_sandbox::{EnterOptions, Sandbox};

/// Sets up the network, runs the program, and removes the network when the program ends.
pub(crate) fn run(arguments: &UpArguments) -> anyhow::Result<CommandExit> {
    let shape = show::one_shape(&arguments.shape)?;
    let modules = catalogue::module_policy(arguments.load_modules);
    let places = Places::from_arguments(&arguments.docker, &arguments.cluster);
    let known = build_catalogue_with(None, modules, &places);
    let (spelled, _) = show::find_network(&known.networks, &arguments.network)?;
    refuse_ignored_flags(&arguments.shape, &spelled)?;
    if let Some(missing) = known.missing(&spelled).map_err(usage_error)? {
        anyhow::bail!("cannot set up {spelled} here: {}: {}", missing.reason, missing.remedy);
    }
    check_room(&known, &spelled, &shape, arguments)?;
    places.prepare_network(&spelled).map_err(with_remedy)?;
    let sandbox =
        Sandbox::enter(EnterOptions { modules, ..EnterOptions::default() }).map_err(with_remedy)?;
    let everything = build_catalogue_with(Some(sandbox), modules, &places);
    places.docker.finish_on_signal(&spelled)?;
    let (spelled, network) = show::find_network(&everything.networks, &arguments.network)?;
    let site = NetworkParameters::from_spec(&spelled, arguments.port.clone());
    let topology = network.set_up(&shape, &site).map_err(with_remedy)?;
    let server = server_address(&topology)?;
    let mut serving =
        arguments.serve.as_deref().map(|line| serve(&topology, line, server)).transpose()?;
    let ended = run_in_client(&topology, &arguments.program, server)?;
    if let Some(serving) = &mut serving {
        serving.kill();
    }
    drop(serving);
    drop(topology);
    places.finish().map_err(with_remedy)?;
    Ok(match ended {
        Ended::Code(code) => CommandExit::ProgramCode(u8::try_from(code).unwrap_or(1)),
        // A signal gives 128 plus its number, as in a shell.
        Ended::Signal(signal) => CommandExit::ProgramCode(u8::try_from(128 + signal).unwrap_or(1)),
        Ended::WithSandbox => CommandExit::ProgramCode(128 + 9),
    })
}

/// Refuses flags that the network ignores. Only networks that the lab itself builds start a background load and limit
/// their programs to cores; the names of all others have a prefix such as `docker:` or `exec:`.
fn refuse_ignored_flags(arguments: &ShapeArguments, spelled: &NetworkSpec) -> anyhow::Result<()> {
    match show::load_flag(arguments) {
        Some(flag) if spelled.name.contains(':') => Err(usage_error(anyhow::anyhow!(
            "cannot set up {spelled} with {flag}: only networks of the lab support the flag: remove it"
        ))),
        _ => Ok(()),
    }
}

/// Checks that the network and this machine have enough room.
fn check_room(
    known: &BuildCatalogue,
    spelled: &NetworkSpec,
    shape: &Shape,
    arguments: &UpArguments,
) -> anyhow::Result<()> {
    let site = NetworkParameters::from_spec(spelled, arguments.port.clone());
    known
        .networks
        .find(spelled)
        .map_err(usage_error)?
        .check_capacity(shape, &site)
        .map_err(with_remedy)?;
    headroom::raise_open_files_limit();
    let narrow = headroom::check(&network_demand(spelled, shape), limit_policy(arguments.force))?;
    narrow
        .iter()
        .for_each(|finding| crate::output::print_status(&format!("tare: warning: {finding}")));
    Ok(())
}

/// Returns the server address for the first client.
fn server_address(topology: &Topology) -> anyhow::Result<IpAddr> {
    topology
        .client_routes(0)
        .next()
        .map(|route| route.dial.ip())
        .ok_or_else(|| usage_error(anyhow::anyhow!("--port: expected at least one port")))
}

/// Runs a shell command in the first server.
fn serve(topology: &Topology, line: &str, server: IpAddr) -> anyhow::Result<Box<dyn Process>> {
    let command = Command {
        program: Some("/bin/sh".into()),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        environment: environment(server),
        withheld: Vec::new(),
        hosts: hosts(server),
        stdio: Stdio::Inherit,
    };
    let container = topology.servers.first().ok_or_else(|| {
        anyhow::anyhow!("cannot run the command of --serve: the network has no server")
    })?;
    container.spawn(&command).map_err(with_remedy)
}

/// Runs the program in the first client, and waits until it ends.
fn run_in_client(topology: &Topology, program: &[String], server: IpAddr) -> anyhow::Result<Ended> {
    let shell = || std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
    let mut words = program.iter().map(|word| word.replace("{server}", &server.to_string()));
    let command = Command {
        program: Some(words.next().unwrap_or_else(shell).into()),
        arguments: words.collect(),
        environment: environment(server),
        withheld: Vec::new(),
        hosts: hosts(server),
        stdio: Stdio::Inherit,
    };
    let container = topology
        .clients
        .first()
        .ok_or_else(|| anyhow::anyhow!("cannot run the program: the network has no client"))?;
    let mut process = container.spawn(&command).map_err(with_remedy)?;
    process.wait().map_err(with_remedy)
}

fn environment(server: IpAddr) -> Vec<(String, String)> {
    vec![("TARE_SERVER".to_owned(), server.to_string())]
}

fn hosts(server: IpAddr) -> Vec<(String, IpAddr)> {
    vec![("server".to_owned(), server)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Subcommand};
    use clap::Parser as _;

    fn refusal(network: &str, flags: &[&str]) -> Option<String> {
        let words = ["tare", "up", network].into_iter().chain(flags.iter().copied());
        let Subcommand::Up(arguments) = Cli::try_parse_from(words).unwrap().command else {
            panic!("not `tare up`")
        };
        let spelled = network.parse().unwrap();
        refuse_ignored_flags(&arguments.shape, &spelled).err().map(|error| format!("{error:#}"))
    }

    #[test]
    fn flags_that_the_network_ignores_are_refused() {
        for flags in [["--background", "cpu=1"], ["--cores", "1"]] {
            assert_eq!(refusal("bridge", &flags), None);
            for network in ["docker:bridge", "swarm:overlay", "exec:./x.py", "cni:x.conf"] {
                let error = refusal(network, &flags).unwrap();
                let start = format!("cannot set up {network} with {}", flags[0]);
                assert!(error.starts_with(&start), "{error}");
            }
        }
        assert_eq!(refusal("docker:bridge", &["--clients", "2"]), None);
    }
}
