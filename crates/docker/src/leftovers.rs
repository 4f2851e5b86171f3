//! Objects that runs made on an engine: they are found by their labels and names, and removed.

pub(crate) mod host;
mod pods;

pub(crate) use pods::remove_pod;

use crate::engine::Engine;
use crate::error::{has_dependents, is_conflict, is_not_found, is_not_manager, is_unreadable};
use crate::image::run_image_tag;
use crate::label::{RUN_LABEL, RunId};
use crate::run_owner::{OWNER_LABEL, RunOwner};
use bollard::Docker;
use bollard::errors::Error as Refusal;
use bollard::models::{ContainerSummary, Network};
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, ListNetworksOptionsBuilder,
    ListSecretsOptionsBuilder, ListServicesOptionsBuilder, RemoveContainerOptionsBuilder,
    RemoveImageOptionsBuilder,
};
use futures_util::{StreamExt as _, stream};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use tare_network::Error;

/// Number of containers that are made or removed at once. More would only wait for one another inside the engine.
pub(crate) const PARALLEL_REQUESTS: usize = 4;

/// Interval at which the engine is asked whether a removed object is gone, and the number of times.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const POLL_COUNT: u32 = 400;

/// Kind of an object, in the order in which objects can be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftoverKind {
    /// A service of a Swarm; its tasks go with it.
    Service,
    /// A pod of Podman; its containers go with it.
    Pod,
    /// A container; the engine also removes its anonymous volumes.
    Container,
    /// A network, removed once no container is attached to it.
    Network,
    /// A secret of a Swarm.
    Secret,
    /// An image, as a run loads it for its containers.
    Image,
    /// A rule of iptables on the engine's machine.
    Rule,
    /// A bridge of Open vSwitch on the engine's machine.
    OvsBridge,
    /// A device on the engine's machine.
    Device,
}

impl fmt::Display for LeftoverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Service => "service",
            Self::Pod => "pod",
            Self::Container => "container",
            Self::Network => "network",
            Self::Secret => "secret",
            Self::Image => "image",
            Self::Rule => "rule",
            Self::OvsBridge => "ovs",
            Self::Device => "device",
        })
    }
}

/// Object that a run made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Kind of the object.
    pub kind: LeftoverKind,
    /// The engine's id of the object, or the machine's.
    pub id: String,
    /// The name that people know.
    pub name: String,
    /// The run that made it.
    pub run: String,
    /// True for a running container.
    pub running: bool,
    /// Process of the run. `None` if the object does not say.
    pub(crate) owner: Option<RunOwner>,
}

impl Leftover {
    /// Creates a leftover from an object's labels. Returns `None` if no run made it: what was made from a run's image has
    /// inherited its labels, and a name that no run gives.
    fn from_labels(
        kind: LeftoverKind,
        (id, name): (String, String),
        labels: Option<&HashMap<String, String>>,
    ) -> Option<Self> {
        let run = labels?.get(RUN_LABEL)?.clone();
        let is_own = match kind {
            LeftoverKind::Image => name == run_image_tag(&run),
            _ => name.starts_with(&RunId::name_prefix(&run)),
        };
        let owner = labels?.get(OWNER_LABEL).and_then(|owner| owner.parse().ok());
        is_own.then_some(Self { kind, id, name, run, running: false, owner })
    }
}

/// Finds everything that carries the label and that this engine can remove.
pub(crate) fn find_removable(engine: &Engine) -> Result<Vec<Leftover>, Error> {
    find(engine, RUN_LABEL.to_owned())
}

/// Finds everything of one run that this engine can remove.
fn find_by_run(engine: &Engine, run: &RunId) -> Result<Vec<Leftover>, Error> {
    find(engine, format!("{RUN_LABEL}={run}"))
}

/// Removes everything of one run that this engine can remove.
///
/// # Errors
/// Something remains; the remedy says how to remove it later.
pub fn remove_run(engine: &Engine, run: &RunId) -> Result<(), Error> {
    let removed = find_by_run(engine, run).and_then(|left| remove(engine, &left));
    removed.map_err(|error| {
        Error::new("remove the run's objects in Docker", error.to_string())
            .with_remedy("run `tare clean` when the engine works again")
    })
}

fn find(engine: &Engine, label: String) -> Result<Vec<Leftover>, Error> {
    const WHAT: &str = "list tare's objects in Docker";
    let mut found = engine.request(WHAT, list(engine.docker(), label.clone()))?;
    let pods = engine.wait(pods::list(engine.address(), &label));
    found.extend(pods.map_err(|refusal| Error::new(WHAT, refusal.into_reason()))?);
    found.sort_by_key(|one| one.kind);
    Ok(found)
}

