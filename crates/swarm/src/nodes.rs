//! Nodes of a Swarm that can run tasks: those that are ready, and have the image.

use bollard::models::{Node, NodeSpecAvailabilityEnum, NodeState};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use tare_docker::engine::Engine;
use tare_docker::engine_session::EngineSession;
use tare_docker::{DockerOptions, EngineAddress, RunId, image};
use tare_network::{Error, Shape};

/// Node of a Swarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SwarmNode {
    /// Id of the node in the Swarm.
    pub(crate) id: String,
    /// Hostname of the node.
    pub(crate) name: String,
    /// Address at which other nodes reach it.
    pub(crate) address: IpAddr,
}

/// All nodes that could run tasks, and the engines that the user named.
pub(crate) struct SwarmNodes {
    /// Nodes that have the image, by name.
    pub(crate) ready: Vec<SwarmNode>,
    /// Nodes that lack the image.
    without_image: Vec<SwarmNode>,
    /// Connected engines, by the id of their node.
    pub(crate) engines: HashMap<String, Arc<Engine>>,
    image: String,
}

impl SwarmNodes {
    /// Lists the nodes, and loads the image on every engine that the user named.
    pub(crate) fn gather(
        options: &DockerOptions,
        run_id: &RunId,
        live: &EngineSession,
    ) -> Result<Self, Error> {
        let engine = &live.engine;
        let nodes =
            engine.request("list the nodes of the Swarm", engine.docker().list_nodes(None))?;
        let mut all: Vec<SwarmNode> = nodes.iter().filter_map(ready_node).collect();
        all.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
        let mut engines = HashMap::from([(node_id(engine)?, Arc::clone(engine))]);
        for text in &options.engines {
            let (node, engine) = connect_and_load(text, options.image.is_some(), run_id)?;
            if !nodes.iter().any(|one| one.id.as_deref() == Some(&node)) {
                let why = "the engine is not a node of the Swarm whose manager tare uses";
                return Err(Error::new(format!("use the engine {text}"), why).with_remedy(
                    "omit its --engine, or join it to the Swarm with `docker swarm join`",
                ));
            }
            engines.insert(node, Arc::new(engine));
        }
        // A run's own image is only where it was loaded; nodes may pull an image that the user named.
        let has_it = |one: &SwarmNode| options.image.is_some() || engines.contains_key(&one.id);
        let (ready, lacking) = all.into_iter().partition(has_it);
        let image = match &options.image {
            Some(image) => image.clone(),
            None => image_digest(engine, &live.image)?,
        };
        Ok(Self { ready, without_image: lacking, engines, image })
    }

    /// Returns the nodes on which a shape is laid out. Fails if there are too few.
    pub(crate) fn for_shape(&self, shape: &Shape) -> Result<&[SwarmNode], Error> {
        let wanted = shape.nodes.max(1) as usize;
        self.ready.get(..wanted).ok_or_else(|| self.too_few(wanted))
    }

    fn too_few(&self, wanted: usize) -> Error {
        let what = format!("place containers on {wanted} nodes of the Swarm");
        if self.ready.len() + self.without_image.len() < wanted {
            let have = self.ready.len() + self.without_image.len();
            return Error::new(what, format!("only {have} nodes of the Swarm are ready for tasks"))
                .with_remedy(
                    "see `docker node ls`; add a node with `docker swarm join`, or use fewer --nodes",
                );
        }
        let names: Vec<&str> = self.without_image.iter().map(|one| one.name.as_str()).collect();
        let first = names.first().copied().unwrap_or_default();
        Error::new(what, format!("the image is not on {}", names.join(", "))).with_remedy(format!(
            "name the engines of these nodes too, for example --engine unix:///PATH or --engine tcp://HOST:PORT; or \
             load an image there, for example by `tare image --tag {tag} | ssh {first} docker load`, and run tare \
             with --image {tag}",
            tag = concat!("tare:", env!("CARGO_PKG_VERSION")),
        ))
    }

    /// Returns the hostname of a node, by its id in the Swarm; the id itself if the node is unknown.
    pub(crate) fn hostname<'a>(&'a self, id: &'a str) -> &'a str {
        let all = self.ready.iter().chain(&self.without_image);
        all.clone().find(|one| one.id == id).map_or(id, |one| one.name.as_str())
    }

    /// Returns the image of the tasks.
    pub(crate) fn image(&self) -> &str {
        &self.image
    }
}

/// Returns the digest of an image. A node looks for a digest only locally, but for a name in its registry.
fn image_digest(engine: &Engine, image: &str) -> Result<String, Error> {
    let what = format!("inspect the image {image}");
    let found = engine.request(what.clone(), engine.docker().inspect_image(image))?;
    found.id.ok_or_else(|| Error::new(what, "the engine reported no image id"))
}

/// Describes a node. Returns `None` if it does not accept tasks.
fn ready_node(node: &Node) -> Option<SwarmNode> {
    let status = node.status.as_ref()?;
    let active = node.spec.as_ref()?.availability == Some(NodeSpecAvailabilityEnum::ACTIVE);
    let managers = node.manager_status.as_ref().and_then(|status| status.addr.as_deref());
    let managers = managers.and_then(|address| address.parse::<std::net::SocketAddr>().ok());
    let address = status.addr.as_deref().and_then(|address| address.parse::<IpAddr>().ok());
    // A manager without an advertised address reports 0.0.0.0.
    let address = address.filter(|one| !one.is_unspecified()).or(managers.map(|one| one.ip()));
    (active && status.state == Some(NodeState::READY)).then_some(SwarmNode {
        id: node.id.clone()?,
        name: node.description.as_ref()?.hostname.clone()?,
        address: address?,
    })
}

/// Returns the id of an engine's node in the Swarm.
pub(crate) fn node_id(engine: &Engine) -> Result<String, Error> {
    const WHAT: &str = "find the Swarm node of an engine";
    let info = engine.request(WHAT, engine.docker().info())?;
    let node = info.swarm.and_then(|swarm| swarm.node_id).filter(|node| !node.is_empty());
    node.ok_or_else(|| {
        let name = info.name.unwrap_or_default();
        Error::new(WHAT, format!("the engine of {name} is not in a Swarm"))
            .with_remedy("join it to the Swarm with `docker swarm join`, or omit its --engine")
    })
}

/// Connects to an engine that the user named, and loads the run's image unless the user chose one.
fn connect_and_load(text: &str, has_image: bool, run: &RunId) -> Result<(String, Engine), Error> {
    let address: EngineAddress =
        text.parse().map_err(|error: tare_docker::EngineAddressError| {
            Error::new(format!("use the engine {text}"), error.reason).with_remedy(error.remedy)
        })?;
    let engine = Engine::connect(&address)?;
    let node = node_id(&engine)?;
    if !has_image {
        image::load_run_image(&engine, run)?;
    }
    Ok((node, engine))
}
