//! Poller of the flows of one thread: an epoll instance, with the event that each flow waits for.

use crate::flow_group::{FlowGroup, Interest};
use crate::sys::enable_epoll_busy_poll;
use crate::wait_mode::{WaitMode, timespec};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;

/// Epoll instance with the flows of one thread.
pub(crate) struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    interests: Vec<Interest>,
    /// Number of flows that have not finished.
    pub(crate) open_flows: usize,
}

impl Poller {
    /// Most ready flows that one wait returns.
    const BATCH: usize = 256;

    /// Creates a poller for all flows of a group, waiting to read.
    pub(crate) fn new<L: FlowGroup>(lane: &L, wait: WaitMode) -> io::Result<Self> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        if wait == WaitMode::BusyPoll {
            enable_epoll_busy_poll(&queue)?;
        }
        for flow in 0..lane.flow_count() {
            let socket = lane.socket(flow);
            rustix::io::ioctl_fionbio(socket, true)?;
            epoll::add(&queue, socket, event_data(flow), epoll::EventFlags::IN)?;
        }
        Ok(Self {
            epoll: queue,
            events: Vec::with_capacity(Self::BATCH),
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
            Interest::Read | Interest::UntilDue => epoll::EventFlags::IN,
            Interest::Write => epoll::EventFlags::OUT,
            Interest::Finished => {
                self.open_flows -= 1;
                return Ok(epoll::delete(&self.epoll, lane.socket(flow))?);
            }
        };
        Ok(epoll::modify(&self.epoll, lane.socket(flow), event_data(flow), flags)?)
    }

    /// Updates the event that every flow waits for.
    pub(crate) fn update_all<L: FlowGroup>(&mut self, lane: &L) -> io::Result<()> {
        (0..self.interests.len()).try_for_each(|flow| self.update_interest(lane, flow))
    }

    /// Waits at most this long, ns. Afterwards `ready` holds the flows whose event has occurred.
    pub(crate) fn wait(&mut self, nanos: u64, ready: &mut Vec<usize>) -> io::Result<()> {
        self.events.clear();
        ready.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timespec(nanos))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().map(|event| event.data.u64() as usize));
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

fn event_data(flow: usize) -> epoll::EventData {
    epoll::EventData::new_u64(flow as u64)
}
