//! Configuration of a listener, and the state that all of its connections share.

use crate::caps::Caps;
use crate::failed_proofs::FailedProofs;
use crate::handshake_queue::HandshakeQueue;
use crate::machine_limits::MachineLimits;
use crate::notice::{ListenerNotice, NoticeLog};
use crate::ports::TrialPorts;
use crate::quota::ResourceQuota;
use crate::token::Token;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tare_traffic::WorkloadRegistry;

/// Configuration of a listener.
#[derive(Clone, Debug, Default)]
pub struct ListenerConfig {
    /// Token that clients must prove. `None`: every client that reaches the listener may use it, so it may listen on
    /// loopback only.
    pub token: Option<Token>,
    /// Limits for all clients.
    pub caps: Caps,
    /// Ports from which those of trials are chosen.
    pub ports: TrialPorts,
}

/// State that all connections share.
pub(crate) struct ListenerState {
    pub(crate) registry: WorkloadRegistry,
    pub(crate) token: Option<Token>,
    pub(crate) ports: TrialPorts,
    pub(crate) quota: Arc<ResourceQuota>,
    pub(crate) handshakes: Arc<HandshakeQueue>,
    pub(crate) failed_proofs: FailedProofs,
    pub(crate) notices: NoticeLog,
    pub(crate) stop: AtomicBool,
    /// Number of connections that have a thread.
    pub(crate) connections: AtomicUsize,
}

impl ListenerState {
    pub(crate) fn new(
        terms: ListenerConfig,
        registry: WorkloadRegistry,
        tell: impl Fn(&ListenerNotice) + Send + Sync + 'static,
    ) -> Self {
        let machine = MachineLimits::detect(&terms.caps);
        let quota = ResourceQuota::new(terms.caps, machine);
        Self {
            registry,
            token: terms.token,
            ports: terms.ports,
            quota,
            handshakes: Arc::default(),
            failed_proofs: FailedProofs::default(),
            notices: NoticeLog::new(tell),
            stop: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        }
    }
}

/// Counts one connection that has a thread, until it is dropped.
pub(crate) struct ConnectionGuard(pub(crate) Arc<ListenerState>);

impl ConnectionGuard {
    pub(crate) fn new(house: &Arc<ListenerState>) -> Self {
        house.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(house))
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Release);
    }
}
