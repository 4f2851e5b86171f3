//! One engine, spoken to from plain threads.
//!
//! The library that speaks Docker's API is asynchronous; nothing else here is. One thread runs its event loop; every
//! other thread waits for what it asked. A thread of its own may only start once the lab has been entered, for that
//! needs a process with a single thread; [`ask`] asks before that, in the calling thread.

use crate::address::Address;
use crate::patience::patience;
use crate::ssh::Tunnel;
use crate::trouble::{failed, missing};
use bollard::errors::Error as Refusal;
use bollard::{API_DEFAULT_VERSION, Docker};
use std::future::Future;
#[cfg(feature = "tls")]
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tare_network::{Error, Missing};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// How long the engine may take over one request. To start a container on a busy machine takes a few.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long it may take to answer whether it is there at all.
const GREETING: Duration = Duration::from_secs(5);

/// The same where ssh has to greet first.
const FAR_GREETING: Duration = Duration::from_secs(20);

/// A connection to an engine, in its version of the API.
pub(crate) struct Engine {
    docker: Docker,
    /// The way to an engine that is reached by ssh.
    _tunnel: Option<Tunnel>,
    address: Address,
    handle: Handle,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The engines on which servers and clients are: often one.
#[derive(Clone)]
pub(crate) struct Sides {
    pub(crate) servers: Arc<Engine>,
    pub(crate) clients: Arc<Engine>,
}

impl Sides {
    /// One engine for both.
    pub(crate) fn one(engine: &Arc<Engine>) -> Self {
        Self { servers: Arc::clone(engine), clients: Arc::clone(engine) }
    }
}

impl Engine {
    /// Connects, and agrees on a version of the API.
    pub(crate) fn connect(address: &Address) -> Result<Self, Error> {
        const WHAT: &str = "reach the Docker Engine";
        let runtime = runtime().map_err(|error| Error::new(WHAT, error))?;
        let (docker, tunnel) = runtime
            .block_on(greeted(address, PATIENCE))
            .map_err(|refusal| failed(WHAT, &refusal, address))?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("tare-docker".to_owned())
            .spawn(move || {
                // It ends when it is told to, or when nobody is left to tell it.
                let _ = runtime.block_on(stopped);
            })
            .map_err(|error| Error::new("start a thread", error))?;
        Ok(Self {
            docker,
            _tunnel: tunnel,
            address: address.clone(),
            handle,
            stop: Mutex::new(Some(stop)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The library's own handle.
    pub(crate) fn docker(&self) -> &Docker {
        &self.docker
    }

    /// The event loop, for what goes on while nobody waits for it.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits for something that was asked of the engine.
    pub(crate) fn wait<F: Future>(&self, asked: F) -> F::Output {
        self.handle.block_on(asked)
    }

    /// The same, with what the engine refuses as an error of ours.
    pub(crate) fn get<T>(
        &self,
        what: impl Into<String>,
        asked: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Error> {
        self.wait(asked).map_err(|refusal| self.failed(what, &refusal))
    }

    /// An error of ours from a refusal of this engine.
    pub(crate) fn failed(&self, what: impl Into<String>, refusal: &Refusal) -> Error {
        failed(what, refusal, &self.address)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let take = |mutex: &Mutex<Option<_>>| mutex.lock().ok().and_then(|mut held| held.take());
        drop(take(&self.stop));
        if let Ok(mut thread) = self.thread.lock()
            && let Some(thread) = thread.take()
        {
            // It returns nothing, and there is nobody left to tell that it panicked.
            let _ = thread.join();
        }
    }
}

/// Asks an engine something in the calling thread alone, and hangs up.
pub(crate) fn ask<T, F>(address: &Address, question: impl FnOnce(Docker) -> F) -> Result<T, Missing>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let runtime = runtime().map_err(|error| Missing {
        reason: format!("cannot wait for Docker: {error}"),
        remedy: "raise the limit of open files".to_owned(),
    })?;
    let asked = async {
        let (docker, _tunnel) = greeted(address, GREETING).await?;
        tokio::time::timeout(patience(GREETING), question(docker))
            .await
            .unwrap_or(Err(Refusal::RequestTimeoutError))
    };
    runtime.block_on(asked).map_err(|refusal| missing(&refusal, address))
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// A handle that has agreed with the engine on a version; `limit` is for every later request too, on a processor.
async fn greeted(address: &Address, limit: Duration) -> Result<(Docker, Option<Tunnel>), Refusal> {
    let tunnel = match address {
        Address::Ssh(host) => Some(Tunnel::open(host).map_err(|err| Refusal::IOError { err })?),
        Address::Unix(_) | Address::Tcp(_) | Address::Tls(..) => None,
    };
    let near = tunnel.as_ref().map_or_else(|| address.clone(), |one| Address::Unix(one.socket()));
    let first = if tunnel.is_some() { FAR_GREETING } else { GREETING };
    let greeting = open(&near, patience(limit).as_secs())?.negotiate_version();
    let docker = tokio::time::timeout(patience(limit.min(first)), greeting).await;
    Ok((docker.unwrap_or(Err(Refusal::RequestTimeoutError))?, tunnel))
}

fn open(address: &Address, seconds: u64) -> Result<Docker, Refusal> {
    match address {
        // It is spoken to by its tunnel.
        Address::Ssh(host) => {
            Err(Refusal::UnsupportedURISchemeError { uri: format!("ssh://{host}") })
        }
        Address::Unix(path) => {
            Docker::connect_with_unix(&path.to_string_lossy(), seconds, API_DEFAULT_VERSION)
        }
        Address::Tcp(host) => {
            Docker::connect_with_http(&format!("tcp://{host}"), seconds, API_DEFAULT_VERSION)
        }
        #[cfg(feature = "tls")]
        Address::Tls(host, certificates) => {
            let named = certificates.clone().map(PathBuf::into_os_string);
            let named = named.or_else(|| std::env::var_os("DOCKER_CERT_PATH"));
            let directory = named.map_or_else(
                || {
                    let home = std::env::var_os("HOME").unwrap_or_default();
                    PathBuf::from(home).join(".docker")
                },
                PathBuf::from,
            );
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
        Address::Tls(host, _) => Err(Refusal::UnsupportedURISchemeError {
            uri: format!("tcp://{host} behind TLS: build tare with --features docker-tls"),
        }),
    }
}
