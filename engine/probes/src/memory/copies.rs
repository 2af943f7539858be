//! mbw's tests: copies of arrays.

use std::arch::asm;
use std::hint::black_box;
use std::ops::{Deref, DerefMut};

use super::WORD;
use crate::memory_budget;
use loadcell_load::blocking::Fault;

/// Tests by mbw's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// One call of the C library's `memcpy`.
    Memcpy,
    /// Word by word.
    Dumb,
    /// Calls of `memcpy` for 262144 bytes each, and one for the tail. mbw does not advance the source: its
    /// first block is copied repeatedly, from a cache.
    Mcblock,
}

/// Initial value of mbw's arrays, and its block size.
const FILLING: u64 = 0xaa;
const BLOCK_BYTES: u64 = 262_144;
const BLOCK: usize = (BLOCK_BYTES / WORD) as usize;

pub struct Copies {
    copy_method: CopyMethod,
    from: Array,
    to: Array,
}

impl Copies {
    /// Allocate arrays of `bytes` bytes.
    pub fn new(copy_method: CopyMethod, bytes: u64) -> Result<Self, Fault> {
        let words = (bytes / WORD) as usize;
        Ok(Self { copy_method, from: Array::new(words)?, to: Array::new(words)? })
    }

    pub fn pass(&mut self) {
        let (from, to) = (black_box(&self.from[..]), black_box(&mut self.to[..]));
        match self.copy_method {
            CopyMethod::Memcpy => to.copy_from_slice(from),
            CopyMethod::Dumb => word_by_word(from, to),
            CopyMethod::Mcblock => {
                for part in to.chunks_mut(BLOCK) {
                    part.copy_from_slice(&black_box(from)[..part.len()]);
                }
            }
        }
        black_box(&mut self.to[..]);
    }

    /// Both arrays.
    #[cfg(test)]
    pub fn arrays(&mut self) -> (&mut [u64], &mut [u64]) {
        (&mut self.from, &mut self.to)
    }
}

/// An array with the page offset of large allocations of the C library, as in mbw. The relative alignment of
/// two arrays changes the speed of `memcpy` several times, so it is fixed.
struct Array {
    memory: Vec<u64>,
    first: usize,
    words: usize,
}

const PAGE: usize = 4096;
const AFTER_PAGE: usize = 16;

impl Array {
    fn new(words: usize) -> Result<Self, Fault> {
        let memory = memory_budget::filled(words.saturating_add(PAGE / WORD as usize), FILLING)?;
        let first = AFTER_PAGE.wrapping_sub(memory.as_ptr().addr()) % PAGE / WORD as usize;
        Ok(Self { memory, first, words })
    }
}

impl Deref for Array {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.memory[self.first..][..self.words]
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.memory[self.first..][..self.words]
    }
}

/// Copy word by word, in a form that compilers do not replace by `memcpy`.
#[inline(never)]
fn word_by_word(from: &[u64], to: &mut [u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        let mut word = *from;
        // SAFETY: no instructions; it hides that the word is unchanged.
        unsafe { asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags)) };
        *to = word;
    }
}
