//! The flows of a lane in epoll, with what each waits for.

use crate::drive::{Lane, Wish};
use crate::sys::busy_poll_many;
use crate::wait::{Wait, timespec};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;

/// The flows of a lane in epoll.
pub(crate) struct Ready {
    queue: OwnedFd,
    events: Vec<epoll::Event>,
    wishes: Vec<Wish>,
    /// How many have not come to their end.
    pub(crate) alive: usize,
}

impl Ready {
    /// How many ready flows one wait returns.
    const BATCH: usize = 256;

    /// All flows of a lane, waiting to read.
    pub(crate) fn new<L: Lane>(lane: &L, wait: Wait) -> io::Result<Self> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        if wait == Wait::BusyPoll {
            busy_poll_many(&queue)?;
        }
        for flow in 0..lane.flows() {
            let socket = lane.socket(flow);
            rustix::io::ioctl_fionbio(socket, true)?;
            epoll::add(&queue, socket, data(flow), epoll::EventFlags::IN)?;
        }
        Ok(Self {
            queue,
            events: Vec::with_capacity(Self::BATCH),
            wishes: vec![Wish::Read; lane.flows()],
            alive: lane.flows(),
        })
    }

    /// Notes what a flow waits for now, where that has changed.
    pub(crate) fn note<L: Lane>(&mut self, lane: &L, flow: usize) -> io::Result<()> {
        // A flow that rests keeps the kernel's attention: to withdraw it would be a call, and nothing comes anyhow.
        let wish = match lane.wish(flow) {
            Wish::Rest => Wish::Read,
            other => other,
        };
        if wish == self.wishes[flow] {
            return Ok(());
        }
        self.wishes[flow] = wish;
        let flags = match wish {
            Wish::Read | Wish::Rest => epoll::EventFlags::IN,
            Wish::Write => epoll::EventFlags::OUT,
            Wish::Over => {
                self.alive -= 1;
                return Ok(epoll::delete(&self.queue, lane.socket(flow))?);
            }
        };
        Ok(epoll::modify(&self.queue, lane.socket(flow), data(flow), flags)?)
    }

    /// Notes what every flow waits for now.
    pub(crate) fn note_all<L: Lane>(&mut self, lane: &L) -> io::Result<()> {
        (0..self.wishes.len()).try_for_each(|flow| self.note(lane, flow))
    }

    /// Waits so long at most, ns; `ready` are then the flows whose wish is granted.
    pub(crate) fn wait(&mut self, nanos: u64, ready: &mut Vec<usize>) -> io::Result<()> {
        self.events.clear();
        ready.clear();
        match epoll::wait(&self.queue, spare_capacity(&mut self.events), Some(&timespec(nanos))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().map(|event| event.data.u64() as usize));
        Ok(())
    }

    /// All flows that have not come to their end.
    pub(crate) fn all(&self, ready: &mut Vec<usize>) {
        ready.clear();
        ready.extend((0..self.wishes.len()).filter(|&flow| self.wishes[flow] != Wish::Over));
    }
}

fn data(flow: usize) -> epoll::EventData {
    epoll::EventData::new_u64(flow as u64)
}
