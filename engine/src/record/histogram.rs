//! A high dynamic range histogram (Gil Tene's HdrHistogram): 3 significant digits from 1 ns to more than an hour, in
//! memory that is fixed and touched when it is made.

use crate::clock::Nanos;

/// Enough for 3 significant digits: the smallest power of two that is at least 2 * 10^3.
const SUB_BUCKETS: u64 = 2048;
const HALF: usize = SUB_BUCKETS as usize / 2;
const HALF_BITS: u32 = HALF.trailing_zeros();
/// Buckets, each twice as wide as the one before, until an hour fits: 2^11 * 2^31 ns is 73 minutes.
const BUCKETS: usize = 32;
const CELLS: usize = (BUCKETS + 1) * HALF;

pub const LOWEST: Nanos = 1;
/// What the histogram promises to hold. Longer times are counted as this long.
pub const HIGHEST: Nanos = 3_600_000_000_000;
pub const SIGNIFICANT_DIGITS: u32 = 3;

/// A cell's counter. Small ones keep what a request touches in the cache; large ones never overflow.
pub trait Count: Copy + Default + Into<u64> {
    fn increment(&mut self);
}

impl Count for u32 {
    #[inline]
    fn increment(&mut self) {
        *self += 1;
    }
}

impl Count for u64 {
    #[inline]
    fn increment(&mut self) {
        *self += 1;
    }
}

/// Times in nanoseconds. Count, sum, least and greatest are exact; the rest is within 1/1000.
#[derive(Clone)]
pub struct Histogram<C: Count = u64> {
    cells: Box<[C]>,
    count: u64,
    sum: u64,
    min: Nanos,
    max: Nanos,
}

impl<C: Count> Default for Histogram<C> {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn cell_of(value: Nanos) -> usize {
    let bucket = (63 - HALF_BITS) - (value | (SUB_BUCKETS - 1)).leading_zeros();
    let sub = (value >> bucket) as usize;
    ((bucket as usize) << HALF_BITS) + sub
}

/// The least value of a cell, and how many values share it.
fn span_of(cell: usize) -> (Nanos, Nanos) {
    let row = cell >> HALF_BITS;
    if row == 0 {
        return (cell as Nanos, 1);
    }
    let bucket = row - 1;
    let sub = (cell & (HALF - 1)) + HALF;
    ((sub as Nanos) << bucket, 1 << bucket)
}

impl<C: Count> Histogram<C> {
    pub fn new() -> Self {
        let mut cells = vec![C::default(); CELLS].into_boxed_slice();
        // The kernel hands out zeroed pages only when they are written to: do that now, not during the measurement.
        for cell in cells.iter_mut().step_by(256) {
            // SAFETY: a valid, exclusive reference; volatile only so that the write is not optimised away.
            unsafe { std::ptr::write_volatile(cell, C::default()) };
        }
        Self { cells, count: 0, sum: 0, min: Nanos::MAX, max: 0 }
    }

    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let value = value.min(HIGHEST);
        self.cells[cell_of(value)].increment();
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    pub fn count(&self) -> u64 {
        self.count
    }
}
