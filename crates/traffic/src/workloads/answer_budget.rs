//! Budget of a server's answers: a client cannot make a server send more than its trial was admitted with.
//!
//! A paced client sets the rate of requests, and so that of the answers. A client that breaks its own pace would make
//! a listener with a limited rate send as fast as the machine can: its trial ends instead.

use crate::{TrialTask, clock};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Time by which answers may be ahead of the rate, ns.
const SLACK: u64 = 1_000_000_000;

/// Most threads of a client whose first requests may come at the same time.
const FIRST_REQUESTS: u32 = 64;

/// Payload that a trial's server may send, over all of its threads.
#[derive(Debug)]
pub(crate) struct AnswerBudget {
    /// Limit, bits/s.
    rate: u64,
    /// Number of messages that may be ahead of the rate.
    ahead: u64,
    /// Time of the first answer by the monotonic clock, ns.
    epoch: OnceLock<u64>,
    /// Payload of all answers, bytes.
    sent: AtomicU64,
}

impl AnswerBudget {
    /// Returns the budget of a task. Returns `None` if its rate is not limited.
    pub(crate) fn for_task(task: &TrialTask) -> Option<Arc<Self>> {
        let (rate, ahead) = (task.answer_rate?, task.flows.min(FIRST_REQUESTS).into());
        Some(Arc::new(Self { rate, ahead, epoch: OnceLock::new(), sent: AtomicU64::new(0) }))
    }

    /// Takes the payload of one answer, bytes, from the budget.
    ///
    /// # Errors
    /// When the answers exceed the rate.
    pub(crate) fn spend(&self, answer: usize) -> io::Result<()> {
        self.spend_at(clock::now().0, answer as u64)
    }

    fn spend_at(&self, now: u64, answer: u64) -> io::Result<()> {
        let elapsed = now.saturating_sub(*self.epoch.get_or_init(|| now));
        let time = u128::from(elapsed.saturating_add(SLACK));
        let by_rate = u128::from(self.rate) * time / (8 * 1_000_000_000);
        let allowed = by_rate + u128::from(self.ahead) * u128::from(answer);
        let sent = self.sent.fetch_add(answer, Ordering::Relaxed).saturating_add(answer);
        if u128::from(sent) <= allowed {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the client asks for more than the {} bit/s of its request: use the same tare on both machines",
            self.rate
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn budget(rate: u64, flows: u32) -> Arc<AnswerBudget> {
        let task = TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        AnswerBudget::for_task(&TrialTask { answer_rate: Some(rate), flows, ..task }).unwrap()
    }

    #[test]
    fn a_task_without_a_limit_has_no_budget() {
        let task = TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        assert!(AnswerBudget::for_task(&task).is_none());
    }

    #[test]
    fn a_client_that_breaks_its_pace_is_stopped_after_a_second_of_payload() {
        let budget = budget(8_000_000, 1);
        let answers = (0..).take_while(|_| budget.spend_at(5, 1000).is_ok()).count();
        assert_eq!(answers, 1001, "a second of 1 MB/s, and one answer");
        let error = budget.spend_at(5, 1000).unwrap_err().to_string();
        assert!(error.contains("8000000 bit/s"), "{error}");
    }

    proptest! {
        #[test]
        fn a_client_that_keeps_its_pace_is_never_stopped(
            answer in 1u64..16 << 20,
            per_second in 1u64..100_000,
            flows in 1u32..64,
            answers in 1u64..200,
        ) {
            let budget = budget(answer * 8 * per_second, flows);
            // The first requests of all threads come together.
            for number in 0..answers {
                let due = number.saturating_sub(flows.into()) * 1_000_000_000 / per_second;
                prop_assert!(budget.spend_at(7 + due, answer).is_ok());
            }
        }

        #[test]
        fn no_numbers_break_the_sum(rate: u64, answer: u64, at: u64, later: u64) {
            let budget = budget(rate, u32::MAX);
            let _ = budget.spend_at(at, answer);
            let _ = budget.spend_at(later, answer);
        }
    }
}
