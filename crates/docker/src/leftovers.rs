//! What runs made on an engine: found by the label alone, and removed.

use crate::engine::Engine;
use crate::label::{RUN, RunId};
use crate::trouble::{is_conflict, is_no_manager, is_not_found};
use bollard::Docker;
use bollard::errors::Error as Refusal;
use bollard::models::Network;
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, ListNetworksOptionsBuilder,
    ListSecretsOptionsBuilder, ListServicesOptionsBuilder, RemoveContainerOptionsBuilder,
    RemoveImageOptionsBuilder,
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
    /// A service of a Swarm; its tasks go with it.
    Service,
    /// A container.
    Container,
    /// A network.
    Network,
    /// A secret of a Swarm.
    Secret,
    /// An image.
    Image,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Service => "service",
            Self::Container => "container",
            Self::Network => "network",
            Self::Secret => "secret",
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

/// Everything that carries the label and that this engine can remove.
pub(crate) fn removable(engine: &Engine) -> Result<Vec<Leftover>, Error> {
    find(engine, RUN.to_owned())
}

/// The same of one run.
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
    let swarm = of_swarm(docker, &filters).await?;
    for one in networks(docker, &filters).await? {
        // A Swarm's network is removed by a manager alone.
        if swarm.is_none() && one.scope.as_deref() == Some("swarm") {
            continue;
        }
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
    found.extend(swarm.into_iter().flatten());
    found.sort_by_key(|one| one.kind);
    Ok(found)
}

/// What a Swarm has; nothing where the engine manages none.
async fn of_swarm(
    docker: &Docker,
    filters: &HashMap<String, Vec<String>>,
) -> Result<Option<Vec<Leftover>>, Refusal> {
    let of = |kind, id: Option<String>, name: Option<String>, labels: Option<HashMap<_, _>>| {
        let run = labels.and_then(|mut labels| labels.remove(RUN)).unwrap_or_default();
        let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
        Leftover { kind, run, id, name, running: false }
    };
    let options = ListServicesOptionsBuilder::default().filters(filters).build();
    let services = match docker.list_services(Some(options)).await {
        Err(refusal) if is_no_manager(&refusal) => return Ok(None),
        services => services?,
    };
    let options = ListSecretsOptionsBuilder::default().filters(filters).build();
    let secrets = docker.list_secrets(Some(options)).await?;
    let services = services.into_iter().map(|one| {
        let spec = one.spec.unwrap_or_default();
        of(Kind::Service, one.id, spec.name, spec.labels)
    });
    let secrets = secrets.into_iter().map(|one| {
        let spec = one.spec.unwrap_or_default();
        of(Kind::Secret, one.id, spec.name, spec.labels)
    });
    Ok(Some(services.chain(secrets).collect()))
}

/// The networks that carry the label, and first those that cannot, because they are made from such a configuration.
async fn networks(
    docker: &Docker,
    filters: &HashMap<String, Vec<String>>,
) -> Result<Vec<Network>, Refusal> {
    let options = ListNetworksOptionsBuilder::default().filters(filters).build();
    let labelled = docker.list_networks(Some(options)).await?;
    if labelled.iter().all(|one| one.config_only != Some(true)) {
        return Ok(labelled);
    }
    let mut all = docker.list_networks(None).await?;
    all.retain_mut(|one| {
        let from = one.config_from.as_ref().and_then(|from| from.network.as_deref());
        let configuration = labelled.iter().find(|other| other.name.as_deref() == from);
        let Some(configuration) =
            configuration.filter(|_| from.is_some_and(|from| !from.is_empty()))
        else {
            return false;
        };
        one.labels = configuration.labels.clone();
        labelled.iter().all(|other| other.id != one.id)
    });
    all.extend(labelled);
    Ok(all)
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
    for service in ids(Kind::Service) {
        engine.get(format!("remove the service {service}"), remove_service(docker, service))?;
    }
    engine.get("remove containers", remove_containers(docker, ids(Kind::Container)))?;
    for network in ids(Kind::Network) {
        engine.get(format!("remove the network {network}"), remove_network(docker, network))?;
    }
    for secret in ids(Kind::Secret) {
        engine.get(format!("remove the secret {secret}"), remove_secret(docker, secret))?;
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
    let words = crate::trouble::words(refusal);
    ["active endpoints", "in use by"].iter().any(|one| words.contains(one))
}

/// Removes a service; its tasks end a moment later.
pub(crate) async fn remove_service(docker: &Docker, id: &str) -> Result<(), Refusal> {
    gone(docker.delete_service(id).await)
}

/// Removes a secret; the Swarm may need a moment to see that the last service that had it is gone.
async fn remove_secret(docker: &Docker, id: &str) -> Result<(), Refusal> {
    let mut refused = None;
    for _ in 0..TICKS {
        match gone(docker.delete_secret(id).await) {
            Err(refusal) if is_in_use(&refusal) => refused = Some(refusal),
            done => return done,
        }
        tokio::time::sleep(TICK).await;
    }
    Err(refused.unwrap_or(Refusal::RequestTimeoutError))
}

/// What is not there need not be removed.
fn gone(removed: Result<(), Refusal>) -> Result<(), Refusal> {
    match removed {
        Err(refusal) if is_not_found(&refusal) => Ok(()),
        other => other,
    }
}

async fn remove_image(docker: &Docker, id: &str) -> Result<(), Refusal> {
    let options = RemoveImageOptionsBuilder::default().force(true).build();
    match docker.remove_image(id, Some(options), None).await {
        Err(refusal) if !is_not_found(&refusal) => Err(refusal),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
