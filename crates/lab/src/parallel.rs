//! Many like things done at once.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use tare_network::Error;

/// Hands for each core: while one waits for the kernel, or for what it started, another works.
const HANDS_A_CORE: usize = 2;

/// Does the work for every item, some at a time, by threads that end with it: what a thread changes of itself stays
/// with nobody but the items that it takes next. The results are in the items' order. After an error nothing more is
/// begun, and the first is returned.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let hands = (HANDS_A_CORE * cores).min(items.len());
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<R, Error>)>> = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..hands {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    let result = work(item);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn results_are_in_order_and_the_first_error_is_told(
            items in prop::collection::vec(0u32..1000, 0..200),
            bad in prop::option::of(0u32..1000),
        ) {
            let work = |item: &u32| match bad {
                Some(bad) if *item == bad => Err(Error::new("try", item)),
                _ => Ok(item * 2),
            };
            match each(&items, work) {
                Ok(results) => {
                    prop_assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
                }
                Err(error) => prop_assert_eq!(Some(error.why), bad.map(|bad| bad.to_string())),
            }
        }
    }
}
