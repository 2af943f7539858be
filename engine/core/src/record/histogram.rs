//! High dynamic range histogram (Gil Tene's HdrHistogram): 3 significant digits from 1 ns to more than an
//! hour, in memory of fixed size that is touched at creation.

use std::fmt;
use std::ops::RangeInclusive;

use crate::clock::Nanos;

/// Smallest power of two of at least 2 * 10^3, for 3 significant digits.
const SUB_BUCKETS: u64 = 2048;
const HALF: usize = SUB_BUCKETS as usize / 2;
const HALF_BITS: u32 = HALF.trailing_zeros();
/// Buckets, each twice as wide as the previous one, for an hour at least: 2^11 * 2^31 ns is 73 minutes.
const BUCKETS: usize = 32;
/// Number of counters.
pub const CELLS: usize = (BUCKETS + 1) * HALF;

pub const LOWEST: Nanos = 1;
/// Highest value. Longer times count as this.
pub const HIGHEST: Nanos = 3_600_000_000_000;
pub const SIGNIFICANT_DIGITS: u32 = 3;

/// Counter of a cell. Small ones keep the cells of a load thread in the cache; large ones never overflow.
pub trait Count: Copy + Default + PartialEq + Into<u64> {
    fn increment(&mut self);
    fn add(&mut self, count: u64);
}

impl Count for u32 {
    #[inline]
    fn increment(&mut self) {
        *self += 1;
    }

    fn add(&mut self, count: u64) {
        *self += count as u32;
    }
}

impl Count for u64 {
    #[inline]
    fn increment(&mut self) {
        *self += 1;
    }

    fn add(&mut self, count: u64) {
        *self += count;
    }
}

/// Histogram of times in nanoseconds. Count, sum, minimum and maximum are exact, all other values within
/// 1/1000.
#[derive(Clone, PartialEq)]
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

impl<C: Count> fmt::Debug for Histogram<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, sum, min, max, .. } = self;
        write!(f, "Histogram {{ count: {count}, sum: {sum}, min: {min}, max: {max} }}")
    }
}

#[inline]
fn cell_of(value: Nanos) -> usize {
    let bucket = (63 - HALF_BITS) - (value | (SUB_BUCKETS - 1)).leading_zeros();
    let sub = (value >> bucket) as usize;
    ((bucket as usize) << HALF_BITS) + sub
}

