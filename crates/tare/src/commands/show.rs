//! `tare show`: prints how the containers are connected, as commands that a reader can type.

use crate::catalogue::build_catalogue;
use crate::cli::{ShapeArguments, ShowArguments};
use crate::exit::{CommandExit, usage_error};
use tare_lab::ModuleLoading;
use tare_network::{
    Family, MtuSource, Network, NetworkParameters, NetworkRegistry, NetworkSpec, NodeLink, Shape,
};

/// Prints the commands.
pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<CommandExit> {
    let everything = build_catalogue(None, ModuleLoading::Never);
    let (spelled, network) = find_network(&everything.networks, &arguments.network)?;
    let shape = one_shape(&arguments.shape)?;
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

/// Returns the single shape that the flags name. Several values are an error, except for `--family`, whose first value
/// is taken.
pub(crate) fn one_shape(arguments: &ShapeArguments) -> anyhow::Result<Shape> {
    let first = |what: &str, list: &[u32], least: u32, default: u32| match list {
        [] => Ok(default),
        [one] if *one >= least => Ok(*one),
        [one] => Err(usage_error(anyhow::anyhow!(
            "invalid value `{one}` for --{what}: expected at least {least}"
        ))),
        _ => Err(usage_error(anyhow::anyhow!("--{what}: expected a single value"))),
    };
    let link = match arguments.link.as_slice() {
        [] => None,
        [one] => {
            one.parse::<NodeLink>().map_err(usage_error)?;
            Some(one.clone())
        }
        _ => return Err(usage_error(anyhow::anyhow!("--link: expected a single value"))),
    };
    let nodes = first("nodes", &arguments.nodes, 1, 1)?;
    let mtu_by =
        if nodes > 1 && !arguments.mtu.is_empty() { MtuSource::User } else { MtuSource::Network };
    Ok(Shape {
        nodes,
        link,
        mtu_by,
        clamp_mss: arguments.clamp_mss,
        servers: first("servers", &arguments.servers, 1, 1)?,
        clients: first("clients", &arguments.clients, 1, 1)?,
        processes: first("processes", &arguments.processes, 1, 1)?,
        flows: first("flows", &arguments.flows, 1, 1)?,
        mtu: first("mtu", &arguments.mtu, 68, 1500)?,
        family: arguments.family.first().copied().unwrap_or(Family::Ipv4),
        cpus: arguments.cpus.clone().unwrap_or_default(),
        without: arguments.without.iter().copied().collect(),
        ..Shape::default()
    })
}
