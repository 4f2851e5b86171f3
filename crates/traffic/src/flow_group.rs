//! Flows of one thread, as the event loop sees them.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Interval at which a thread without events checks whether to end.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Longest sleep of a server whose trial runs in slices: most of the time other networks have theirs, and each time that
/// it woke would take from them. What ends it is an event: its clients close.
const SLICED_SERVER_TICK: Duration = Duration::from_millis(500);

/// Returns the longest sleep of a server without events.
pub(crate) fn server_tick(is_sliced: bool) -> Duration {
    if is_sliced { SLICED_SERVER_TICK } else { TICK }
}

/// Event that a flow waits for before its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Data to read, or the end of the stream.
    Read,
    /// Room in the send buffer.
    Write,
    /// No event: the flow continues after its group's next [`FlowGroup::on_tick`].
    UntilDue,
    /// No event: the flow has finished.
    Finished,
}

/// Flows of one thread, which may outlast the thread that made them.
pub(crate) trait FlowGroup: Send + 'static {
    /// Returns the number of flows.
    fn flow_count(&self) -> usize;

    /// Returns a flow's socket.
    fn socket(&self, flow: usize) -> BorrowedFd<'_>;

    /// Returns the longest time that the group's thread sleeps without an event.
    fn tick(&self) -> Duration {
        TICK
    }

    /// Returns true while the group waits for its trial's next slice: its thread sleeps then, whatever its wait mode.
    fn awaits_slice(&self) -> bool {
        false
    }

    /// Prepares the flows. Called once on the group's own thread before the first step.
    fn on_start(&mut self) {}

    /// Returns the event that a flow waits for.
    fn interest(&self, flow: usize) -> Interest;

    /// Lets a flow take one step.
    ///
    /// # Errors
    /// Fails with `WouldBlock` if the flow cannot do anything now.
    fn step_flow(&mut self, flow: usize) -> io::Result<()>;

    /// Returns the monotonic time of the next action that no event announces. Returns `None` if there is no such
    /// action.
    fn next_due(&self) -> Option<u64> {
        None
    }

    /// Handles the current time. Called when an action is due, and at least every tick or every few dozen steps.
    fn on_tick(&mut self, _now: u64) -> io::Result<()> {
        Ok(())
    }
}
