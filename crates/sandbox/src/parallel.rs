//! Parallel execution of one function over many items.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tare_network::Error;

/// Threads per core: while one waits for the kernel or for a process that it started, another works.
const THREADS_PER_CORE: usize = 2;

/// Calls `work` for every item, some items at a time, on threads that end with this call. A thread's changes to itself
/// affect only the items that it takes next. Returns the results in the order of the items. After an error no further
/// item is started, and the first error is returned.
///
/// # Errors
/// The first error of `work`.
pub fn try_map<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let hands = (THREADS_PER_CORE * cores).min(items.len());
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
            match try_map(&items, work) {
                Ok(results) => {
                    prop_assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
                }
                Err(error) => prop_assert_eq!(Some(error.why), bad.map(|bad| bad.to_string())),
            }
        }
    }
}
