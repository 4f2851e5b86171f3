//! Buffer whose offset within a page is chosen.
//!
//! Kernels copy to and from user memory by `rep movsb` on processors that advertise it as fast. Some processors are
//! slow at it if a copy's destination begins a few bytes behind its source by the low twelve bits of their addresses
//! (glibc bug 30994 has AMD's Zen 3 and 4): an EPYC of family 25, model 1, then moves 2.2 GB/s, for 1 to 31 bytes
//! behind, and 30 to 42 otherwise. A receiver of bulk stays in this state once it is there: it lags, so its reads are
//! full, and full reads do not change the distance. One flow over a veth pair carried 12 Gbit/s then and 31 otherwise.
//! So source and destination are kept half a page apart.

/// Distance after which the low bits of addresses repeat: the smallest page size of any machine.
pub(crate) const PAGE: usize = 4096;

/// Offset for one end of a copy whose other end is near the beginning of a page.
pub(crate) const HALF_PAGE: usize = PAGE / 2;

/// Buffer that can begin at any offset within a page. It has been written to, so that no page fault comes later.
#[derive(Debug)]
pub(crate) struct PageBuffer {
    memory: Box<[u8]>,
    /// Index of the first page boundary in `memory`.
    page: usize,
    size: usize,
}

impl PageBuffer {
    /// Creates a buffer of this size, filled with 1.
    pub(crate) fn new(size: usize) -> Self {
        let memory = vec![1; size + 2 * PAGE].into_boxed_slice();
        let page = memory.as_ptr().align_offset(PAGE).min(PAGE);
        Self { memory, page, size }
    }

    /// Creates a buffer with these bytes, from this offset within a page on.
    pub(crate) fn from_bytes(bytes: &[u8], place: usize) -> Self {
        let mut all = Self::new(bytes.len());
        all.at_offset_mut(place).copy_from_slice(bytes);
        all
    }

    /// Returns the whole buffer, from this offset within a page on.
    pub(crate) fn at_offset(&self, place: usize) -> &[u8] {
        &self.memory[self.page + place % PAGE..][..self.size]
    }

    /// Returns the whole buffer, mutable, from this offset within a page on.
    pub(crate) fn at_offset_mut(&mut self, place: usize) -> &mut [u8] {
        &mut self.memory[self.page + place % PAGE..][..self.size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_in_a_page_where_it_shall() {
        for size in [1, 100, PAGE, 3 * PAGE + 1] {
            let mut memory = PageBuffer::new(size);
            for place in [0, 1, HALF_PAGE, PAGE - 1, PAGE, 7 * PAGE + 3] {
                let bytes = memory.at_offset_mut(place);
                assert_eq!((bytes.as_ptr().addr() % PAGE, bytes.len()), (place % PAGE, size));
                bytes.fill(place as u8);
                assert!(memory.at_offset(place).iter().all(|&byte| byte == place as u8));
            }
        }
        assert_eq!(PageBuffer::from_bytes(&[1, 2, 3], HALF_PAGE).at_offset(HALF_PAGE), [1, 2, 3]);
    }
}
