//! Failed proofs of the token: counted by address, and each one delays the next proof of the same address.

use crate::address_range::machine_range;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Delay after the first failed proof. Each further one doubles it.
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// Longest delay: a user of the same address who knows the token still gets in.
const LONGEST_DELAY: Duration = Duration::from_secs(2);

/// Time after which the failures of an address are forgotten.
const MEMORY: Duration = Duration::from_secs(600);

/// Most addresses remembered. Another one takes the place of the one whose last failure is the longest ago.
const CAPACITY: usize = 1024;

/// Failed proofs of all addresses.
#[derive(Debug, Default)]
pub(crate) struct FailedProofs(Mutex<FailureTable>);

#[derive(Debug, Default)]
struct FailureTable {
    by_address: HashMap<IpAddr, AddressFailures>,
    total: u64,
}

#[derive(Debug)]
struct AddressFailures {
    count: u32,
    last: Instant,
}

/// Number of failed proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FailureCount {
    /// Those of one address, as far as it is remembered.
    pub(crate) of_address: u32,
    /// Those of all addresses since the listener started.
    pub(crate) total: u64,
}

impl FailedProofs {
    /// Returns the time to wait before a proof of this address is checked.
    pub(crate) fn delay(&self, peer: IpAddr, now: Instant) -> Duration {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table
            .by_address
            .get(&machine_range(peer))
            .filter(|failures| failures.is_remembered(now))
            .map_or(Duration::ZERO, |failures| delay_after(failures.count))
    }

    /// Counts a failed proof of this address.
    pub(crate) fn record(&self, peer: IpAddr, now: Instant) -> FailureCount {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.total += 1;
        let peer = machine_range(peer);
        if !table.by_address.contains_key(&peer) {
            table.make_room(now);
        }
        let failures =
            table.by_address.entry(peer).or_insert(AddressFailures { count: 0, last: now });
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        FailureCount { of_address: failures.count, total: table.total }
    }

    /// Forgets the failures of an address that has proved the token.
    pub(crate) fn forget(&self, peer: IpAddr) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.by_address.remove(&machine_range(peer));
    }
}

impl AddressFailures {
    fn is_remembered(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) < MEMORY
    }
}

impl FailureTable {
    /// Removes an address where there are as many as may be remembered.
    fn make_room(&mut self, now: Instant) {
        if self.by_address.len() < CAPACITY {
            return;
        }
        self.by_address.retain(|_, failures| failures.is_remembered(now));
        let oldest = self.by_address.iter().min_by_key(|(_, failures)| failures.last);
        if let Some((&oldest, _)) = oldest.filter(|_| self.by_address.len() >= CAPACITY) {
            self.by_address.remove(&oldest);
        }
    }
}

/// Returns the delay after this many failed proofs of an address.
fn delay_after(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => FIRST_DELAY
            .saturating_mul(1u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .min(LONGEST_DELAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(index: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(index).into()
    }

    #[test]
    fn every_failure_doubles_the_delay_of_its_own_address() {
        let (proofs, now) = (FailedProofs::default(), Instant::now());
        let delays: Vec<u128> = (0..8)
            .map(|_| {
                let delay = proofs.delay(address(1), now).as_millis();
                proofs.record(address(1), now);
                delay
            })
            .collect();
        assert_eq!(delays, [0, 100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(proofs.delay(address(2), now), Duration::ZERO);
        assert_eq!(proofs.record(address(2), now), FailureCount { of_address: 1, total: 9 });
    }

    #[test]
    fn failures_are_forgotten_in_time_and_with_a_valid_proof() {
        let (proofs, now) = (FailedProofs::default(), Instant::now());
        proofs.record(address(1), now);
        assert_eq!(proofs.delay(address(1), now + MEMORY), Duration::ZERO);
        proofs.record(address(1), now);
        proofs.forget(address(1));
        assert_eq!(proofs.delay(address(1), now), Duration::ZERO);
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let (proofs, now) = (FailedProofs::default(), Instant::now());
        let many = 3 * CAPACITY as u32;
        for index in 0..many {
            proofs.record(address(index), now + Duration::from_millis(index.into()));
        }
        let table = proofs.0.lock().unwrap();
        assert_eq!((table.by_address.len(), table.total), (CAPACITY, many.into()));
        assert!(!table.by_address.contains_key(&address(0)));
        assert!(table.by_address.contains_key(&address(many - 1)));
    }

    #[test]
    fn no_number_of_failures_breaks_the_delay() {
        for failures in [31, 32, 33, 64, u32::MAX] {
            assert_eq!(delay_after(failures), LONGEST_DELAY);
        }
    }
}
