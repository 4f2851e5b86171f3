//! Event loop that drives the flows of one thread: a single flow blocks in its own calls, several flows wait in epoll.
//!
//! The workload defines a flow's steps; this module decides when to take them, according to the thread's wait mode.

use crate::clock;
pub(crate) use crate::flow_group::TICK;
use crate::flow_group::{FlowGroup, Interest};
use crate::poller::Poller;
use crate::wait_mode::{WaitMode, set_precise_timers, sleep_until_readable};
use std::io;
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of steps after which a flow group checks the clock: often enough for a tick, seldom enough to cost nothing.
const STEPS_PER_TICK: u32 = 64;

/// If one flow in this many has moved, a spinning thread tries all flows in the next round. A call in vain takes about
/// 0.1 µs, and saves a share of the wait and of the kernel's bookkeeping for it.
const BUSY_FRACTION: usize = 4;

/// Deadline, shared by the threads of a side, for flows that do not finish by themselves.
#[derive(Debug, Default)]
pub(crate) struct SharedDeadline {
    limited: AtomicBool,
    until: OnceLock<Instant>,
}

impl SharedDeadline {
    /// Sets the deadline. The first call counts.
    pub(crate) fn set(&self, until: Instant) {
        self.until.get_or_init(|| until);
        self.limited.store(true, Ordering::Release);
    }

    /// Returns true once the deadline has passed.
    pub(crate) fn is_past(&self) -> bool {
        self.limited.load(Ordering::Acquire)
            && self.until.get().is_some_and(|until| Instant::now() >= *until)
    }
}

/// Drives all flows of a group until they finish or the deadline passes.
pub(crate) fn drive<L: FlowGroup>(
    lane: &mut L,
    wait: WaitMode,
    patience: &SharedDeadline,
) -> io::Result<()> {
    match lane.flow_count() {
        0 => Ok(()),
        1 => drive_single(lane, wait, patience),
        _ => drive_many(lane, wait, patience),
    }
}

fn drive_single<L: FlowGroup>(
    lane: &mut L,
    wait: WaitMode,
    patience: &SharedDeadline,
) -> io::Result<()> {
    let idle = prepare_single(lane.socket(0), wait, lane.tick())?;
    set_precise_timers();
    lane.on_start();
    let mut turns = 0;
    loop {
        match lane.interest(0) {
            Interest::Finished => return Ok(()),
            Interest::UntilDue => {
                wait_until_due(lane, wait);
                turns = STEPS_PER_TICK;
            }
            Interest::Read if wait == WaitMode::Spin && lane.awaits_slice() => {
                sleep_until_readable([lane.socket(0)], lane.tick())?;
                turns += if step_flow(lane, 0)? { 1 } else { STEPS_PER_TICK };
            }
            Interest::Read | Interest::Write => turns += if step_flow(lane, 0)? { 1 } else { idle },
        }
        if turns >= STEPS_PER_TICK {
            turns = 0;
            if patience.is_past() {
                return Ok(());
            }
            lane.on_tick(clock::now().0)?;
        }
    }
}

/// Prepares the socket of a group's only flow. Returns the number of steps that a call without progress counts for.
fn prepare_single(socket: BorrowedFd<'_>, wait: WaitMode, tick: Duration) -> io::Result<u32> {
    rustix::io::ioctl_fionbio(socket, wait == WaitMode::Spin)?;
    if wait == WaitMode::Spin {
        return Ok(1);
    }
    // The call returns by itself after a tick, which is the time to check the clock.
    let socket = TcpStream::from(socket.try_clone_to_owned()?);
    socket.set_read_timeout(Some(tick))?;
    socket.set_write_timeout(Some(tick))?;
    Ok(STEPS_PER_TICK)
}

/// Waits until the next action is due, but no longer than a tick.
fn wait_until_due<L: FlowGroup>(lane: &L, wait: WaitMode) {
    let tick = clock::now().0 + nanos(lane.tick());
    wait.wait_until(lane.next_due().map_or(tick, |due| due.min(tick)));
}

fn drive_many<L: FlowGroup>(
    lane: &mut L,
    wait: WaitMode,
    patience: &SharedDeadline,
) -> io::Result<()> {
    let mut waiting = Poller::new(lane, wait)?;
    let mut ready = Vec::with_capacity(lane.flow_count());
    set_precise_timers();
    lane.on_start();
    let mut clock = TickClock::new(wait, lane.tick());
    let mut moved = 0;
    waiting.update_all(lane)?;
    while waiting.open_flows > 0 && !patience.is_past() {
        let asleep = lane.awaits_slice();
        let nanos = if asleep { clock.sleep() } else { clock.sleep_budget(lane.next_due()) };
        if wait == WaitMode::Spin && !asleep && moved * BUSY_FRACTION > waiting.open_flows {
            // Probably as many flows are ready again, so that asking which costs more than trying all.
            waiting.collect_open(&mut ready);
        } else {
            waiting.wait(nanos, &mut ready)?;
        }
        if ready.is_empty() && nanos == clock.tick {
            // Nothing moves: flows that wait in vain must still notice that their time is over.
            waiting.collect_open(&mut ready);
        }
        moved = 0;
        for &flow in &ready {
            moved += usize::from(step_flow(lane, flow)?);
            waiting.update_interest(lane, flow)?;
        }
        if clock.is_tick_due(lane.next_due()) {
            lane.on_tick(clock.now)?;
            waiting.update_all(lane)?;
        }
    }
    Ok(())
}

/// Schedule by which a group of several flows checks the clock.
struct TickClock {
    wait: WaitMode,
    /// Time between two ticks, ns.
    tick: u64,
    now: u64,
    next: u64,
    waits: u32,
}

impl TickClock {
    fn new(wait: WaitMode, tick: Duration) -> Self {
        Self { wait, tick: nanos(tick), now: clock::now().0, next: 0, waits: 0 }
    }

    /// Returns the time that the next wait sleeps in any wait mode, ns. The clock is read after it.
    fn sleep(&mut self) -> u64 {
        self.waits = STEPS_PER_TICK - 1;
        self.tick
    }

    /// Returns the time that the next wait may sleep, ns.
    fn sleep_budget(&mut self, due: Option<u64>) -> u64 {
        if self.wait == WaitMode::Spin {
            return 0;
        }
        due.map_or(self.tick, |due| {
            self.now = clock::now().0;
            self.wait.sleep_part(due.saturating_sub(self.now)).min(self.tick)
        })
    }

    /// Returns true if a tick is due after a wait. A spinning thread reads the clock seldom, unless an action is
    /// pending.
    fn is_tick_due(&mut self, due: Option<u64>) -> bool {
        self.waits += 1;
        if self.wait == WaitMode::Spin
            && due.is_none()
            && !self.waits.is_multiple_of(STEPS_PER_TICK)
        {
            return false;
        }
        self.now = clock::now().0;
        let tick = self.now >= self.next;
        if tick {
            self.next = self.now + self.tick;
        }
        tick || due.is_some_and(|due| self.now >= due)
    }
}

/// Returns a duration in ns.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Takes one step of a flow. Returns true if it made progress; `WouldBlock` and `Interrupted` are no errors.
fn step_flow<L: FlowGroup>(lane: &mut L, flow: usize) -> io::Result<bool> {
    match lane.step_flow(flow) {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
