//! Stamp at the beginning of every request, as far as the request has room: the sending time and the request's number.
//!
//! The low byte counts the requests of a flow, the other seven are nanoseconds of the client's monotonic clock, which
//! wrap after 833 days. A response begins with the same stamp, so that a late response is not taken for the next one; a
//! message of one byte carries the count alone. Until the first response of a flow has arrived, its requests carry the
//! time at which the client's trial began: from then on the server counts by the client's intervals.

/// Size of a stamp, bytes.
pub(super) const LENGTH: usize = 8;

/// Mask of the time that a stamp carries.
const TIME: u64 = u64::MAX >> 8;

/// Stamp of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestStamp(u64);

impl RequestStamp {
    /// Creates the stamp of a request sent at this time, ns.
    pub(super) fn new(count: u8, time: u64) -> Self {
        Self(time << 8 | u64::from(count))
    }

    /// Writes as much of the stamp as fits at the beginning of a message.
    pub(super) fn write(self, message: &mut [u8]) {
        let bytes = self.0.to_le_bytes();
        let fits = bytes.len().min(message.len());
        message[..fits].copy_from_slice(&bytes[..fits]);
    }

    /// Reads the stamp from the beginning of a message, padded with 0.
    pub(super) fn read(head: [u8; LENGTH]) -> Self {
        Self(u64::from_le_bytes(head))
    }

    /// Truncates the stamp to the part that fits in messages of this size.
    pub(super) fn truncated_to(self, size: usize) -> Self {
        if size >= LENGTH { self } else { Self(self.0 & ((1 << (8 * size)) - 1)) }
    }

    /// Returns the time from the stamp to `later`, ns.
    pub(super) fn elapsed_until(self, later: u64) -> u64 {
        later.wrapping_sub(self.0 >> 8) & TIME
    }

    /// Returns the stamp's time, ns, without its upper byte.
    pub(super) fn time(self) -> u64 {
        self.0 >> 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_fits_is_read_back(count: u8, time: u64, size in 1usize..20) {
            let stamp = RequestStamp::new(count, time);
            let mut message = vec![0; size];
            stamp.write(&mut message);
            let mut head = [0; LENGTH];
            head[..size.min(LENGTH)].copy_from_slice(&message[..size.min(LENGTH)]);
            prop_assert_eq!(RequestStamp::read(head), stamp.truncated_to(size));
            prop_assert!(RequestStamp::new(count.wrapping_add(1), time).truncated_to(size) != stamp.truncated_to(size));
        }

        #[test]
        fn times_are_told_apart_also_where_they_wrap(time: u64, later in 0u64..1 << 50) {
            prop_assert_eq!(RequestStamp::new(7, time).elapsed_until(time.wrapping_add(later)), later);
        }
    }
}
