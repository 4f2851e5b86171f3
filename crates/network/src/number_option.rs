//! Options of a network whose value is a number in a range.

use crate::spec_error::NetworkSpecError;
use std::ops::RangeInclusive;

/// Option whose value is a number in a range.
pub(crate) struct NumberOption<T> {
    /// Name of the option.
    pub(crate) name: &'static str,
    /// Noun of the number in an error.
    noun: &'static str,
    /// Numbers that the option can have.
    pub(crate) range: RangeInclusive<T>,
}

/// MTU: the range is that of IP (RFC 791).
pub(crate) const MTU: NumberOption<u32> =
    NumberOption { name: "mtu", noun: "MTU in bytes", range: 68..=65_535 };

/// Number of idle containers.
pub(crate) const IDLE: NumberOption<u32> =
    NumberOption { name: "idle", noun: "number of idle containers", range: 1..=60_000 };

/// Number of further published ports of a server.
pub(crate) const PORTS: NumberOption<u16> =
    NumberOption { name: "ports", noun: "number of ports", range: 1..=1000 };

/// Number of services of a cluster.
pub(crate) const SERVICES: NumberOption<u16> =
    NumberOption { name: "services", noun: "number of services", range: 1..=20_000 };

/// Number of network policies that select the servers.
pub(crate) const POLICIES: NumberOption<u16> =
    NumberOption { name: "policies", noun: "number of network policies", range: 1..=1000 };

impl<T: Copy + Into<u32> + TryFrom<u32>> NumberOption<T> {
    /// Parses a value of the option in a network's name.
    pub(crate) fn parse(&self, given: &str, spelled: &str) -> Result<T, NetworkSpecError> {
        let (least, most) = ((*self.range.start()).into(), (*self.range.end()).into());
        let number = given.parse().ok().filter(|number: &u32| (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| NetworkSpecError::Number {
            spelled: spelled.to_owned(),
            noun: self.noun,
            given: given.to_owned(),
            least,
            most,
        })
    }
}
