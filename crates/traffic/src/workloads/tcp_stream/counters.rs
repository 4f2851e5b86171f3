//! Counters of one client's flows on one thread, and the epochs from which their times count.

use crate::byte_meter::ByteMeter;
use crate::clock;
use crate::tcp::{AcceptedFlow, FlowDirection, TcpStateLog};
use crate::{Error, TrialTask};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tare_record::Nanos;

/// Epoch on the machine's monotonic clock, set once for all threads that share it.
#[derive(Debug, Default)]
pub(super) struct SharedEpoch(OnceLock<u64>);

impl SharedEpoch {
    /// Returns the epoch, ns of the monotonic clock. The first call sets it to `now`.
    pub(super) fn start(&self, now: u64) -> u64 {
        *self.0.get_or_init(|| now)
    }

    /// Returns the epoch. Returns `None` if it has not been set.
    pub(super) fn started_at(&self) -> Option<Nanos> {
        self.0.get().copied().map(Nanos)
    }
}

/// Returns the monotonic time, ns.
pub(super) fn now() -> u64 {
    clock::now().0
}

/// Two epochs of a client on one side.
#[derive(Debug, Default)]
pub(super) struct ClientEpochs {
    /// Time of the first write.
    pub(super) sending: SharedEpoch,
    /// Arrival of the first payload byte.
    pub(super) receiving: SharedEpoch,
}

/// Epochs that the threads of a side share.
#[derive(Debug, Default)]
pub(super) struct SideEpochs {
    /// Epoch of the side: its first event.
    pub(super) side: SharedEpoch,
    clients: Mutex<BTreeMap<u32, Arc<ClientEpochs>>>,
}

impl SideEpochs {
    fn for_client(&self, client: u32) -> Arc<ClientEpochs> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(clients.entry(client).or_default())
    }
}

/// Counters of one client's flows on one thread.
#[derive(Debug)]
pub(super) struct ClientCounters {
    /// Number of the client.
    pub(super) client: u32,
    pub(super) clocks: Arc<ClientEpochs>,
    /// Received bytes. `None` if none of the flows receives.
    pub(super) meter: Option<ByteMeter>,
    /// Kernel statistics of the flows that send. `None` if none of them does.
    pub(super) state: Option<TcpStateLog>,
    /// Indices of the thread's flows that send.
    pub(super) senders: Vec<usize>,
}

impl ClientCounters {
    /// Creates the counters of a thread's flows, one for each client, in order. Flows in direction `gives` send.
    pub(super) fn for_flows(
        flows: &[AcceptedFlow],
        gives: FlowDirection,
        task: &TrialTask,
        shared: &SideEpochs,
    ) -> Result<Vec<Self>, Error> {
        let mut of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, flow) in flows.iter().enumerate() {
            of.entry(flow.origin.client).or_default().push(index);
        }
        let (duration, interval) = (task.duration, task.interval);
        of.into_iter()
            .map(|(client, all)| {
                let giving: Vec<_> =
                    all.iter().copied().filter(|&flow| flows[flow].direction == gives).collect();
                let meter = (giving.len() < all.len()).then(|| ByteMeter::new(duration, interval));
                let state = match giving.as_slice() {
                    [] => None,
                    some => {
                        let streams = some.iter().map(|&flow| &flows[flow].stream);
                        let log = TcpStateLog::new(duration, interval, streams);
                        Some(log.map_err(|error| Error::io("read TCP_INFO", error))?)
                    }
                };
                Ok(Self {
                    client,
                    clocks: shared.for_client(client),
                    meter,
                    state,
                    senders: giving,
                })
            })
            .collect()
    }

    /// Lets the retransmissions so far, before anything counts, be those of nobody.
    pub(super) fn forget_retransmits<'s>(
        &mut self,
        stream: impl Fn(usize) -> &'s TcpStream,
    ) -> std::io::Result<()> {
        match &mut self.state {
            Some(log) => log.forget_retransmits(self.senders.iter().map(|&flow| stream(flow))),
            None => Ok(()),
        }
    }

    /// Handles the time since the first write: once an interval, reads the kernel's statistics of the flows.
    pub(super) fn sample_kernel<'s>(
        &mut self,
        at: u64,
        stream: impl Fn(usize) -> &'s TcpStream,
    ) -> std::io::Result<()> {
        match &mut self.state {
            Some(log) if log.is_due(at) => {
                log.sample(at, self.senders.iter().map(|&flow| stream(flow)))
            }
            _ => Ok(()),
        }
    }
}
