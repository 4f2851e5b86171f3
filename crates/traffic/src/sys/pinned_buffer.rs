//! Buffer that never moves, so that structures of the kernel may point into it.

use std::ptr::NonNull;

/// Array whose elements stay in place when the value itself moves.
///
/// Every pointer and every reference into it is derived from the pointer that it was allocated with: none of them
/// invalidates another one, as references made through a `Box` would.
#[derive(Debug)]
pub(super) struct PinnedBuffer<T>(NonNull<[T]>);

impl<T> PinnedBuffer<T> {
    /// Takes over the elements. Their memory has been written to, so that no page fault comes later.
    pub(super) fn new(elements: Vec<T>) -> Self {
        Self(NonNull::from(Box::leak(elements.into_boxed_slice())))
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a pointer to the element at this index, or one past the last element if the index is too large.
    pub(super) fn pointer_at(&self, index: usize) -> *mut T {
        let index = index.min(self.len());
        // SAFETY: the offset is at most the array's length, so it stays within the allocation or one past its end.
        unsafe { self.0.cast::<T>().as_ptr().add(index) }
    }

    /// Returns all elements.
    pub(super) fn as_slice(&self) -> &[T] {
        // SAFETY: the pointer is to a live slice that this value owns; the kernel writes to it only within calls that
        // borrow this value's owner mutably, so that no such reference exists then.
        unsafe { self.0.as_ref() }
    }

    /// Returns all elements, mutable.
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and this value is borrowed mutably.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for PinnedBuffer<T> {
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
        let mut kept = PinnedBuffer::new(vec![1u8, 2, 3]);
        let place = kept.pointer_at(0);
        kept.as_mut_slice()[1] = 7;
        let moved = Box::new(kept);
        assert_eq!(
            (moved.pointer_at(0), moved.as_slice(), moved.len()),
            (place, &[1, 7, 3][..], 3)
        );
        assert_eq!(moved.pointer_at(9), moved.pointer_at(3));
    }
}
