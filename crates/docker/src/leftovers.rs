//! What runs made on an engine: found by the label alone, and removed.

use crate::engine::Engine;
use crate::label::{RUN, RunId};
use crate::trouble::{is_conflict, is_not_found};
use bollard::Docker;
use bollard::errors::Error as Refusal;
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, ListNetworksOptionsBuilder,
    RemoveContainerOptionsBuilder, RemoveImageOptionsBuilder,
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use tare_network::Error;

/// How many containers are made or removed at once: more only wait for one another inside the engine.
pub(crate) const AT_ONCE: usize = 4;

/// How often the engine is asked whether what is being removed is gone, and how many times.
const TICK: Duration = Duration::from_millis(50);
const TICKS: u32 = 400;

/// What kind of thing it is, in the order in which things can be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A container.
    Container,
    /// A network.
    Network,
    /// An image.
    Image,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Container => "container",
            Self::Network => "network",
            Self::Image => "image",
        })
    }
}

/// One thing that carries the label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// What it is.
    pub kind: Kind,
    /// The engine's name for it.
    pub id: String,
    /// The name that people know.
    pub name: String,
    /// The run that made it.
    pub run: String,
    /// Whether it is a container that runs: then so does, most likely, the run that made it.
    pub running: bool,
}

/// Everything that carries the label.
pub(crate) fn all(engine: &Engine) -> Result<Vec<Leftover>, Error> {
    find(engine, RUN.to_owned())
}

/// Everything that carries the label of one run.
pub(crate) fn of_run(engine: &Engine, run: &RunId) -> Result<Vec<Leftover>, Error> {
    find(engine, format!("{RUN}={run}"))
}

fn find(engine: &Engine, label: String) -> Result<Vec<Leftover>, Error> {
    engine.get("list what tare made in Docker", list(engine.docker(), label))
}

async fn list(docker: &Docker, label: String) -> Result<Vec<Leftover>, Refusal> {
    let filters = HashMap::from([("label".to_owned(), vec![label])]);
    let run = |labels: Option<&HashMap<String, String>>| {
        labels.and_then(|labels| labels.get(RUN)).cloned().unwrap_or_default()
    };
    let mut found = Vec::new();
    let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
    for one in docker.list_containers(Some(options)).await? {
        let state = one.state.map(|state| state.to_string());
        found.push(Leftover {
            kind: Kind::Container,
            run: run(one.labels.as_ref()),
            id: one.id.unwrap_or_default(),
            name: first_name(one.names.as_deref()),
            running: state.as_deref() == Some("running"),
        });
    }
    let options = ListNetworksOptionsBuilder::default().filters(&filters).build();
    for one in docker.list_networks(Some(options)).await? {
        let run = run(one.labels.as_ref());
        let (id, name) = (one.id.unwrap_or_default(), one.name.unwrap_or_default());
        found.push(Leftover { kind: Kind::Network, run, id, name, running: false });
    }
    let options = ListImagesOptionsBuilder::default().all(true).filters(&filters).build();
    for one in docker.list_images(Some(options)).await? {
        let (id, name) = (one.id, one.repo_tags.first().cloned().unwrap_or_default());
        let run = run(Some(&one.labels));
        found.push(Leftover { kind: Kind::Image, run, id, name, running: false });
    }
    found.sort_by_key(|one| one.kind);
    Ok(found)
}

/// A container's name without the slash before it.
fn first_name(names: Option<&[String]>) -> String {
    let name = names.and_then(|names| names.first()).map(String::as_str).unwrap_or_default();
    name.trim_start_matches('/').to_owned()
}

/// Removes these things: containers first, then what they used.
pub(crate) fn remove(engine: &Engine, things: &[Leftover]) -> Result<(), Error> {
    let docker = engine.docker();
    let ids =
        |kind: Kind| things.iter().filter(move |one| one.kind == kind).map(|one| one.id.as_str());
    engine.get("remove containers", remove_containers(docker, ids(Kind::Container)))?;
    for network in ids(Kind::Network) {
        engine.get(format!("remove the network {network}"), remove_network(docker, network))?;
    }
    for image in ids(Kind::Image) {
        engine.get(format!("remove the image {image}"), remove_image(docker, image))?;
    }
    Ok(())
}

/// Removes containers, and returns when they are gone.
pub(crate) async fn remove_containers<'a>(
    docker: &Docker,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<(), Refusal> {
    stream::iter(ids)
        .map(|id| remove_container(docker, id))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await
}

async fn remove_container(docker: &Docker, id: &str) -> Result<(), Refusal> {
    let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
    match docker.remove_container(id, Some(options)).await {
        Err(refusal) if is_not_found(&refusal) => return Ok(()),
        // The engine removes it already, because it has ended.
        Err(refusal) if !is_conflict(&refusal) => return Err(refusal),
        Ok(()) | Err(_) => {}
    }
    for _ in 0..TICKS {
        match docker.inspect_container(id, None).await {
            Err(refusal) if is_not_found(&refusal) => return Ok(()),
            Err(refusal) => return Err(refusal),
            Ok(_) => tokio::time::sleep(TICK).await,
        }
    }
    Err(Refusal::RequestTimeoutError)
}

/// Removes a network; the engine may need a moment to see that its last container is gone.
pub(crate) async fn remove_network(docker: &Docker, id: &str) -> Result<(), Refusal> {
    let mut refused = None;
    for _ in 0..TICKS {
        match docker.remove_network(id).await {
            Ok(()) => return Ok(()),
            Err(refusal) if is_not_found(&refusal) => return Ok(()),
            Err(refusal) if is_in_use(&refusal) => refused = Some(refusal),
            Err(refusal) => return Err(refusal),
        }
        tokio::time::sleep(TICK).await;
    }
    Err(refused.unwrap_or(Refusal::RequestTimeoutError))
}

fn is_in_use(refusal: &Refusal) -> bool {
    crate::trouble::words(refusal).contains("active endpoints")
}

async fn remove_image(docker: &Docker, id: &str) -> Result<(), Refusal> {
    let options = RemoveImageOptionsBuilder::default().force(true).build();
    match docker.remove_image(id, Some(options), None).await {
        Err(refusal) if !is_not_found(&refusal) => Err(refusal),
        Ok(_) | Err(_) => Ok(()),
    }
}
