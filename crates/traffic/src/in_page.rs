//! Memory whose place in a page is chosen.
//!
//! Kernels copy to and from users by `rep movsb` where processors say that they are good at it. Some are not where a copy's
//! destination begins a few bytes behind its source by the low twelve bits of their addresses (glibc bug 30994 has AMD's Zen 3
//! and 4): on an EPYC of family 25, model 1, it moves 2.2 GB/s then, for 1 to 31 bytes behind, and 30 to 42 else. A receiver
//! of bulk stays there once it is: it lags, so its reads are full, and full reads do not change the distance. One flow over
//! a veth pair carried 12 Gbit/s then and 31 else. So the two are kept half a page apart.

/// The distance after which the low bits of addresses come again, which is the smallest page of any machine.
pub(crate) const PAGE: usize = 4096;

/// What is copied from somewhere near the beginning of a page had better begin here, or go here.
pub(crate) const HALF: usize = PAGE / 2;

/// So many bytes of memory, from any place in a page on. It has been written to, so that no page fault comes later.
#[derive(Debug)]
pub(crate) struct InPage {
    memory: Box<[u8]>,
    /// Where a page begins in it.
    page: usize,
    size: usize,
}

impl InPage {
    /// Memory for so many bytes, all of them 1.
    pub(crate) fn new(size: usize) -> Self {
        let memory = vec![1; size + 2 * PAGE].into_boxed_slice();
        let page = memory.as_ptr().align_offset(PAGE).min(PAGE);
        Self { memory, page, size }
    }

    /// These bytes, from this place in a page on.
    pub(crate) fn holding(bytes: &[u8], place: usize) -> Self {
        let mut all = Self::new(bytes.len());
        all.at_mut(place).copy_from_slice(bytes);
        all
    }

    /// All bytes from a place in a page on.
    pub(crate) fn at(&self, place: usize) -> &[u8] {
        &self.memory[self.page + place % PAGE..][..self.size]
    }

    /// The same, to be changed.
    pub(crate) fn at_mut(&mut self, place: usize) -> &mut [u8] {
        &mut self.memory[self.page + place % PAGE..][..self.size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_in_a_page_where_it_shall() {
        for size in [1, 100, PAGE, 3 * PAGE + 1] {
            let mut memory = InPage::new(size);
            for place in [0, 1, HALF, PAGE - 1, PAGE, 7 * PAGE + 3] {
                let bytes = memory.at_mut(place);
                assert_eq!((bytes.as_ptr().addr() % PAGE, bytes.len()), (place % PAGE, size));
                bytes.fill(place as u8);
                assert!(memory.at(place).iter().all(|&byte| byte == place as u8));
            }
        }
        assert_eq!(InPage::holding(&[1, 2, 3], HALF).at(HALF), [1, 2, 3]);
    }
}
