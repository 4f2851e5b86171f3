//! Turn of one network in a block: the network is raised, and workloads run over it one after another.

use crate::Error;
use crate::environment::RunEnvironment;
use crate::recorder::{BlockNumber, FailureOutcome, RunRecorder, TrialPosition, TurnFailure};
use std::collections::VecDeque;
use tare_study::block_order::PlannedTurn;

/// End of a turn, or of a part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// It is complete, even if something broke in it.
    Completed,
    /// The user asked the run to stop.
    Interrupted,
}

/// Runs one network's turn. When a workload breaks in it, the network is raised anew, and the workload is tried once
/// again; if it breaks again it is left out from here on.
pub(crate) fn run_turn(
    stage: &mut dyn RunEnvironment,
    recorder: &mut RunRecorder<'_>,
    block: BlockNumber,
    turn: &PlannedTurn,
) -> Result<TurnEnd, Error> {
    let mut left: VecDeque<usize> =
        turn.workloads.iter().copied().filter(|one| recorder.stands(turn, *one)).collect();
    while recorder.standing.has_turn(turn.network, turn.shape) {
        let Err(trouble) = run_workloads(stage, recorder, block, turn, &mut left)? else { break };
        let workload = trouble.workload;
        match recorder.handle_failure(trouble, turn, block)? {
            FailureOutcome::Interrupted => return Ok(TurnEnd::Interrupted),
            FailureOutcome::TryAgain => workload.into_iter().for_each(|one| left.push_front(one)),
            FailureOutcome::GivenUp if left.is_empty() => break,
            FailureOutcome::GivenUp => {}
        }
    }
    Ok(TurnEnd::Completed)
}

/// Raises a network and runs workloads over it until none is left or one breaks. A workload that breaks is no longer
/// among those left.
fn run_workloads(
    stage: &mut dyn RunEnvironment,
    recorder: &mut RunRecorder<'_>,
    block: BlockNumber,
    turn: &PlannedTurn,
    left: &mut VecDeque<usize>,
) -> Result<Result<(), TurnFailure>, Error> {
    let mut raised = match stage.set_up(&recorder.setup_of(turn)) {
        Ok(raised) => raised,
        Err(broken) => return Ok(Err(TurnFailure { workload: None, broken })),
    };
    recorder.first_failures.note_raised(turn);
    while let Some(workload) = left.pop_front() {
        recorder.announce(turn, workload, block);
        let began = stage.elapsed();
        match raised.run_trial(workload) {
            Ok(measured) => {
                let took = stage.elapsed() - began;
                let at = TrialPosition { block, turn, began, took, slices: None };
                recorder.record_trial(at, workload, raised.as_ref(), measured)?;
            }
            Err(broken) => return Ok(Err(TurnFailure { workload: Some(workload), broken })),
        }
    }
    recorder.tear_down(block, turn, raised)?;
    Ok(Ok(()))
}
