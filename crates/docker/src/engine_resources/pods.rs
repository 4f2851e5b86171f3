//! Pods among the resources of a network, by Podman's own API.

use super::EngineResources;
use crate::error::known_remedy;
use crate::podman::libpod::LibpodRequest;
use crate::podman::pod_container;
use bollard::errors::Error as Refusal;
use bollard::models::ContainerCreateBody;
use serde_json::{Value, json};
use tare_network::Error;

impl EngineResources {
    /// Sends a request of Podman's own API.
    ///
    /// # Errors
    /// Podman's refusal, with its remedy if it is known.
    pub(crate) fn ask_podman(&self, what: &str, request: LibpodRequest) -> Result<Value, Error> {
        let engine = self.engine();
        engine.wait(request.send(engine.address())).map_err(|refusal| {
            let reason = refusal.into_reason();
            let remedy = known_remedy(&reason);
            Error::new(what, reason).with_remedy(remedy)
        })
    }

    /// Makes a pod, and returns its name. The request is completed by a name and the labels.
    ///
    /// # Errors
    /// The engine is not Podman, or refuses the pod.
    pub(crate) fn create_pod(&self, mut request: Value) -> Result<String, Error> {
        let name = self.unique_name("pod");
        request["name"] = name.clone().into();
        request["labels"] = json!(self.labels());
        request["sysctl"] = json!(self.namespace_sysctls());
        self.ask_podman("create a pod", LibpodRequest::post("/pods/create", request))?;
        self.with_created(|all| all.pods.push(name.clone()));
        Ok(name)
    }

    /// Makes a container in a pod, and returns its id.
    pub(super) async fn create_in_pod(
        &self,
        request: ContainerCreateBody,
        name: &str,
        pod: &str,
    ) -> Result<String, Refusal> {
        let refused = |message: String| Refusal::DockerStreamError { error: message };
        let request = pod_container::in_pod(request, name, pod).map_err(refused)?;
        let request = LibpodRequest::post("/containers/create", request);
        let made = request.send(self.engine().address()).await;
        let made = made.map_err(|refusal| refused(refusal.into_reason()))?;
        let id = made["Id"].as_str().map(str::to_owned);
        id.ok_or_else(|| refused("Podman stated no id of the container".to_owned()))
    }
}
