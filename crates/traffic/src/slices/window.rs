//! Windows of slices: when a slice begins and ends, and where a moment lies in slice time.

use tare_record::SlicePlan;

/// One stretch of traffic: a slice, or a whole trial. Times are by the monotonic clock, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SliceWindow {
    /// Beginning of the traffic.
    pub(crate) begins: u64,
    /// End of the traffic: nothing is begun from here on.
    pub(crate) ends: u64,
    /// Time from which on events count, and the slice time of that moment. `None` in a slice of the warm-up.
    counted: Option<(u64, u64)>,
    /// Time until which events count.
    closes: u64,
}

impl SliceWindow {
    /// Returns the window of a trial in one piece, in which everything counts that comes after its beginning.
    pub(crate) fn whole_trial(begins: u64, duration: u64) -> Self {
        let ends = begins.saturating_add(duration);
        Self { begins, ends, counted: Some((begins, 0)), closes: u64::MAX }
    }

    /// Returns the window of a slice, by its index among all slices, that begins at this time.
    pub(crate) fn slice(plan: &SlicePlan, index: u32, begins: u64) -> Self {
        let opens = begins.saturating_add(plan.skip.0);
        let ends = opens.saturating_add(plan.length.0);
        let slice_time = |nth: u32| u64::from(nth) * plan.length.0;
        let counted = index.checked_sub(plan.warm_up).map(|nth| (opens, slice_time(nth)));
        Self { begins, ends, counted, closes: ends }
    }

    /// Returns the slice time of an event. Returns `None` if it does not count: it is at the slice's beginning, after
    /// its end, or in a slice of the warm-up.
    #[inline]
    pub(crate) fn slice_time(&self, now: u64) -> Option<u64> {
        let (opens, at) = self.counted?;
        (now >= opens && now < self.closes).then(|| at + (now - opens))
    }

    /// Returns the slice time at the end of the window. Returns `None` if nothing in it counts.
    pub(crate) fn slice_time_at_end(&self) -> Option<u64> {
        self.counted.map(|(opens, at)| at + (self.ends - opens))
    }
}

/// Place of a moment of *sending time* in a trial in slices. Sending time stands still between two slices, and has their
/// uncounted parts in it: it is what a datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlicePlace {
    /// Index of the slice among all slices.
    pub(crate) index: u64,
    /// Slice time of the moment. `None` if it does not count.
    pub(crate) slice_time: Option<u64>,
}

impl SlicePlace {
    /// Finds the place of a moment, ns of sending time.
    #[inline]
    pub(crate) fn find(plan: &SlicePlan, sending_time: u64) -> Self {
        let slice = plan.slice_time().0.max(1);
        let (index, within) = (sending_time / slice, sending_time % slice);
        let counted =
            index.checked_sub(u64::from(plan.warm_up)).zip(within.checked_sub(plan.skip.0));
        Self { index, slice_time: counted.map(|(nth, at)| nth * plan.length.0 + at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::Nanos;

    const PLAN: SlicePlan =
        SlicePlan { rounds: 3, warm_up: 1, length: Nanos(1_000), skip: Nanos(100) };

    #[test]
    fn counted_parts_follow_one_another_in_slice_time() {
        let second = SliceWindow::slice(&PLAN, 2, 50_000);
        assert_eq!(second.ends, 51_100);
        let at: Vec<_> =
            [50_099, 50_100, 51_099, 51_100].map(|now| second.slice_time(now)).to_vec();
        assert_eq!(at, [None, Some(1_000), Some(1_999), None]);
        assert_eq!(second.slice_time_at_end(), Some(2_000));
    }

    #[test]
    fn a_slice_of_the_warm_up_does_not_count() {
        let first = SliceWindow::slice(&PLAN, 0, 0);
        assert_eq!((first.slice_time(500), first.slice_time_at_end()), (None, None));
    }

    #[test]
    fn a_trial_in_one_piece_counts_from_its_beginning_on() {
        let whole = SliceWindow::whole_trial(1_000, 500);
        assert_eq!((whole.begins, whole.ends), (1_000, 1_500));
        assert_eq!((whole.slice_time(999), whole.slice_time(1_700)), (None, Some(700)));
    }

    #[test]
    fn sending_time_has_the_uncounted_parts_in_it() {
        let place = |at| {
            let place = SlicePlace::find(&PLAN, at);
            (place.index, place.slice_time)
        };
        assert_eq!((place(500), place(1_150)), ((0, None), (1, None)));
        assert_eq!((place(1_200), place(3_299)), ((1, Some(0)), (2, Some(1_999))));
    }
}
