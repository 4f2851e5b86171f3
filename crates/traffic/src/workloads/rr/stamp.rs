//! The word at the beginning of every request, as far as it fits in: when it was sent, and which one it is.
//!
//! The low byte counts the requests of a flow, the other seven are nanoseconds of the client's monotonic clock, which
//! wrap after 833 days. A response begins with the same word, so that a late one is not taken for the next; a message
//! of one byte carries the count alone. Until the first response of a flow has come, its requests carry the time at
//! which the client's trial began: from then on its server reckons by the client's intervals.

/// Bytes of a stamp.
pub(super) const LENGTH: usize = 8;

/// A time as far as a stamp carries it.
const TIME: u64 = u64::MAX >> 8;

/// The stamp of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// Of a request sent at a time, ns.
    pub(super) fn new(count: u8, time: u64) -> Self {
        Self(time << 8 | u64::from(count))
    }

    /// Puts as much of it as fits at the beginning of a message.
    pub(super) fn write(self, message: &mut [u8]) {
        let bytes = self.0.to_le_bytes();
        let fits = bytes.len().min(message.len());
        message[..fits].copy_from_slice(&bytes[..fits]);
    }

    /// Reads the beginning of a message, of which the rest is nought.
    pub(super) fn read(head: [u8; LENGTH]) -> Self {
        Self(u64::from_le_bytes(head))
    }

    /// As much of it as fits in messages of this size.
    pub(super) fn within(self, size: usize) -> Self {
        if size >= LENGTH { self } else { Self(self.0 & ((1 << (8 * size)) - 1)) }
    }

    /// The time from this stamp's to a later one, ns.
    pub(super) fn until(self, later: u64) -> u64 {
        later.wrapping_sub(self.0 >> 8) & TIME
    }

    /// The time in it, ns, as far as it goes.
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
            let stamp = Stamp::new(count, time);
            let mut message = vec![0; size];
            stamp.write(&mut message);
            let mut head = [0; LENGTH];
            head[..size.min(LENGTH)].copy_from_slice(&message[..size.min(LENGTH)]);
            prop_assert_eq!(Stamp::read(head), stamp.within(size));
            prop_assert!(Stamp::new(count.wrapping_add(1), time).within(size) != stamp.within(size));
        }

        #[test]
        fn times_are_told_apart_also_where_they_wrap(time: u64, later in 0u64..1 << 50) {
            prop_assert_eq!(Stamp::new(7, time).until(time.wrapping_add(later)), later);
        }
    }
}