/// Lowest value of a cell, and number of values in it.
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
    /// Histogram of the given counts by cell; none if `min` or `max` does not lie in the first or last cell
    /// in use.
    pub(super) fn from_counts(counts: &[C], sum: u64, min: Nanos, max: Nanos) -> Option<Self> {
        let is_used = |count: &C| (*count).into() > 0;
        let (first, last) = (counts.iter().position(is_used)?, counts.iter().rposition(is_used)?);
        if min > max || max > HIGHEST || (cell_of(min), cell_of(max)) != (first, last) {
            return None;
        }
        let count = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count.into()))?;
        let mut histogram = Self::new();
        histogram.cells[..counts.len()].copy_from_slice(counts);
        (histogram.count, histogram.sum, histogram.min, histogram.max) = (count, sum, min, max);
        Some(histogram)
    }

    pub fn new() -> Self {
        let mut cells = vec![C::default(); CELLS].into_boxed_slice();
        // The kernel provides zeroed pages at the first write: write now, not during the measurement.
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

    /// Records the same value `count` times; `count` is at least 1.
    #[inline]
    pub fn record_many(&mut self, value: Nanos, count: u64) {
        let value = value.min(HIGHEST);
        self.cells[cell_of(value)].add(count);
        self.count += count;
        self.sum += value * count;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of `other`, without loss.
    pub fn merge<D: Count>(&mut self, other: &Histogram<D>) {
        if other.count == 0 {
            return;
        }
        for (mine, &theirs) in self.cells[other.used()].iter_mut().zip(&other.cells[other.used()]) {
            mine.add(theirs.into());
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Clears the histogram, at a cost in proportion to the spread of its values.
    pub fn clear(&mut self) {
        if self.count > 0 {
            let used = self.used();
            self.cells[used].fill(C::default());
        }
        (self.count, self.sum, self.min, self.max) = (0, 0, Nanos::MAX, 0);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn min(&self) -> Nanos {
        if self.count == 0 { 0 } else { self.min }
    }

    pub fn max(&self) -> Nanos {
        self.max
    }

    /// Mean; NaN if the histogram is empty, like the standard deviation.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// Standard deviation of the population, from the centres of the cells.
    pub fn stdev(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self
            .filled()
            .map(|(cell, count)| {
                let (low, width) = span_of(cell);
                count as f64 * ((low + width / 2) as f64 - mean).powi(2)
            })
            .sum();
        (squares / self.count as f64).sqrt()
    }

    /// Value that a share `quantile` (0..=1) of all values does not exceed: the highest value of the lowest
    /// such cell, but at most the maximum.
    pub fn quantile(&self, quantile: f64) -> Nanos {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (cell, count) in self.filled() {
            seen += count;
            if seen >= rank {
                let (low, width) = span_of(cell);
                return (low + width - 1).min(self.max);
            }
        }
        self.max
    }

    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Every cell's count up to the last one in use.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        let end = if self.count == 0 { 0 } else { cell_of(self.max) + 1 };
        self.cells[..end].iter().map(|&count| count.into())
    }

    fn used(&self) -> RangeInclusive<usize> {
        cell_of(self.min)..=cell_of(self.max)
    }

    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let used = (self.count > 0).then(|| self.used());
        used.into_iter().flatten().map(|cell| (cell, self.cells[cell].into())).filter(|&(_, count)| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Times as they come: most of them small, a few very large.
    fn times(seed: u64, count: usize) -> Vec<Nanos> {
        let mut random = Random::stream(seed, 0);
        (0..count)
            .map(|_| {
                let magnitude = random.below(42);
                random.below(1 << (magnitude + 1)).min(HIGHEST)
            })
            .collect()
    }

    fn of(values: &[Nanos]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    #[test]
    fn every_value_lies_in_its_cell_and_cells_follow_on_each_other() {
        let mut next = 0;
        for cell in 0..CELLS {
            let (low, width) = span_of(cell);
            assert_eq!(low, next, "cell {cell}");
            assert_eq!(cell_of(low), cell);
            assert_eq!(cell_of(low + width - 1), cell);
            next = low + width;
        }
        assert!(next > HIGHEST);
    }

    #[test]
    fn quantiles_agree_with_sorting_to_three_digits() {
        for seed in 0..40 {
            let mut values = times(seed, 1 + 97 * seed as usize);
            let histogram = of(&values);
            values.sort_unstable();
            for quantile in [0.0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0] {
                let rank = ((quantile * values.len() as f64).ceil() as usize).clamp(1, values.len());
                let exact = values[rank - 1];
                let value = histogram.quantile(quantile);
                assert!(
                    value >= exact && value - exact <= exact / 1000,
                    "seed {seed}: quantile {quantile} is {exact}, not {value}"
                );
                assert!(value <= histogram.max());
            }
        }
    }

    #[test]
    fn count_sum_and_extremes_are_exact_and_deviation_nearly() {
        let values = times(99, 10_000);
        let histogram = of(&values);
        assert_eq!(histogram.count(), 10_000);
        assert_eq!(histogram.min(), *values.iter().min().unwrap());
        assert_eq!(histogram.max(), *values.iter().max().unwrap());
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / 1e4;
        assert!((histogram.mean() / mean - 1.0).abs() < 1e-9);
        let variance = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / 1e4;
        assert!((histogram.stdev() / variance.sqrt() - 1.0).abs() < 1e-3);
    }

    #[test]
    fn merging_parts_is_the_same_as_recording_all() {
        let values = times(5, 3_000);
        let mut merged = Histogram::<u64>::new();
        for part in values.chunks(1_000) {
            let mut small = Histogram::<u32>::new();
            part.iter().for_each(|&value| small.record(value));
            merged.merge(&small);
        }
        merged.merge(&Histogram::<u32>::new());
        let total = of(&values);
        assert_eq!(merged.cells, total.cells);
        assert_eq!((merged.count, merged.sum), (total.count, total.sum));
        assert_eq!((merged.min, merged.max), (total.min, total.max));
    }

    #[test]
    fn a_value_recorded_many_times_is_that_many_values() {
        let (mut many, mut single) = (Histogram::<u32>::new(), Histogram::<u32>::new());
        for (value, count) in [(0, 3), (77, 1), (123_456_789, 320), (Nanos::MAX, 2)] {
            many.record_many(value, count);
            (0..count).for_each(|_| single.record(value));
        }
        assert!(many == single);
    }

    #[test]
    fn a_cleared_histogram_is_as_new() {
        let mut histogram = of(&times(6, 1_000));
        histogram.clear();
        assert_eq!(histogram.cells, Histogram::<u64>::new().cells);
        assert_eq!(
            (histogram.count(), histogram.min(), histogram.max(), histogram.quantile(0.5)),
            (0, 0, 0, 0)
        );
        histogram.clear();
        histogram.record(7);
        assert_eq!((histogram.min(), histogram.max(), histogram.quantile(0.5)), (7, 7, 7));
    }

    #[test]
    fn what_is_longer_than_an_hour_counts_as_an_hour() {
        let histogram = of(&[HIGHEST + 1, Nanos::MAX]);
        assert_eq!((histogram.count(), histogram.max()), (2, HIGHEST));
        assert_eq!(histogram.quantile(0.5), HIGHEST);
    }
}
