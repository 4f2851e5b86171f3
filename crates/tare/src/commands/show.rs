//! `tare show`: prints how the containers are connected, as commands that a reader can type.

use crate::catalogue::build_catalogue;
use crate::cli::{ShapeArguments, ShowArguments};
use crate::commands::report;
use crate::commands::run::check_core_count;
use crate::exit::{CommandExit, usage_error};
use std::path::Path;
use tare_network::{
    Background, Family, MtuSource, Network, NetworkParameters, NetworkRegistry, NetworkSpec,
    NodeLink, Placement, Shape,
};
use tare_sandbox::ModuleLoading;

/// Prints the commands.
pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<CommandExit> {
    let archive = Path::new(&arguments.network);
    if archive.is_file() {
        return report::show(archive);
    }
    let everything = build_catalogue(None, ModuleLoading::Never);
    let (spelled, network) = find_network(&everything.networks, &arguments.network)?;
    refuse_load_flags(&arguments.shape)?;
    let mut shape = one_shape(&arguments.shape)?;
    if arguments.shape.nodes.is_empty() {
        // A network between nodes has at least two.
        shape.nodes = *network.nodes().start();
    }
    let site = NetworkParameters::from_spec(&spelled, arguments.port.clone());
    let about = network.info();
    let mut text = format!("# {spelled}: {}\n# stands for {}\n", about.summary, about.stands_for);
    text.push_str(&network.commands(&shape, &site).join("\n"));
    text.push('\n');
    crate::output::print(&text)?;
    Ok(CommandExit::Done)
}

/// Parses the spelling of a network and finds the network.
pub(crate) fn find_network<'a>(
    networks: &'a NetworkRegistry,
    text: &str,
) -> anyhow::Result<(NetworkSpec, &'a dyn Network)> {
    let spelled: NetworkSpec =
        text.parse().map_err(|error: tare_network::NetworkSpecError| usage_error(error))?;
    let network = networks.find(&spelled).map_err(usage_error)?;
    Ok((spelled, network))
}

/// Refuses flags that change the load on a network or the cores of its programs, but none of its commands.
fn refuse_load_flags(arguments: &ShapeArguments) -> anyhow::Result<()> {
    match load_flag(arguments) {
        Some(flag) => Err(usage_error(anyhow::anyhow!(
            "cannot show a network with {flag}: the flag changes none of the commands: remove it, or use `tare up`"
        ))),
        None => Ok(()),
    }
}

/// Returns the name of a given flag that changes the load on a network or the cores of its programs.
pub(crate) fn load_flag(arguments: &ShapeArguments) -> Option<&'static str> {
    let flags = [
        ("--background", arguments.background.is_empty()),
        ("--cores", arguments.cores.is_empty()),
    ];
    flags.into_iter().find_map(|(flag, absent)| (!absent).then_some(flag))
}

/// Returns the single shape that the flags name. Several values of a flag are an error.
pub(crate) fn one_shape(arguments: &ShapeArguments) -> anyhow::Result<Shape> {
    let count = |flag, list: &[u32]| single_number(flag, list, 1, 1);
    let nodes = count("nodes", &arguments.nodes)?;
    let mtu_by =
        if nodes > 1 && !arguments.mtu.is_empty() { MtuSource::User } else { MtuSource::Network };
    Ok(Shape {
        nodes,
        link: parse_link(arguments)?,
        mtu_by,
        clamp_mss: arguments.clamp_mss,
        background: parse_background(arguments)?,
        node_pair: None,
        servers: count("servers", &arguments.servers)?,
        clients: count("clients", &arguments.clients)?,
        processes: count("processes", &arguments.processes)?,
        flows: count("flows", &arguments.flows)?,
        mtu: single_number("mtu", &arguments.mtu, 68, 1500)?,
        family: single_value("family", &arguments.family)?.unwrap_or(Family::Ipv4),
        cpus: choose_placement(arguments)?,
        without: arguments.without.iter().copied().collect(),
    })
}

/// Returns the value of a flag that has at most one.
fn single_value<T: Clone>(flag: &str, list: &[T]) -> anyhow::Result<Option<T>> {
    match list {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => Err(usage_error(anyhow::anyhow!("--{flag}: expected a single value"))),
    }
}

fn single_number(flag: &str, list: &[u32], least: u32, default: u32) -> anyhow::Result<u32> {
    match single_value(flag, list)? {
        Some(value) if value < least => Err(usage_error(anyhow::anyhow!(
            "invalid value `{value}` for --{flag}: expected at least {least}"
        ))),
        value => Ok(value.unwrap_or(default)),
    }
}

fn parse_link(arguments: &ShapeArguments) -> anyhow::Result<Option<String>> {
    let link = single_value("link", &arguments.link)?;
    link.iter().try_for_each(|text| text.parse::<NodeLink>().map(drop)).map_err(usage_error)?;
    Ok(link)
}

fn parse_background(arguments: &ShapeArguments) -> anyhow::Result<Option<String>> {
    let background = single_value("background", &arguments.background)?;
    let parsed = background.iter().try_for_each(|text| text.parse::<Background>().map(drop));
    parsed.map_err(|reason| usage_error(anyhow::Error::msg(reason)))?;
    Ok(background)
}

/// Returns the placement on the first cores by `--cores`, or else the placement by `--cpus`.
fn choose_placement(arguments: &ShapeArguments) -> anyhow::Result<Placement> {
    let Some(cores) = single_value("cores", &arguments.cores)? else {
        return Ok(arguments.cpus.clone().unwrap_or_default());
    };
    check_core_count(cores)?;
    Ok(Placement::First(cores))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Subcommand};
    use clap::Parser as _;

    fn arguments(flags: &[&str]) -> ShowArguments {
        let words = ["tare", "show", "bridge"].iter().chain(flags);
        match Cli::try_parse_from(words).unwrap().command {
            Subcommand::Show(arguments) => arguments,
            _ => panic!("not `tare show`"),
        }
    }

    fn shape(flags: &[&str]) -> Result<Shape, String> {
        one_shape(&arguments(flags).shape).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn background_and_cores_are_in_the_shape() {
        let shape = shape(&["--background", "cpu=2", "--cores", "1"]).unwrap();
        assert_eq!(shape.background.as_deref(), Some("cpu=2"));
        assert_eq!(shape.cpus, Placement::First(1));
    }

    #[test]
    fn invalid_and_several_values_are_refused() {
        for (flags, words) in [
            (["--background", "cpu"].as_slice(), "invalid background load `cpu`"),
            (
                &["--background", "cpu=1", "--background", "cpu=2"],
                "--background: expected a single",
            ),
            (&["--cores", "1,2"], "--cores: expected a single value"),
            (&["--cores", "0"], "invalid value `0` for --cores"),
            (&["--family", "ipv4,ipv6"], "--family: expected a single value"),
            (&["--flows", "1,2"], "--flows: expected a single value"),
        ] {
            let error = shape(flags).unwrap_err();
            assert!(error.contains(words), "{flags:?}: {error}");
        }
    }

    #[test]
    fn flags_that_change_no_command_are_refused() {
        for (flag, value) in [("--background", "cpu=1"), ("--cores", "1")] {
            let error = format!("{:#}", run(&arguments(&[flag, value])).unwrap_err());
            assert!(error.starts_with(&format!("cannot show a network with {flag}")), "{error}");
        }
    }
}
