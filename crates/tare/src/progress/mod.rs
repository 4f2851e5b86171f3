//! Progress display on standard error during a run: a live table on a terminal, plain lines elsewhere.
//!
//! The table is drawn by tare itself and not by a library for user interfaces: it needs lines that are drawn in place
//! (`screen.rs`) and keys (`terminal.rs`), which are some hundred lines on the crates that tare has.

mod live_table;
mod live_text;
mod live_view;
mod messages;
mod progress_lines;
mod run_clock;
mod screen;
mod sparkline;
mod styled_line;
mod terminal;
mod terminal_watch;
#[cfg(test)]
mod test_plan;

use crate::signals::StopRequest;
use live_view::LiveView;
use progress_lines::ProgressLines;
use std::time::Duration;
use tare_record::{Plan, Trial};
use tare_runner::{Progress, RunEvent, StartPoint};

/// Display of the progress of a run. Dropping it removes what does not stay.
pub(crate) struct ProgressDisplay(DisplayKind);

/// Kind of the display.
enum DisplayKind {
    /// Lines on completed blocks.
    Lines(ProgressLines),
    /// Table of the results so far, with keys.
    View(LiveView),
}

/// Options of the display.
pub(crate) struct DisplayOptions {
    /// True if standard output gets JSON: a program reads it, and no table is displayed.
    pub(crate) json: bool,
    /// True if the machine is emulated: figures are displayed without comparisons.
    pub(crate) emulated: bool,
    /// Request to stop, which a key makes as well as a signal.
    pub(crate) stop: StopRequest,
}

impl ProgressDisplay {
    /// Starts the display of a plan: the table if standard error is a terminal that can display it.
    pub(crate) fn start(plan: &Plan, options: DisplayOptions) -> Self {
        if !options.json && terminal::can_redraw() {
            Self(DisplayKind::View(LiveView::start(plan, !options.emulated, options.stop)))
        } else {
            Self(DisplayKind::Lines(ProgressLines::start(plan)))
        }
    }

    /// Adds what an earlier part of the run measured.
    pub(crate) fn add_earlier(&self, trials: &[&Trial], start: &StartPoint) {
        if let DisplayKind::View(view) = &self.0 {
            view.add_earlier(trials, start);
        }
    }

    fn inner(&mut self) -> &mut dyn Progress {
        match &mut self.0 {
            DisplayKind::Lines(lines) => lines,
            DisplayKind::View(view) => view,
        }
    }
}

impl Progress for ProgressDisplay {
    fn handle_event(&mut self, event: RunEvent<'_>) {
        self.inner().handle_event(event);
    }

    fn wait_while_paused(&mut self) -> Duration {
        self.inner().wait_while_paused()
    }
}
