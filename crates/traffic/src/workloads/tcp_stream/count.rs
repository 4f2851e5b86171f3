//! What one thread counts of one client's flows, and the clocks by which it does.

use crate::clock;
use crate::interval::Meter;
use crate::tcp::{Accepted, StateLog, Way};
use crate::{Error, Task};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tare_record::Nanos;

/// A clock that begins once, by the machine's monotonic clock, for all threads that share it.
#[derive(Debug, Default)]
pub(super) struct Clock(OnceLock<u64>);

impl Clock {
    /// When it began, ns of the monotonic clock. The first call begins it at `now`.
    pub(super) fn begun(&self, now: u64) -> u64 {
        *self.0.get_or_init(|| now)
    }

    /// When it began; nothing where it has not.
    pub(super) fn began(&self) -> Option<Nanos> {
        self.0.get().copied().map(Nanos)
    }
}

/// The monotonic clock, ns.
pub(super) fn now() -> u64 {
    clock::now().0
}

/// A client's two clocks on one side.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Begins with the first write.
    pub(super) giving: Clock,
    /// Begins with the first payload byte that is there.
    pub(super) taking: Clock,
}

/// The clocks that the threads of a side share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The side's own: begins with whatever moves first.
    pub(super) side: Clock,
    clients: Mutex<BTreeMap<u32, Arc<Clocks>>>,
}

impl Shared {
    fn of(&self, client: u32) -> Arc<Clocks> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(clients.entry(client).or_default())
    }
}

/// What one thread counts of one client's flows.
#[derive(Debug)]
pub(super) struct Count {
    /// Which client.
    pub(super) client: u32,
    pub(super) clocks: Arc<Clocks>,
    /// What was received; nothing where none of the flows receives.
    pub(super) meter: Option<Meter>,
    /// What the kernel says of the flows that send; nothing where none of them does.
    pub(super) state: Option<StateLog>,
    /// Which of the thread's flows send.
    pub(super) giving: Vec<usize>,
}

impl Count {
    /// The counts of a thread's flows, of which those on this way send: one a client, in order.
    pub(super) fn all(
        flows: &[Accepted],
        gives: Way,
        task: &Task,
        shared: &Shared,
    ) -> Result<Vec<Self>, Error> {
        let mut of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, flow) in flows.iter().enumerate() {
            of.entry(flow.client).or_default().push(index);
        }
        let (duration, interval) = (task.duration, task.interval);
        of.into_iter()
            .map(|(client, all)| {
                let giving: Vec<_> =
                    all.iter().copied().filter(|&flow| flows[flow].way == gives).collect();
                let meter = (giving.len() < all.len()).then(|| Meter::new(duration, interval));
                let state = match giving.as_slice() {
                    [] => None,
                    some => {
                        let streams = some.iter().map(|&flow| &flows[flow].stream);
                        let log = StateLog::new(duration, interval, streams);
                        Some(log.map_err(|error| Error::io("ask for TCP_INFO", error))?)
                    }
                };
                Ok(Self { client, clocks: shared.of(client), meter, state, giving })
            })
            .collect()
    }

    /// Notes the time on the clock of what it sends; once an interval the kernel is asked about the flows.
    pub(super) fn watch<'s>(
        &mut self,
        at: u64,
        stream: impl Fn(usize) -> &'s TcpStream,
    ) -> std::io::Result<()> {
        match &mut self.state {
            Some(log) if log.is_due(at) => {
                log.ask(at, self.giving.iter().map(|&flow| stream(flow)))
            }
            _ => Ok(()),
        }
    }
}
