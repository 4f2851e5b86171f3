//! The nodes of a Swarm that tasks can be on: those that are ready, and have the image.

use crate::address::Address;
use crate::engine::Engine;
use crate::image;
use crate::label::RunId;
use crate::place::{Live, Place};
use bollard::models::{Node, NodeSpecAvailabilityEnum, NodeState};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use tare_network::{Error, Shape};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// The Swarm's name for it.
    pub(super) id: String,
    /// The machine's.
    pub(super) name: String,
    /// Where the others reach it.
    pub(super) address: IpAddr,
}

/// All nodes that could have tasks, and the engines that were named.
pub(super) struct Members {
    /// Those that have the image, by name.
    pub(super) ready: Vec<Member>,
    /// Those that lack it.
    lacking: Vec<Member>,
    /// The engines that can be spoken to, by the node that each is.
    pub(super) engines: HashMap<String, Arc<Engine>>,
    image: String,
}

impl Members {
    /// Looks who there is, and loads the image on every engine that was named.
    pub(super) fn gather(place: &Place, live: &Live) -> Result<Self, Error> {
        let engine = &live.engine;
        let nodes = engine.get("list the nodes of the Swarm", engine.docker().list_nodes(None))?;
        let mut all: Vec<Member> = nodes.iter().filter_map(member).collect();
        all.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
        let mut engines = HashMap::from([(node_of(engine)?, Arc::clone(engine))]);
        for text in &place.settings().engines {
            let (node, engine) = loaded(text, place.settings().image.is_some(), place.run())?;
            if !nodes.iter().any(|one| one.id.as_deref() == Some(&node)) {
                let why = "it is no node of the Swarm whose manager tare speaks to";
                return Err(Error::new(format!("use the engine {text}"), why)
                    .with_remedy("leave it out, or docker swarm join it"));
            }
            engines.insert(node, Arc::new(engine));
        }
        // A run's own image is where it was loaded; one that the user names, nodes may pull.
        let has_it =
            |one: &Member| place.settings().image.is_some() || engines.contains_key(&one.id);
        let (ready, lacking) = all.into_iter().partition(has_it);
        let image = match &place.settings().image {
            Some(image) => image.clone(),
            None => by_content(engine, &live.image)?,
        };
        Ok(Self { ready, lacking, engines, image })
    }

    /// The nodes that a shape is laid out on.
    pub(super) fn for_shape(&self, shape: &Shape) -> Result<&[Member], Error> {
        let wanted = shape.nodes.max(1) as usize;
        self.ready.get(..wanted).ok_or_else(|| self.too_few(wanted))
    }

    fn too_few(&self, wanted: usize) -> Error {
        let what = format!("place containers on {wanted} nodes of the Swarm");
        if self.ready.len() + self.lacking.len() < wanted {
            let have = self.ready.len() + self.lacking.len();
            return Error::new(what, format!("{have} of its nodes are ready for tasks"))
                .with_remedy("docker node ls; docker swarm join another, or use fewer --nodes");
        }
        let names: Vec<&str> = self.lacking.iter().map(|one| one.name.as_str()).collect();
        let first = names.first().copied().unwrap_or_default();
        Error::new(what, format!("the image is not on {}", names.join(", "))).with_remedy(format!(
            "name their engines, too, as in --engine unix:///PATH or tcp://HOST:PORT; or load an image there, as by \
             `tare image --tag {tag} | ssh {first} docker load`, and run with --image {tag}",
            tag = concat!("tare:", env!("CARGO_PKG_VERSION")),
        ))
    }

    /// What a node is called, by the Swarm's name for it.
    pub(super) fn name<'a>(&'a self, id: &'a str) -> &'a str {
        let all = self.ready.iter().chain(&self.lacking);
        all.clone().find(|one| one.id == id).map_or(id, |one| one.name.as_str())
    }

    /// The image that tasks are made of.
    pub(super) fn image(&self) -> &str {
        &self.image
    }
}

/// An image by its content: a node that is told so looks nowhere else for it, as it does for every name.
fn by_content(engine: &Engine, image: &str) -> Result<String, Error> {
    let what = format!("inspect the image {image}");
    let found = engine.get(what.clone(), engine.docker().inspect_image(image))?;
    found.id.ok_or_else(|| Error::new(what, "the engine did not say which it is"))
}

/// A node that takes tasks.
fn member(node: &Node) -> Option<Member> {
    let status = node.status.as_ref()?;
    let active = node.spec.as_ref()?.availability == Some(NodeSpecAvailabilityEnum::ACTIVE);
    let managers = node.manager_status.as_ref().and_then(|status| status.addr.as_deref());
    let managers = managers.and_then(|address| address.parse::<std::net::SocketAddr>().ok());
    let address = status.addr.as_deref().and_then(|address| address.parse::<IpAddr>().ok());
    // A manager that knows itself by no address says all zeros.
    let address = address.filter(|one| !one.is_unspecified()).or(managers.map(|one| one.ip()));
    (active && status.state == Some(NodeState::READY)).then_some(Member {
        id: node.id.clone()?,
        name: node.description.as_ref()?.hostname.clone()?,
        address: address?,
    })
}

/// Which node an engine is.
pub(super) fn node_of(engine: &Engine) -> Result<String, Error> {
    const WHAT: &str = "ask an engine which node of the Swarm it is";
    let info = engine.get(WHAT, engine.docker().info())?;
    let node = info.swarm.and_then(|swarm| swarm.node_id).filter(|node| !node.is_empty());
    node.ok_or_else(|| {
        let name = info.name.unwrap_or_default();
        Error::new(WHAT, format!("the engine of {name} is in no Swarm"))
            .with_remedy("docker swarm join it, or leave its --engine out")
    })
}

/// Connects to an engine that was named, and loads the run's image where it needs one.
fn loaded(text: &str, has_image: bool, run: &RunId) -> Result<(String, Engine), Error> {
    let address: Address = text.parse().map_err(|error: crate::AddressError| {
        Error::new(format!("use the engine {text}"), error.reason).with_remedy(error.remedy)
    })?;
    let engine = Engine::connect(&address)?;
    let node = node_of(&engine)?;
    if !has_image {
        image::load_for(&engine, run)?;
    }
    Ok((node, engine))
}
