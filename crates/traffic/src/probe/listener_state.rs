//! Configuration of a listener, and the state that all of its connections share.

use super::caps::Caps;
use super::handshake_queue::HandshakeQueue;
use super::notice::{ListenerNotice, NoticeLog};
use super::ports::TrialPorts;
use super::quota::ResourceQuota;
use super::token::Token;
use crate::WorkloadRegistry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
pub(super) struct ListenerState {
    pub(super) registry: WorkloadRegistry,
    pub(super) token: Option<Token>,
    pub(super) ports: TrialPorts,
    pub(super) quota: Arc<ResourceQuota>,
    pub(super) handshakes: Arc<HandshakeQueue>,
    pub(super) notices: NoticeLog,
    pub(super) stop: AtomicBool,
    /// Number of connections that have a thread.
    pub(super) connections: AtomicUsize,
}

impl ListenerState {
    pub(super) fn new(
        terms: ListenerConfig,
        registry: WorkloadRegistry,
        tell: impl Fn(&ListenerNotice) + Send + Sync + 'static,
    ) -> Self {
        Self {
            registry,
            token: terms.token,
            ports: terms.ports,
            quota: ResourceQuota::new(terms.caps),
            handshakes: Arc::default(),
            notices: NoticeLog::new(tell),
            stop: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        }
    }
}

/// Counts one connection that has a thread, until it is dropped.
pub(super) struct ConnectionGuard(pub(super) Arc<ListenerState>);

impl ConnectionGuard {
    pub(super) fn new(house: &Arc<ListenerState>) -> Self {
        house.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(house))
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Release);
    }
}
