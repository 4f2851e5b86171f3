//! Differences of the cores' frequency between the trials of a cell, which move every figure that is bound by CPU.

use tare_record::finding::FrequencyChange;
use tare_record::{Finding, Trial};

/// Smallest reported difference between trials, as a share: governors and boost always vary a little.
const MIN_FREQUENCY_SPREAD: f64 = 0.05;

/// Returns a finding if the fastest trial's cores ran faster than the slowest trial's by more than
/// [`MIN_FREQUENCY_SPREAD`].
pub(crate) fn frequency_change(trials: &[&Trial]) -> Option<Finding> {
    let told = || trials.iter().filter_map(|trial| trial.meanwhile.frequency);
    let lowest = told().min_by(f64::total_cmp)?;
    let highest = told().max_by(f64::total_cmp)?;
    (highest - lowest > MIN_FREQUENCY_SPREAD * highest)
        .then_some(Finding::FrequencyChange(FrequencyChange { lowest, highest }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;

    fn found(frequencies: &[Option<f64>]) -> Option<Finding> {
        let trials: Vec<Trial> = frequencies
            .iter()
            .map(|frequency| {
                let mut one = trial("bridge", 0, &[]);
                one.meanwhile.frequency = *frequency;
                one
            })
            .collect();
        frequency_change(&trials.iter().collect::<Vec<_>>())
    }

    #[test]
    fn trials_at_unlike_speeds_are_told() {
        assert_eq!(
            found(&[Some(3_000.0), None, Some(2_000.0), Some(2_900.0)]),
            Some(Finding::FrequencyChange(FrequencyChange { lowest: 2_000.0, highest: 3_000.0 }))
        );
        assert_eq!(found(&[Some(3_000.0), Some(2_900.0)]), None);
        assert_eq!(found(&[None, Some(800.0), None]), None);
        assert_eq!(found(&[None]), None);
    }
}
