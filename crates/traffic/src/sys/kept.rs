//! Memory that stays where it is, so that structures of the kernel's may point into it.

use std::ptr::NonNull;

/// An array whose elements never move, wherever the value itself goes.
///
/// Every pointer and every reference into it is made from the one pointer that it was allocated with: none of them
/// makes another one stale, as references made through a `Box` would.
#[derive(Debug)]
pub(super) struct Kept<T>(NonNull<[T]>);

impl<T> Kept<T> {
    /// Takes over the elements. Their memory has been written to, so that no page fault comes later.
    pub(super) fn new(elements: Vec<T>) -> Self {
        Self(NonNull::from(Box::leak(elements.into_boxed_slice())))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Where the elements from this one on are; the end where there are fewer.
    pub(super) fn at(&self, index: usize) -> *mut T {
        let index = index.min(self.len());
        // SAFETY: the offset is at most the array's length, so it stays within the allocation or one past its end.
        unsafe { self.0.cast::<T>().as_ptr().add(index) }
    }

    /// The elements.
    pub(super) fn all(&self) -> &[T] {
        // SAFETY: the pointer is to a live slice that this value owns; the kernel writes to it only within calls that
        // borrow this value's owner mutably, so that no such reference exists then.
        unsafe { self.0.as_ref() }
    }

    /// The elements, to be changed.
    pub(super) fn all_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and this value is borrowed mutably.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer is from a leaked box of just this type, and is given back once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stay_where_they_are() {
        let mut kept = Kept::new(vec![1u8, 2, 3]);
        let place = kept.at(0);
        kept.all_mut()[1] = 7;
        let moved = Box::new(kept);
        assert_eq!((moved.at(0), moved.all(), moved.len()), (place, &[1, 7, 3][..], 3));
        assert_eq!(moved.at(9), moved.at(3));
    }
}
