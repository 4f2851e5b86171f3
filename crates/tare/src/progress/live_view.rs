//! Live view of a run on a terminal: the table so far, drawn again in place as blocks come, and the keys.
//!
//! What it costs: the runner's thread computes and writes the table between trials, at most four times a second, which
//! takes 0.2 ms for two networks and 3 ms for sixteen. Nothing is drawn while traffic runs, except after a key or a new
//! size of the terminal, and once after trials shorter than a quarter of a second. The time in the title is that of the
//! last drawing for this reason: a clock that ticks would wake up the terminal's program beside the traffic.

use super::live_table::LiveTable;
use super::live_text::{TerminalSize, live_text};
use super::messages::{
    analysis_line, blocks_line, failure_line, first_failure_line, sizing_line, slices_line,
};
use super::run_clock::{RunClock, block_time};
use super::screen::Screen;
use super::terminal;
use super::terminal_watch::{TerminalEvent, TerminalWatch};
use crate::signals::StopRequest;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tare_record::{Plan, Trial};
use tare_runner::{Progress, RunEvent, StartPoint};

/// Smallest time between two drawings.
const REDRAW: Duration = Duration::from_millis(250);

/// Live view. Dropping it removes the table and restores the terminal.
pub(super) struct LiveView {
    shared: Arc<SharedView>,
    /// `None` if the kernel rejects the watch: the table is displayed without keys.
    watch: Option<TerminalWatch>,
}

/// State that the runner's thread and the watch of the terminal share.
struct SharedView {
    state: Mutex<ViewState>,
    /// Notified when the user ends a pause or the run.
    resumed: Condvar,
}

/// State of the view.
struct ViewState {
    table: LiveTable,
    clock: RunClock,
    screen: Screen,
    stop: StopRequest,
    pause: PauseState,
    colour: bool,
    /// Time and size of the last drawing.
    last_drawing: Option<(Instant, TerminalSize)>,
    /// True if something has changed since the last drawing.
    is_stale: bool,
}

/// Pause by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PauseState {
    Running,
    /// The run pauses at the end of the block.
    Requested,
    /// The run has paused since then.
    Paused(Instant),
}

impl LiveView {
    /// Displays the empty table of a plan. `compares` is false if networks are not compared.
    pub(super) fn start(plan: &Plan, compares: bool, stop: StopRequest) -> Self {
        let state = ViewState {
            table: LiveTable::new(plan, compares),
            clock: RunClock::start(plan, Instant::now()),
            screen: Screen::default(),
            stop: stop.clone(),
            pause: PauseState::Running,
            colour: terminal::has_colours(),
            last_drawing: None,
            is_stale: true,
        };
        let shared = Arc::new(SharedView { state: Mutex::new(state), resumed: Condvar::new() });
        let watched = Arc::clone(&shared);
        let watch = TerminalWatch::start(stop, move |event| watched.handle_terminal(event)).ok();
        let mut state = shared.lock();
        match blocks_line(plan, block_time(plan)) {
            Some(line) => state.print_line(&line),
            None => state.draw(),
        }
        drop(state);
        Self { shared, watch }
    }

    /// Adds what an earlier part of the run measured.
    pub(super) fn add_earlier(&self, trials: &[&Trial], start: &StartPoint) {
        let mut state = self.shared.lock();
        trials.iter().for_each(|trial| state.table.add_trial(trial));
        start.analyses.iter().for_each(|analysis| state.table.add_analysis(analysis));
        start.failures.iter().for_each(|failure| state.table.add_failure(failure));
        state.draw();
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        drop(self.watch.take());
        let mut state = self.shared.lock();
        // A panic has written its message below the table.
        if !std::thread::panicking() && terminal::is_ours() {
            let erased = state.screen.erase(terminal::size().columns);
            terminal::write(&erased);
        }
    }
}

impl Progress for LiveView {
    fn handle_event(&mut self, event: RunEvent<'_>) {
        let mut state = self.shared.lock();
        match event {
            RunEvent::Sized { plan, sizing } => {
                state.clock.apply_sizing(plan, sizing);
                state.print_line(&sizing_line(plan, sizing));
            }
            RunEvent::SlicesChosen { workload, choice } => {
                state.print_line(&slices_line(workload, choice));
            }
            RunEvent::Phase { phase, from, blocks, .. } => {
                state.clock.start_phase(phase, from, blocks, Instant::now());
                state.draw_soon();
            }
            RunEvent::Trial { entry, workload, shape, .. } => {
                state.table.start_trial(entry, workload, shape);
                state.draw_soon();
            }
            // Drawn with the mark of the next trial, or at the end of the block.
            RunEvent::Measured(trial) => state.table.add_trial(trial),
            RunEvent::Analysed(analysis) => {
                state.table.add_analysis(analysis);
                if let Some(line) = analysis_line(analysis) {
                    state.print_line(&line);
                }
            }
            RunEvent::FailedOnce(failure) => state.print_line(&first_failure_line(failure)),
            RunEvent::Failed(failure) => {
                state.table.add_failure(failure);
                state.print_line(&failure_line(failure));
            }
            RunEvent::Block { block, .. } => {
                state.clock.finish_block(block);
                state.table.clear_marks();
                state.draw_soon();
            }
        }
    }

