//! Whether the cores ran at one speed in all trials of a cell: whatever is bound by CPU follows it.

use tare_record::{Finding, Trial};

/// A spread between trials below this share is none worth telling: governors and boosts always play a little.
const SMALLEST: f64 = 0.05;

/// A finding where the fastest trial's cores ran that much faster than the slowest one's.
pub(crate) fn changed(trials: &[&Trial]) -> Option<Finding> {
    let told = || trials.iter().filter_map(|trial| trial.meanwhile.frequency);
    let lowest = told().min_by(f64::total_cmp)?;
    let highest = told().max_by(f64::total_cmp)?;
    (highest - lowest > SMALLEST * highest).then_some(Finding::FrequencyChanged { lowest, highest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::trial;

    fn found(frequencies: &[Option<f64>]) -> Option<Finding> {
        let trials: Vec<Trial> = frequencies
            .iter()
            .map(|frequency| {
                let mut one = trial("bridge", 0, &[]);
                one.meanwhile.frequency = *frequency;
                one
            })
            .collect();
        changed(&trials.iter().collect::<Vec<_>>())
    }

    #[test]
    fn trials_at_unlike_speeds_are_told() {
        assert_eq!(
            found(&[Some(3_000.0), None, Some(2_000.0), Some(2_900.0)]),
            Some(Finding::FrequencyChanged { lowest: 2_000.0, highest: 3_000.0 })
        );
        assert_eq!(found(&[Some(3_000.0), Some(2_900.0)]), None);
        assert_eq!(found(&[None, Some(800.0), None]), None);
        assert_eq!(found(&[None]), None);
    }
}