async fn list(docker: &Docker, label: String) -> Result<Vec<Leftover>, Refusal> {
    let filters = HashMap::from([("label".to_owned(), vec![label])]);
    let mut found = Vec::new();
    for one in list_containers(docker, &filters).await? {
        let running = one.state.is_some_and(|state| state.to_string() == "running");
        let place = (one.id.unwrap_or_default(), first_name(one.names.as_deref()));
        let made = Leftover::from_labels(LeftoverKind::Container, place, one.labels.as_ref());
        found.extend(made.map(|made| Leftover { running, ..made }));
    }
    let swarm = list_swarm(docker, &filters).await?;
    for one in list_networks(docker, &filters).await? {
        // Only a manager can remove a Swarm's network.
        if swarm.is_none() && one.scope.as_deref() == Some("swarm") {
            continue;
        }
        let place = (one.id.unwrap_or_default(), one.name.unwrap_or_default());
        found.extend(Leftover::from_labels(LeftoverKind::Network, place, one.labels.as_ref()));
    }
    let options = ListImagesOptionsBuilder::default().all(true).filters(&filters).build();
    for one in docker.list_images(Some(options)).await? {
        // Removed by its tag: with its id, the tags that others gave it would go, too.
        let tags = one.repo_tags.into_iter().map(|tag| (tag.clone(), short_tag(&tag).to_owned()));
        let own = |place| Leftover::from_labels(LeftoverKind::Image, place, Some(&one.labels));
        found.extend(tags.filter_map(own));
    }
    found.extend(swarm.into_iter().flatten());
    Ok(found)
}

