//! Connection to one Docker Engine, for use from plain threads.
//!
//! The library that speaks Docker's API is asynchronous; nothing else in this crate is. One thread runs its event loop;
//! every other thread waits for the answer to its request. A thread of its own may start only after the lab has been
//! entered, because entering needs a process with a single thread. Before that, `ask_once` asks in the calling
//! thread.

use crate::address::EngineAddress;
#[cfg(feature = "tls")]
use crate::context::client_environment::ClientEnvironment;
use crate::error::{engine_error, engine_missing};
use crate::ssh_tunnel::SshTunnel;
use bollard::errors::Error as Refusal;
use bollard::{API_DEFAULT_VERSION, Docker};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tare_network::scaled_timeout;
use tare_network::{Error, UnmetRequirement};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// Timeout of one request. Starting a container on a busy machine takes several seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Timeout of the first answer, which shows that an engine is there.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of the first answer over ssh, which has to connect first.
const SSH_CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Connection to an engine, in the version of the API that both support.
pub struct Engine {
    docker: Docker,
    /// The ssh tunnel to the engine, if it is reached by ssh.
    _tunnel: Option<SshTunnel>,
    address: EngineAddress,
    handle: Handle,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The engines of servers and clients; often the same engine.
#[derive(Clone)]
pub struct EnginePair {
    /// Engine of the servers.
    pub servers: Arc<Engine>,
    /// Engine of the clients.
    pub clients: Arc<Engine>,
}

impl EnginePair {
    /// Uses one engine for both.
    pub fn single(engine: &Arc<Engine>) -> Self {
        Self { servers: Arc::clone(engine), clients: Arc::clone(engine) }
    }
}

impl Engine {
    /// Connects to an engine, and agrees with it on a version of the API.
    ///
    /// # Errors
    /// The engine does not answer, or speaks no version of the API that tare knows.
    pub fn connect(address: &EngineAddress) -> Result<Self, Error> {
        const WHAT: &str = "reach the Docker Engine";
        let runtime = runtime().map_err(|error| Error::new(WHAT, error))?;
        let (docker, tunnel) = runtime
            .block_on(negotiate(address, REQUEST_TIMEOUT))
            .map_err(|refusal| engine_error(WHAT, &refusal, address))?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("tare-docker".to_owned())
            .spawn(move || {
                // The thread ends on a stop message, or when the sender is dropped.
                let _ = runtime.block_on(stopped);
            })
            .map_err(|error| Error::new("start a thread for Docker requests", error))?;
        Ok(Self {
            docker,
            _tunnel: tunnel,
            address: address.clone(),
            handle,
            stop: Mutex::new(Some(stop)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Returns the address of the engine.
    pub(crate) fn address(&self) -> &EngineAddress {
        &self.address
    }

    /// Returns the library's own handle.
    pub fn docker(&self) -> &Docker {
        &self.docker
    }

    /// Returns the event loop, for work that continues while no thread waits for it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits for the answer to a request.
    pub fn wait<F: Future>(&self, asked: F) -> F::Output {
        self.handle.block_on(asked)
    }

    /// Waits for the answer to a request, and converts a refusal to an error of tare's.
    ///
    /// # Errors
    /// The engine's refusal, with its remedy if it is known.
    pub fn request<T>(
        &self,
        what: impl Into<String>,
        asked: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Error> {
        self.wait(asked).map_err(|refusal| self.to_error(what, &refusal))
    }

    /// Converts a refusal of this engine to an error of tare's.
    pub(crate) fn to_error(&self, what: impl Into<String>, refusal: &Refusal) -> Error {
        engine_error(what, refusal, &self.address)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let take = |mutex: &Mutex<Option<_>>| mutex.lock().ok().and_then(|mut held| held.take());
        drop(take(&self.stop));
        if let Ok(mut thread) = self.thread.lock()
            && let Some(thread) = thread.take()
        {
            // The thread returns nothing, and a panic in it could not be reported to anyone here.
            let _ = thread.join();
        }
    }
}

/// Sends a request to an engine from the calling thread alone, and closes the connection.
pub(crate) fn ask_once<T, F>(
    address: &EngineAddress,
    timeout: Duration,
    question: impl FnOnce(Docker) -> F,
) -> Result<T, UnmetRequirement>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let runtime = runtime().map_err(|error| UnmetRequirement {
        reason: format!("cannot start the event loop for Docker requests: {error}"),
        remedy: "raise the limit of open files (`ulimit -n`)".to_owned(),
    })?;
    let asked = async {
        let (docker, _tunnel) = negotiate(address, CONNECT_TIMEOUT).await?;
        tokio::time::timeout(scaled_timeout(timeout), question(docker))
            .await
            .unwrap_or(Err(Refusal::RequestTimeoutError))
    };
    runtime.block_on(asked).map_err(|refusal| engine_missing(&refusal, address))
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Opens a handle that has agreed with the engine on a version. `limit` is the timeout of every later request, on a
/// processor that is not emulated.
async fn negotiate(
    address: &EngineAddress,
    limit: Duration,
) -> Result<(Docker, Option<SshTunnel>), Refusal> {
    let tunnel = match address {
        EngineAddress::Ssh(host) => {
            Some(SshTunnel::open(host).map_err(|err| Refusal::IOError { err })?)
        }
        EngineAddress::Unix(_) | EngineAddress::Tcp(_) | EngineAddress::Tls(..) => None,
    };
    let near =
        tunnel.as_ref().map_or_else(|| address.clone(), |one| EngineAddress::Unix(one.socket()));
    let first = if tunnel.is_some() { SSH_CONNECT_TIMEOUT } else { CONNECT_TIMEOUT };
    let greeting = open_client(&near, scaled_timeout(limit).as_secs())?.negotiate_version();
    let docker = tokio::time::timeout(scaled_timeout(limit.min(first)), greeting).await;
    Ok((docker.unwrap_or(Err(Refusal::RequestTimeoutError))?, tunnel))
}

fn open_client(address: &EngineAddress, seconds: u64) -> Result<Docker, Refusal> {
    match address {
        // An engine behind ssh is reached through the socket of its tunnel.
        EngineAddress::Ssh(host) => {
            Err(Refusal::UnsupportedURISchemeError { uri: format!("ssh://{host}") })
        }
        EngineAddress::Unix(path) => {
            Docker::connect_with_unix(&path.to_string_lossy(), seconds, API_DEFAULT_VERSION)
        }
        EngineAddress::Tcp(host) => {
            Docker::connect_with_http(&format!("tcp://{host}"), seconds, API_DEFAULT_VERSION)
        }
        #[cfg(feature = "tls")]
        EngineAddress::Tls(host, certificates) => {
            let directory = certificates
                .clone()
                .unwrap_or_else(|| ClientEnvironment::from_process().certificate_directory());
            let file = |name: &str| directory.join(name);
            let (key, certificate, authority) = (file("key.pem"), file("cert.pem"), file("ca.pem"));
            Docker::connect_with_ssl(
                &format!("tcp://{host}"),
                &key,
                &certificate,
                &authority,
                seconds,
                API_DEFAULT_VERSION,
            )
        }
        #[cfg(not(feature = "tls"))]
        EngineAddress::Tls(host, _) => Err(Refusal::UnsupportedURISchemeError {
            uri: format!("tcp://{host} behind TLS: build tare with --features docker-tls"),
        }),
    }
}