    fn wait_while_paused(&mut self) -> Duration {
        self.shared.wait_while_paused()
    }
}

impl SharedView {
    fn lock(&self) -> MutexGuard<'_, ViewState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a pause, or for a stop of the run. Returns the length of the pause.
    fn wait_while_paused(&self) -> Duration {
        let mut state = self.lock();
        if state.pause != PauseState::Requested || state.stop.is_requested() {
            return Duration::ZERO;
        }
        let began = Instant::now();
        state.pause = PauseState::Paused(began);
        state.draw();
        let is_paused = |state: &mut ViewState| {
            matches!(state.pause, PauseState::Paused(_)) && !state.stop.is_requested()
        };
        let waited = self.resumed.wait_while(state, is_paused);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let pause = began.elapsed();
        state.pause = PauseState::Running;
        state.clock.exclude(pause);
        state.draw();
        pause
    }

    fn handle_terminal(&self, event: TerminalEvent) {
        let mut state = self.lock();
        match event {
            TerminalEvent::Key(b'p' | b'P') => {
                state.pause = state.pause.toggled();
                state.draw();
            }
            TerminalEvent::Key(_) => {}
            TerminalEvent::Stop => state.draw(),
            TerminalEvent::Suspend => {
                let erased = state.screen.erase(terminal::size().columns);
                terminal::write(&erased);
            }
            TerminalEvent::Resume => {
                state.screen.forget();
                state.draw();
            }
            TerminalEvent::Tick => state.draw_if_changed(),
        }
        self.resumed.notify_all();
    }
}

impl PauseState {
    /// Returns the state after the key for a pause.
    fn toggled(self) -> Self {
        match self {
            Self::Running => Self::Requested,
            Self::Requested | Self::Paused(_) => Self::Running,
        }
    }
}

impl ViewState {
    /// Draws the table, unless it was drawn a moment ago: then the watch draws it.
    fn draw_soon(&mut self) {
        self.is_stale = true;
        if self.last_drawing.is_none_or(|(drawn, _)| drawn.elapsed() >= REDRAW) {
            self.draw();
        }
    }

    /// Draws the table if it has changed, or the size of the terminal.
    fn draw_if_changed(&mut self) {
        let size = self.last_drawing.map(|(_, size)| size);
        if self.is_stale || size != Some(terminal::size()) {
            self.draw_soon();
        }
    }

    fn draw(&mut self) {
        if !terminal::is_ours() {
            self.screen.forget();
            return;
        }
        let size = terminal::size();
        let (title, keys) = (self.title(), self.keys());
        let lines = live_text(&mut self.table, &title, keys, size);
        terminal::write(&self.screen.draw(&lines, size.columns, self.colour));
        self.last_drawing = Some((Instant::now(), size));
        self.is_stale = false;
    }

    /// Prints a line that stays, above the table.
    fn print_line(&mut self, text: &str) {
        let erased = self.screen.erase(terminal::size().columns);
        terminal::write(&format!("{erased}{text}\r\n"));
        self.draw();
    }

    fn title(&self) -> String {
        let plan = self.table.plan();
        let until = match self.pause {
            PauseState::Paused(since) => since,
            PauseState::Running | PauseState::Requested => Instant::now(),
        };
        let mut title = format!("tare {} · {}", plan.study, self.clock.position(until));
        if plan.shapes.len() > 1 {
            title += &format!(" · shape {} of {}", self.table.shape() + 1, plan.shapes.len());
        }
        title + self.state_text()
    }

    fn state_text(&self) -> &'static str {
        match self.pause {
            _ if self.stop.is_requested() => " · stopping",
            PauseState::Running => "",
            PauseState::Requested => " · pausing after this block",
            PauseState::Paused(_) => " · paused",
        }
    }

    fn keys(&self) -> &'static str {
        match self.pause {
            _ if self.stop.is_requested() => "Ctrl-C ends at once",
            _ if !terminal::has_keys() => "",
            PauseState::Running => "q stop and report   p pause",
            PauseState::Requested | PauseState::Paused(_) => "q stop and report   p continue",
        }
    }
}
