//! Number of blocks of a plan: the study's stopping rule, with what it leaves open.

use crate::spec::{StudyMethod, WovenMethod};
use crate::{Error, StoppingRule};
use tare_record::{BlockPolicy, MOST_BLOCKS, Plan};

/// Returns the number of blocks in a pilot of this many networks, unless the study sets it: enough for a spread with
/// six degrees of freedom. With fewer, the upper confidence limit of the spread requires several times the blocks that
/// are needed.
fn pilot_blocks(networks: usize) -> u32 {
    const DEGREES_OF_FREEDOM: u32 = 6;
    let compared = u32::try_from(networks.saturating_sub(1)).unwrap_or(u32::MAX).max(1);
    1 + DEGREES_OF_FREEDOM.div_ceil(compared)
}

/// Smallest number of blocks, unless the study sets it.
const LEAST_BLOCKS: u32 = 5;

/// Returns the group-sequential policy in the place of a pilot. A fixed number stays.
fn group_sequential(policy: BlockPolicy) -> BlockPolicy {
    match policy {
        BlockPolicy::Precision { precision, pilot, at_least, at_most } => {
            BlockPolicy::GroupSequential { precision, pilot, at_least, at_most }
        }
        other => other,
    }
}

/// Returns the policy of a study without woven networks, before its stopping rule is known.
///
/// # Errors
/// Returns an error if a number is out of its range, or if two rules contradict each other.
pub(super) fn block_policy(method: &StudyMethod, networks: usize) -> Result<BlockPolicy, Error> {
    let checked = |what: &str, value: u32, least: u32| {
        if (least..=MOST_BLOCKS).contains(&value) {
            Ok(value)
        } else {
            Err(Error::range(what, value, &format!("a number from {least} to {MOST_BLOCKS}")))
        }
    };
    let is_sequence = method.stopping == Some(StoppingRule::Sequence);
    match (method.blocks, method.precision) {
        (Some(_), Some(_)) => Err(Error::BlocksAndPrecision),
        (Some(_), None) if is_sequence => Err(Error::BlocksAndSequence),
        (Some(blocks), None) => Ok(BlockPolicy::Fixed { blocks: checked("blocks", blocks, 1)? }),
        (None, precision) => {
            let at_least = checked("at-least", method.at_least.unwrap_or(LEAST_BLOCKS), 2)?;
            let at_most = checked("at-most", method.at_most.unwrap_or(1000), at_least)?;
            let precision = precision.map(|share| share.0);
            if is_sequence {
                return Ok(BlockPolicy::Sequence { precision, at_least, at_most });
            }
            let pilot =
                checked("pilot", method.pilot.unwrap_or_else(|| pilot_blocks(networks)), 2)?;
            Ok(BlockPolicy::Precision { precision, pilot, at_least, at_most })
        }
    }
}

/// Manner in which a plan is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunManner {
    /// Networks are measured together, in slices.
    pub(super) is_woven: bool,
    /// The study is scaled down.
    pub(super) is_scaled: bool,
}

/// Applies the study's stopping rule to its plan, which says already whether its networks are woven.
pub(super) fn apply_stopping_rule(plan: &mut Plan, method: &StudyMethod, manner: RunManner) {
    let RunManner { is_woven, is_scaled } = manner;
    let is_group_sequential = match method.stopping {
        // In the short time of a scaled study, blocks of a pilot must count.
        None => is_woven || is_scaled,
        Some(rule) => rule == StoppingRule::GroupSequential,
    };
    let Some(WovenMethod { blocks, budget }) = method.woven.filter(|_| is_woven) else {
        if is_group_sequential {
            plan.blocks = group_sequential(plan.blocks);
        }
        return;
    };
    plan.budget = Some(budget.0);
    plan.blocks = BlockPolicy::Fixed { blocks };
    if is_group_sequential {
        let pilot = method.pilot.unwrap_or_else(|| pilot_blocks(plan.networks.len()));
        let at_least = LEAST_BLOCKS.min(blocks);
        plan.blocks =
            BlockPolicy::GroupSequential { precision: None, pilot, at_least, at_most: blocks };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pilot_is_as_long_as_its_spread_needs() {
        let blocks = [1, 2, 3, 4, 7, 8, 30].map(pilot_blocks);
        assert_eq!(blocks, [7, 7, 4, 3, 2, 2, 2]);
    }
}
