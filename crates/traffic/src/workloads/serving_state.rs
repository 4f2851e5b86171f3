//! State that all threads of a server that answers requests share.

use super::answer_budget::AnswerBudget;
use crate::TrialTask;
use crate::slices::progress::SliceProgress;
use std::io;
use std::sync::{Arc, OnceLock};

/// State that all threads of a server share.
#[derive(Clone, Debug)]
pub(super) struct ServingState {
    /// Time at which the first request came to this side.
    pub(super) epoch: Arc<OnceLock<u64>>,
    /// Slices of the trial. `None` if it runs in one piece.
    pub(super) slices: Option<Arc<SliceProgress>>,
    /// Budget of the answers. `None` if they are not limited.
    pub(super) budget: Option<Arc<AnswerBudget>>,
}

impl ServingState {
    /// Creates the state of a task's server.
    pub(super) fn new(task: &TrialTask, slices: Option<Arc<SliceProgress>>) -> Self {
        Self { epoch: Arc::default(), slices, budget: AnswerBudget::for_task(task) }
    }

    /// Takes an answer of this many bytes from the budget.
    #[inline]
    pub(super) fn spend(&self, answer: usize) -> io::Result<()> {
        self.budget.as_ref().map_or(Ok(()), |budget| budget.spend(answer))
    }
}
