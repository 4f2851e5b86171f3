//! The loop that drives the flows of one thread: one flow waits in its own calls, several wait in epoll.
//!
//! What a flow does in its turn is the workload's; when its turn comes is decided here, by how the thread shall wait.

use crate::clock;
use crate::ready::Ready;
use crate::wait::{Wait, precise_timers};
use std::io;
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a thread in which nothing happens looks whether it shall end.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// The same, ns.
const TICK_NANOS: u64 = 20_000_000;

/// After how many turns a lane looks at the clock: often enough for a tick, seldom enough to cost nothing.
const TURNS: u32 = 64;

/// One flow in so many that moves is enough for a spinning thread to try all of them the next time: a call in vain
/// takes about 0.1 µs, and spares a share of the wait and of the kernel's book-keeping for it.
const BUSY: usize = 4;

/// What a flow waits for before its next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Something to read, or the end.
    Read,
    /// Room to write.
    Write,
    /// Nothing, until its lane has looked at the clock.
    Rest,
    /// Nothing: it has come to its end.
    Over,
}

/// The flows of one thread.
pub(crate) trait Lane: Send {
    /// How many flows it has.
    fn flows(&self) -> usize;

    /// A flow's socket.
    fn socket(&self, flow: usize) -> BorrowedFd<'_>;

    /// Called once on the lane's own thread before the first turn.
    fn begin(&mut self) {}

    /// What a flow waits for.
    fn wish(&self, flow: usize) -> Wish;

    /// Lets a flow do one step; `WouldBlock` where it cannot do any now.
    fn turn(&mut self, flow: usize) -> io::Result<()>;

    /// When something is to be done that nobody sends, by the monotonic clock; nothing while there is no such thing.
    fn due(&self) -> Option<u64> {
        None
    }

    /// Looks at the clock. Called when something is due, and every tick or some dozens of turns.
    fn look(&mut self, _now: u64) -> io::Result<()> {
        Ok(())
    }
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
pub(crate) fn drive<L: Lane>(lane: &mut L, wait: Wait, patience: &Patience) -> io::Result<()> {
    match lane.flows() {
        0 => Ok(()),
        1 => drive_one(lane, wait, patience),
        _ => drive_many(lane, wait, patience),
    }
}

fn drive_one<L: Lane>(lane: &mut L, wait: Wait, patience: &Patience) -> io::Result<()> {
    let idle = prepare_one(lane.socket(0), wait)?;
    precise_timers();
    lane.begin();
    let mut turns = 0;
    loop {
        match lane.wish(0) {
            Wish::Over => return Ok(()),
            Wish::Rest => {
                rest(lane, wait);
                turns = TURNS;
            }
            Wish::Read | Wish::Write => turns += if take_turn(lane, 0)? { 1 } else { idle },
        }
        if turns >= TURNS {
            turns = 0;
            if patience.is_over() {
                return Ok(());
            }
            lane.look(clock::now().0)?;
        }
    }
}

/// Prepares the socket of a lane's only flow; says how many turns one counts for that could do nothing.
fn prepare_one(socket: BorrowedFd<'_>, wait: Wait) -> io::Result<u32> {
    rustix::io::ioctl_fionbio(socket, wait == Wait::Spin)?;
    if wait == Wait::Spin {
        return Ok(1);
    }
    // It returns by itself after a tick: then it is time for a look.
    let socket = TcpStream::from(socket.try_clone_to_owned()?);
    socket.set_read_timeout(Some(TICK))?;
    socket.set_write_timeout(Some(TICK))?;
    Ok(TURNS)
}

/// Waits until something is due, but no longer than a tick.
fn rest<L: Lane>(lane: &L, wait: Wait) {
    let tick = clock::now().0 + TICK_NANOS;
    wait.until(lane.due().map_or(tick, |due| due.min(tick)));
}

fn drive_many<L: Lane>(lane: &mut L, wait: Wait, patience: &Patience) -> io::Result<()> {
    let mut waiting = Ready::new(lane, wait)?;
    let mut ready = Vec::with_capacity(lane.flows());
    precise_timers();
    lane.begin();
    let mut clock = Clock::new(wait);
    let mut moved = 0;
    waiting.note_all(lane)?;
    while waiting.alive > 0 && !patience.is_over() {
        let nanos = clock.may_sleep(lane.due());
        if wait == Wait::Spin && moved * BUSY > waiting.alive {
            // Most likely so many are ready again that asking which costs more than trying all.
            waiting.all(&mut ready);
        } else {
            waiting.wait(nanos, &mut ready)?;
        }
        if ready.is_empty() && nanos == TICK_NANOS {
            // Nothing moves: flows that wait in vain must still see that their time is over.
            waiting.all(&mut ready);
        }
        moved = 0;
        for &flow in &ready {
            moved += usize::from(take_turn(lane, flow)?);
            waiting.note(lane, flow)?;
        }
        if clock.is_time(lane.due()) {
            lane.look(clock.now)?;
            waiting.note_all(lane)?;
        }
    }
    Ok(())
}

/// When a lane of several flows looks at the clock.
struct Clock {
    wait: Wait,
    now: u64,
    next: u64,
    waits: u32,
}

impl Clock {
    fn new(wait: Wait) -> Self {
        Self { wait, now: clock::now().0, next: 0, waits: 0 }
    }

    /// How long the next wait may sleep, ns.
    fn may_sleep(&mut self, due: Option<u64>) -> u64 {
        if self.wait == Wait::Spin {
            return 0;
        }
        due.map_or(TICK_NANOS, |due| {
            self.now = clock::now().0;
            self.wait.asleep(due.saturating_sub(self.now)).min(TICK_NANOS)
        })
    }

    /// Whether a look is due after a wait. A thread that spins reads the clock seldom, unless something will be due.
    fn is_time(&mut self, due: Option<u64>) -> bool {
        self.waits += 1;
        if self.wait == Wait::Spin && due.is_none() && !self.waits.is_multiple_of(TURNS) {
            return false;
        }
        self.now = clock::now().0;
        let tick = self.now >= self.next;
        if tick {
            self.next = self.now + TICK_NANOS;
        }
        tick || due.is_some_and(|due| self.now >= due)
    }
}

/// One turn: whether anything was done. That a flow could do nothing is no error.
fn take_turn<L: Lane>(lane: &mut L, flow: usize) -> io::Result<bool> {
    match lane.turn(flow) {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
