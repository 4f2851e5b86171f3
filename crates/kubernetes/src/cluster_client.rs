//! Client of a cluster's API, for use from plain threads.
//!
//! The library that speaks the API is asynchronous; nothing else of tare is. One thread runs its event loop; every other
//! thread waits for the answer to its request. A thread of its own may start only after the lab has been entered, because
//! entering needs a process with a single thread. Before that, [`ask_once`] asks in the calling thread.

use crate::cluster_error::{cluster_error, config_error};
use crate::options::ClusterOptions;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::future::Future;
use std::sync::{Mutex, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use tare_network::{Error, scaled_timeout};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// Client of a cluster's API.
pub(crate) struct ClusterClient {
    client: Client,
    namespace: String,
    handle: Handle,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl ClusterClient {
    /// Reads the configuration, and starts the event loop. No request is sent yet.
    pub(crate) fn start(options: &ClusterOptions) -> Result<Self, Error> {
        const WHAT: &str = "reach the Kubernetes cluster";
        let runtime = runtime().map_err(|error| Error::new(WHAT, error))?;
        let config = runtime.block_on(read_config(options))?;
        let namespace = config.default_namespace.clone();
        let client = runtime
            .block_on(async { Client::try_from(config) })
            .map_err(|error| cluster_error(WHAT, &error))?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("tare-kubernetes".to_owned())
            .spawn(move || {
                // The thread ends on a stop message, or when the sender is dropped.
                let _ = runtime.block_on(stopped);
            })
            .map_err(|error| Error::new("start a thread for requests to the cluster", error))?;
        Ok(Self {
            client,
            namespace,
            handle,
            stop: Mutex::new(Some(stop)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Returns the library's own client.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the namespace in which everything is made.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the event loop, for work that continues while no thread waits for it.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits for the answer to a request.
    pub(crate) fn wait<F: Future>(&self, asked: F) -> F::Output {
        self.handle.block_on(asked)
    }
}

impl Drop for ClusterClient {
    fn drop(&mut self) {
        drop(self.stop.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The thread returns nothing, and a panic in it could not be reported to anyone here.
            let _ = thread.join();
        }
    }
}

/// Address of a cluster, and the namespace of a user's objects there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterAddress {
    /// Address of the API server.
    pub(crate) url: String,
    /// Namespace in which everything is made.
    pub(crate) namespace: String,
}

/// Sends requests from the calling thread alone, and closes the connection.
pub(crate) fn ask_once<T, F>(
    options: &ClusterOptions,
    question: impl FnOnce(Client, ClusterAddress) -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    const WHAT: &str = "reach the Kubernetes cluster";
    let runtime = runtime().map_err(|error| Error::new(WHAT, error))?;
    runtime.block_on(async {
        let config = read_config(options).await?;
        let address = ClusterAddress {
            url: config.cluster_url.to_string(),
            namespace: config.default_namespace.clone(),
        };
        let url = address.url.clone();
        let client = Client::try_from(config).map_err(|error| cluster_error(WHAT, &error))?;
        let (begun, limit) = (Instant::now(), scaled_timeout(options.request_timeout));
        match tokio::time::timeout(limit, question(client, address)).await {
            Ok(Ok(answer)) => Ok(answer),
            // A connection that does not come about in that time is an error of the library's.
            Ok(Err(error)) if begun.elapsed() < limit => Err(error),
            Ok(Err(_)) | Err(_) => {
                Err(Error::new(WHAT, format!("{url} does not answer within {limit:?}")).with_remedy(
                    "check the cluster with `kubectl get --raw /readyz`, or use a longer --request-timeout",
                ))
            }
        }
    })
}

fn runtime() -> std::io::Result<Runtime> {
    install_crypto();
    Builder::new_current_thread().enable_all().build()
}

/// Chooses the implementation of cryptography for the whole process. Another that was chosen before stays.
fn install_crypto() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let _ = rustls_graviola::default_provider().install_default();
    });
}

/// Reads the configuration as kubectl does: the files of KUBECONFIG, else ~/.kube/config, else the pod's own service
/// account.
async fn read_config(options: &ClusterOptions) -> Result<Config, Error> {
    let chosen =
        KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
    let is_named = options.kubeconfig.is_some()
        || options.context.is_some()
        || std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty());
    let mut config = if let Some(path) = &options.kubeconfig {
        let file = Kubeconfig::read_from(path).map_err(|error| config_error(&error))?;
        Config::from_custom_kubeconfig(file, &chosen).await.map_err(|error| config_error(&error))?
    } else if is_named {
        Config::from_kubeconfig(&chosen).await.map_err(|error| config_error(&error))?
    } else {
        Config::infer().await.map_err(|error| config_error(&error))?
    };
    if let Some(namespace) = &options.namespace {
        config.default_namespace.clone_from(namespace);
    }
    if let Some(user) = &options.impersonated_user {
        config.auth_info.impersonate = Some(user.clone());
    }
    config.connect_timeout = Some(scaled_timeout(options.request_timeout));
    Ok(config)
}
