//! `tare show`: how exactly the containers are connected, as commands that a reader can type.

use crate::catalogue::everything;
use crate::cli::{ShapeArguments, ShowArguments};
use crate::exit::{Exit, usage};
use tare_lab::Modules;
use tare_network::{Family, Link, MtuBy, Network, Registry, Shape, Site, Spelled};

/// Prints the commands.
pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<Exit> {
    let everything = everything(None, Modules::Never);
    let (spelled, network) = find(&everything.networks, &arguments.network)?;
    let shape = one_shape(&arguments.shape)?;
    let site = Site::of(&spelled, arguments.port.clone());
    let about = network.about();
    let mut text = format!("# {spelled}: {}\n# stands for {}\n", about.summary, about.stands_for);
    text.push_str(&network.commands(&shape, &site).join("\n"));
    text.push('\n');
    crate::out::print(&text)?;
    Ok(Exit::Done)
}

/// The network of this spelling.
pub(crate) fn find<'a>(
    networks: &'a Registry,
    text: &str,
) -> anyhow::Result<(Spelled, &'a dyn Network)> {
    let spelled: Spelled = text.parse().map_err(|error: tare_network::NameError| usage(error))?;
    let network = networks.find(&spelled).map_err(usage)?;
    Ok((spelled, network))
}

/// The one shape that the flags name: of each flag the first value.
pub(crate) fn one_shape(arguments: &ShapeArguments) -> anyhow::Result<Shape> {
    let first = |what: &str, list: &[u32], least: u32, default: u32| match list {
        [] => Ok(default),
        [one] if *one >= least => Ok(*one),
        [one] => Err(usage(anyhow::anyhow!("--{what} {one}: it is at least {least}"))),
        _ => Err(usage(anyhow::anyhow!("--{what} takes one value here"))),
    };
    let link = match arguments.link.as_slice() {
        [] => None,
        [one] => {
            one.parse::<Link>().map_err(usage)?;
            Some(one.clone())
        }
        _ => return Err(usage(anyhow::anyhow!("--link takes one value here"))),
    };
    let nodes = first("nodes", &arguments.nodes, 1, 1)?;
    let mtu_by = if nodes > 1 && !arguments.mtu.is_empty() { MtuBy::User } else { MtuBy::Network };
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
