//! The loop that drives the flows of one thread: one flow blocks in its calls, several wait in epoll.
//!
//! What a flow does in its turn is the workload's; when its turn comes is decided here.

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a thread in which nothing happens looks whether it shall end.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// What a flow waits for before its next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Something to read, or the end.
    Read,
    /// Room to write.
    Write,
    /// Nothing: it has come to its end.
    Over,
}

/// The flows of one thread.
pub(crate) trait Lane: Send {
    /// How many flows it has.
    fn flows(&self) -> usize;

    /// A flow's socket.
    fn socket(&self, flow: usize) -> &TcpStream;

    /// Called once on the lane's own thread before the first turn.
    fn begin(&mut self) {}

    /// What a flow waits for.
    fn wish(&self, flow: usize) -> Wish;

    /// Lets a flow do one step; `WouldBlock` where it cannot do any now.
    fn turn(&mut self, flow: usize) -> io::Result<()>;
}

/// How long a side waits for flows that do not come to their end.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    limited: AtomicBool,
    until: OnceLock<Instant>,
}

impl Patience {
    /// Waits until this instant, and no longer. The first limit counts.
    pub(crate) fn limit(&self, until: Instant) {
        self.until.get_or_init(|| until);
        self.limited.store(true, Ordering::Release);
    }

    /// Whether it is time to give up.
    pub(crate) fn is_over(&self) -> bool {
        self.limited.load(Ordering::Acquire)
            && self.until.get().is_some_and(|until| Instant::now() >= *until)
    }
}

/// Drives all flows of a lane to their end, or until patience is over.
pub(crate) fn drive<L: Lane>(lane: &mut L, patience: &Patience) -> io::Result<()> {
    match lane.flows() {
        0 => Ok(()),
        1 => drive_one(lane, patience),
        _ => drive_many(lane, patience),
    }
}

fn drive_one<L: Lane>(lane: &mut L, patience: &Patience) -> io::Result<()> {
    let socket = lane.socket(0);
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(TICK))?;
    socket.set_write_timeout(Some(TICK))?;
    lane.begin();
    while lane.wish(0) != Wish::Over && !patience.is_over() {
        take_turn(lane, 0)?;
    }
    Ok(())
}

fn drive_many<L: Lane>(lane: &mut L, patience: &Patience) -> io::Result<()> {
    let mut waiting = Waiting::new(lane)?;
    let mut ready = Vec::with_capacity(Waiting::BATCH);
    lane.begin();
    for flow in 0..lane.flows() {
        waiting.note(lane, flow)?;
    }
    while waiting.alive > 0 && !patience.is_over() {
        waiting.wait(&mut ready)?;
        if ready.is_empty() {
            // Nothing moves: flows that wait in vain must still see that their time is over.
            ready.extend((0..lane.flows()).filter(|&flow| waiting.wishes[flow] != Wish::Over));
        }
        for &flow in &ready {
            take_turn(lane, flow)?;
            waiting.note(lane, flow)?;
        }
    }
    Ok(())
}

/// The flows of a lane in epoll, with what each waits for.
struct Waiting {
    queue: OwnedFd,
    events: Vec<epoll::Event>,
    wishes: Vec<Wish>,
    /// How many have not come to their end.
    alive: usize,
}

impl Waiting {
    /// How many ready flows one wait returns.
    const BATCH: usize = 256;

    /// All flows of a lane, waiting for nothing yet.
    fn new<L: Lane>(lane: &L) -> io::Result<Self> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for flow in 0..lane.flows() {
            lane.socket(flow).set_nonblocking(true)?;
            epoll::add(&queue, lane.socket(flow), data(flow), epoll::EventFlags::empty())?;
        }
        Ok(Self {
            queue,
            events: Vec::with_capacity(Self::BATCH),
            wishes: vec![Wish::Over; lane.flows()],
            alive: lane.flows(),
        })
    }

    /// Notes what a flow waits for now, where that has changed.
    fn note<L: Lane>(&mut self, lane: &L, flow: usize) -> io::Result<()> {
        let wish = lane.wish(flow);
        if wish == self.wishes[flow] {
            return Ok(());
        }
        self.wishes[flow] = wish;
        let flags = match wish {
            Wish::Read => epoll::EventFlags::IN,
            Wish::Write => epoll::EventFlags::OUT,
            Wish::Over => {
                self.alive -= 1;
                return Ok(epoll::delete(&self.queue, lane.socket(flow))?);
            }
        };
        Ok(epoll::modify(&self.queue, lane.socket(flow), data(flow), flags)?)
    }

    /// Waits for a tick at most; `ready` are then the flows whose wish is granted.
    fn wait(&mut self, ready: &mut Vec<usize>) -> io::Result<()> {
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        self.events.clear();
        ready.clear();
        match epoll::wait(&self.queue, spare_capacity(&mut self.events), Some(&tick)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().map(|event| event.data.u64() as usize));
        Ok(())
    }
}

fn data(flow: usize) -> epoll::EventData {
    epoll::EventData::new_u64(flow as u64)
}

/// One turn; that a flow could do nothing is no error.
fn take_turn<L: Lane>(lane: &mut L, flow: usize) -> io::Result<()> {
    match lane.turn(flow) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(())
        }
        other => other,
    }
}