/// Lists the containers that carry the label, of any state. Between the end of a container and its removal, Podman states
/// one that Docker does not have (`stopped`), and the answer cannot be parsed: the request is repeated.
async fn list_containers(
    docker: &Docker,
    filters: &HashMap<String, Vec<String>>,
) -> Result<Vec<ContainerSummary>, Refusal> {
    let options = ListContainersOptionsBuilder::default().all(true).filters(filters).build();
    let mut refused = None;
    for _ in 0..POLL_COUNT {
        match docker.list_containers(Some(options.clone())).await {
            Err(refusal) if is_unreadable(&refusal) => refused = Some(refusal),
            answered => return answered,
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(refused.unwrap_or(Refusal::RequestTimeoutError))
}

/// Finds the objects of a Swarm. Returns `None` if the engine manages none.
async fn list_swarm(
    docker: &Docker,
    filters: &HashMap<String, Vec<String>>,
) -> Result<Option<Vec<Leftover>>, Refusal> {
    let of = |kind, id: Option<String>, name: Option<String>, labels: Option<HashMap<_, _>>| {
        let place = (id.unwrap_or_default(), name.unwrap_or_default());
        Leftover::from_labels(kind, place, labels.as_ref())
    };
    let options = ListServicesOptionsBuilder::default().filters(filters).build();
    let services = match docker.list_services(Some(options)).await {
        Err(refusal) if is_not_manager(&refusal) => return Ok(None),
        services => services?,
    };
    let options = ListSecretsOptionsBuilder::default().filters(filters).build();
    let secrets = docker.list_secrets(Some(options)).await?;
    let services = services.into_iter().filter_map(|one| {
        let spec = one.spec.unwrap_or_default();
        of(LeftoverKind::Service, one.id, spec.name, spec.labels)
    });
    let secrets = secrets.into_iter().filter_map(|one| {
        let spec = one.spec.unwrap_or_default();
        of(LeftoverKind::Secret, one.id, spec.name, spec.labels)
    });
    Ok(Some(services.chain(secrets).collect()))
}

/// Lists the networks that carry the label. Networks made from a labelled configuration come first: they cannot carry
/// labels of their own.
async fn list_networks(
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

/// Returns an image's tag without the registry that Podman states where Docker does not.
fn short_tag(tag: &str) -> &str {
    let registries = ["docker.io/library/", "localhost/"];
    registries.iter().find_map(|registry| tag.strip_prefix(registry)).unwrap_or(tag)
}

/// Returns a container's name without the slash before it.
fn first_name(names: Option<&[String]>) -> String {
    let name = names.and_then(|names| names.first()).map(String::as_str).unwrap_or_default();
    name.trim_start_matches('/').to_owned()
}

/// Removes these objects: services and containers first, then the networks, secrets and images that they used.
pub(crate) fn remove(engine: &Engine, things: &[Leftover]) -> Result<(), Error> {
    let docker = engine.docker();
    let ids = |kind: LeftoverKind| {
        things.iter().filter(move |one| one.kind == kind).map(|one| one.id.as_str())
    };
    for service in ids(LeftoverKind::Service) {
        engine.request(format!("remove the service {service}"), remove_service(docker, service))?;
    }
    for pod in ids(LeftoverKind::Pod) {
        let removed = engine.wait(remove_pod(engine.address(), pod));
        let what = || format!("remove the pod {pod}");
        removed.map_err(|refusal| Error::new(what(), refusal.into_reason()))?;
    }
    engine.request("remove containers", remove_containers(docker, ids(LeftoverKind::Container)))?;
    for network in ids(LeftoverKind::Network) {
        engine.request(format!("remove the network {network}"), remove_network(docker, network))?;
    }
    for secret in ids(LeftoverKind::Secret) {
        engine.request(format!("remove the secret {secret}"), remove_secret(docker, secret))?;
    }
    for image in ids(LeftoverKind::Image) {
        engine.request(format!("remove the image {image}"), remove_image(docker, image))?;
    }
    Ok(())
}

/// Removes containers, and returns when they are gone. Podman removes a container only after those that share its network
/// namespace: one that it refuses for that reason is tried again after the others.
pub(crate) async fn remove_containers<'a>(
    docker: &Docker,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<(), Refusal> {
    let mut left: Vec<&str> = ids.into_iter().collect();
    let mut refused = None;
    for _ in 0..POLL_COUNT {
        let answers: Vec<_> = stream::iter(left)
            .map(|id| async move { (id, remove_container(docker, id).await) })
            .buffer_unordered(PARALLEL_REQUESTS)
            .collect()
            .await;
        left = Vec::new();
        for (id, answer) in answers {
            match answer {
                Err(refusal) if has_dependents(&refusal) => {
                    left.push(id);
                    refused = Some(refusal);
                }
                answer => answer?,
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(refused.unwrap_or(Refusal::RequestTimeoutError))
}

async fn remove_container(docker: &Docker, id: &str) -> Result<(), Refusal> {
    let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
    match docker.remove_container(id, Some(options)).await {
        Err(refusal) if is_not_found(&refusal) => return Ok(()),
        // The engine is removing it already, because it has ended.
        Err(refusal) if !is_conflict(&refusal) => return Err(refusal),
        Ok(()) | Err(_) => {}
    }
    for _ in 0..POLL_COUNT {
        match docker.inspect_container(id, None).await {
            Err(refusal) if is_not_found(&refusal) => return Ok(()),
            Err(refusal) if !is_unreadable(&refusal) => return Err(refusal),
            Ok(_) | Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
    Err(Refusal::RequestTimeoutError)
}

/// Removes a network. The engine may need a moment to notice that its last container is gone.
///
/// # Errors
/// The engine's refusal, unless the network is gone already.
pub async fn remove_network(docker: &Docker, id: &str) -> Result<(), Refusal> {
    let mut refused = None;
    for _ in 0..POLL_COUNT {
        match docker.remove_network(id).await {
            Ok(()) => return Ok(()),
            Err(refusal) if is_not_found(&refusal) => return Ok(()),
            Err(refusal) if is_in_use(&refusal) => refused = Some(refusal),
            Err(refusal) => return Err(refusal),
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(refused.unwrap_or(Refusal::RequestTimeoutError))
}

fn is_in_use(refusal: &Refusal) -> bool {
    let words = crate::error::error_message(refusal);
    ["active endpoints", "in use by"].iter().any(|one| words.contains(one))
}

/// Removes a service; its tasks end a moment later.
///
/// # Errors
/// The engine's refusal, unless the service is gone already.
pub async fn remove_service(docker: &Docker, id: &str) -> Result<(), Refusal> {
    ignore_not_found(docker.delete_service(id).await)
}

/// Removes a secret. The Swarm may need a moment to notice that the last service that used it is gone.
async fn remove_secret(docker: &Docker, id: &str) -> Result<(), Refusal> {
    let mut refused = None;
    for _ in 0..POLL_COUNT {
        match ignore_not_found(docker.delete_secret(id).await) {
            Err(refusal) if is_in_use(&refusal) => refused = Some(refusal),
            done => return done,
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(refused.unwrap_or(Refusal::RequestTimeoutError))
}

/// Treats an object that does not exist as removed.
fn ignore_not_found(removed: Result<(), Refusal>) -> Result<(), Refusal> {
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
