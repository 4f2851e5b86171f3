//! Poller of the flows of one thread: a queue, with the event that each flow waits for.

use crate::flow_group::{FlowGroup, Interest};
use crate::ready_queue::{ReadyQueue, ReadySockets};
use crate::wait_mode::WaitMode;
use rustix::event::epoll::EventFlags;
use std::io;

/// Queue with the flows of one thread.
pub(crate) struct Poller {
    queue: ReadyQueue,
    ready: ReadySockets,
    interests: Vec<Interest>,
    /// Number of flows that have not finished.
    pub(crate) open_flows: usize,
}

impl Poller {
    /// Most ready flows that one wait returns.
    const BATCH: usize = 256;

    /// Creates a poller for all flows of a group, waiting to read.
    pub(crate) fn new<L: FlowGroup>(lane: &L, wait: WaitMode) -> io::Result<Self> {
        let queue = ReadyQueue::new()?;
        if wait == WaitMode::BusyPoll {
            queue.enable_busy_poll()?;
        }
        for flow in 0..lane.flow_count() {
            let socket = lane.socket(flow);
            rustix::io::ioctl_fionbio(socket, true)?;
            queue.add(socket, flow, EventFlags::IN)?;
        }
        Ok(Self {
            queue,
            ready: ReadySockets::with_room_for(Self::BATCH),
            interests: vec![Interest::Read; lane.flow_count()],
            open_flows: lane.flow_count(),
        })
    }

    /// Updates the event that a flow waits for, if it has changed.
    pub(crate) fn update_interest<L: FlowGroup>(
        &mut self,
        lane: &L,
        flow: usize,
    ) -> io::Result<()> {
        // A flow without an event stays registered: removing it would be a call, and nothing arrives anyhow.
        let wish = match lane.interest(flow) {
            Interest::UntilDue => Interest::Read,
            other => other,
        };
        if wish == self.interests[flow] {
            return Ok(());
        }
        self.interests[flow] = wish;
        let flags = match wish {
            Interest::Read | Interest::UntilDue => EventFlags::IN,
            Interest::Write => EventFlags::OUT,
            Interest::Finished => {
                self.open_flows -= 1;
                return self.queue.remove(lane.socket(flow));
            }
        };
        self.queue.modify(lane.socket(flow), flow, flags)
    }

    /// Updates the event that every flow waits for.
    pub(crate) fn update_all<L: FlowGroup>(&mut self, lane: &L) -> io::Result<()> {
        (0..self.interests.len()).try_for_each(|flow| self.update_interest(lane, flow))
    }

    /// Waits at most this long, ns. Afterwards `ready` holds the flows whose event has occurred.
    pub(crate) fn wait(&mut self, nanos: u64, ready: &mut Vec<usize>) -> io::Result<()> {
        self.queue.wait(nanos, &mut self.ready)?;
        ready.clear();
        ready.extend(self.ready.keys());
        Ok(())
    }

    /// Fills `ready` with all flows that have not finished.
    pub(crate) fn collect_open(&self, ready: &mut Vec<usize>) {
        ready.clear();
        ready.extend(
            (0..self.interests.len()).filter(|&flow| self.interests[flow] != Interest::Finished),
        );
    }
}
