//! Aligned buffers for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use loadcell_core::random::Random;

/// A multiple of the sector size of any device.
pub const ALIGNMENT: usize = 4096;

/// A page-aligned block of memory.
pub struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the buffer owns its memory, as a vector does.
unsafe impl Send for Buffer {}

impl Buffer {
    /// A buffer of at least one byte with random contents, which devices cannot compress.
    pub fn new(length: usize, random: &mut Random) -> Self {
        let layout = Layout::from_size_align(length, ALIGNMENT).expect("it is far smaller than memory");
        // SAFETY: the length is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        let mut buffer = Self { start, layout };
        for word in buffer.chunks_mut(8) {
            let bits = random.bits().to_le_bytes();
            word.copy_from_slice(&bits[..word.len()]);
        }
        buffer
    }

    /// Make each page differ from earlier writes, so that devices cannot deduplicate it.
    #[inline]
    pub fn stamp(&mut self, number: u64) {
        for page in self.chunks_mut(ALIGNMENT) {
            if let Some(word) = page.first_chunk_mut::<8>() {
                *word =
                    (u64::from_le_bytes(*word) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes();
            }
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: allocated and initialised for its complete length.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, with exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_is_page_aligned_with_the_requested_size() {
        let mut random = Random::stream(1, 1);
        for length in [1, 512, 4096, 4097, 1 << 20] {
            let buffer = Buffer::new(length, &mut random);
            assert_eq!((buffer.as_ptr().addr() % ALIGNMENT, buffer.len()), (0, length));
        }
    }

    #[test]
    fn pages_are_unique() {
        let mut buffer = Buffer::new(3 * ALIGNMENT + 3, &mut Random::stream(1, 1));
        let before = buffer.to_vec();
        buffer.stamp(1);
        assert!(
            before
                .chunks(ALIGNMENT)
                .zip(buffer.chunks(ALIGNMENT))
                .take(3)
                .all(|(first, second)| first != second)
        );
        assert_eq!(before[8..ALIGNMENT], buffer[8..ALIGNMENT]);
    }
}
