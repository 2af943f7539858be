//! Statistics by second of an execution: throughput, mean and tail of the times. Memory depends on the length
//! of the execution and the spread of its times, not on the number of transactions. A very long execution has
//! wider intervals.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::reach::Reach;

/// More than a day of seconds. Beyond it neighbours are joined two by two, so that memory and files stay
/// small.
const MOST: usize = 100_000;
/// Counts stored after merging.
const MOST_COUNTS: usize = 1 << 20;
/// 64 buckets for each doubling: a percentile is right within 0.8%.
const PART_BITS: u32 = 6;
const BUCKETS: usize = 65 << PART_BITS;
/// Low bits of a key that hold the bucket; the interval is above them.
const BUCKET_BITS: u32 = 13;
/// Seconds that are counted in tables; whatever comes is near the last.
const PAGES: usize = 16;

/// Open second (or several joined ones) with counts by bucket.
struct Page {
    second: i64,
    /// Empty until the first count.
    counts: Vec<u64>,
    /// Range of buckets in use.
    low: usize,
    high: usize,
    sum: f64,
}

/// Counts by interval and bucket, in the order of time. Seconds are below 2^50.
pub struct Seconds {
    /// Width of a page's second.
    second_s: i64,
    per_second: f64,
    /// Binary logarithm of the seconds in an interval.
    joined_bits: u32,
    pages: Vec<Page>,
    /// By `interval << BUCKET_BITS | bucket`; keys may repeat until they are merged.
    counts: Vec<(i64, u64)>,
    /// Sums of the times in ticks, by interval.
    sums: BTreeMap<i64, f64>,
    /// Counts by second.
    reach: Reach,
}

impl Default for Seconds {
    fn default() -> Self {
        Self {
            second_s: 1,
            per_second: 1.0,
            joined_bits: 0,
            pages: Vec::new(),
            counts: Vec::new(),
            sums: BTreeMap::new(),
            reach: Reach::default(),
        }
    }
}

impl Seconds {
    /// Adds a transaction of `ticks` ticks that ended `since_s` after the base, or before it.
    #[inline]
    pub fn add(&mut self, since_s: f64, ticks: u64) {
        let second = self.second(since_s);
        let page = match self.pages.get_mut(slot(second)) {
            Some(page) if page.second == second => page,
            _ => self.open(since_s),
        };
        let bucket = bucket(ticks);
        page.counts[bucket] += 1;
        page.low = page.low.min(bucket);
        page.high = page.high.max(bucket);
        page.sum += ticks as f64;
    }

    #[inline]
    fn second(&self, since_s: f64) -> i64 {
        let seconds = since_s * self.per_second; // exact: a power of two
        let truncated = seconds as i64;
        truncated - i64::from(truncated as f64 > seconds)
    }

    #[inline(never)]
    fn open(&mut self, since_s: f64) -> &mut Page {
        if self.pages.is_empty() {
            let empty = || Page { second: i64::MIN, counts: Vec::new(), low: BUCKETS, high: 0, sum: 0.0 };
            self.pages.resize_with(PAGES, empty);
        }
        self.close(slot(self.second(since_s)));
        if self.counts.len() > 2 * MOST_COUNTS || self.sums.len() > MOST {
            self.settle();
        }
        while !self.reach.reserve(self.second(since_s)) {
            self.coarsen();
        }
        let second = self.second(since_s);
        let page = &mut self.pages[slot(second)];
        page.second = second;
        page.counts.resize(BUCKETS, 0);
        page
    }

    /// Moves the counts of a page to the common ones.
    fn close(&mut self, slot: usize) {
        let page = &mut self.pages[slot];
        if page.low > page.high {
            return;
        }
        let (interval, mut all) = (page.second >> self.joined_bits, 0);
        for (bucket, count) in page.counts[page.low..=page.high].iter_mut().enumerate() {
            if *count > 0 {
                let bucket = (page.low + bucket) as i64;
                all += *count;
                self.counts.push((interval << BUCKET_BITS | bucket, std::mem::take(count)));
            }
        }
        *self.sums.entry(interval).or_default() += page.sum;
        self.reach.add(page.second, all);
        (page.second, page.low, page.high, page.sum) = (i64::MIN, BUCKETS, 0, 0.0);
    }

    /// Merges counts of the same interval and bucket, and makes intervals wider where there are too many.
    fn settle(&mut self) {
        self.close_all();
        self.merge_counts();
        while self.sums.len() > MOST || self.counts.len() > MOST_COUNTS {
            self.widen();
        }
    }

    fn close_all(&mut self) {
        for slot in 0..self.pages.len() {
            self.close(slot);
        }
    }

    /// Makes seconds wider: there are too many of them to know what ended in each. Intervals are never
    /// narrower.
    fn coarsen(&mut self) {
        self.close_all();
        if self.joined_bits == 0 {
            self.widen();
        }
        self.joined_bits -= 1;
        self.second_s *= 2;
        self.per_second /= 2.0;
        self.reach.halve();
    }

    fn merge_counts(&mut self) {
        self.counts.sort_unstable_by_key(|(key, _)| *key);
        self.counts.dedup_by(|next, previous| {
            let same = next.0 == previous.0;
            if same {
                previous.1 += next.1;
            }
            same
        });
    }

    /// Joins intervals two by two.
    fn widen(&mut self) {
        self.joined_bits += 1;
        for (key, _) in &mut self.counts {
            let (interval, bucket) = parts(*key);
            *key = interval >> 1 << BUCKET_BITS | bucket as i64;
        }
        self.merge_counts();
        let mut sums = BTreeMap::new();
        for (interval, sum) in std::mem::take(&mut self.sums) {
            *sums.entry(interval >> 1).or_default() += sum;
        }
        self.sums = sums;
    }

    /// Columns of all intervals, also those in which nothing ended, but for the last, which is cut: `first`
    /// is the number of the first, each `width_s` wide. Times are null where nothing ended. `lowest` and
    /// `highest` are throughputs (per s) of the seconds that were joined to one; null where none were.
    pub fn intervals(&mut self, ticks_per_ms: f64) -> Value {
        self.settle();
        let (mut low, mut high) = (0, 0);
        while let (Some(first), Some(last)) = (self.counts.first(), self.counts.last()) {
            (low, high) = (parts(first.0).0, parts(last.0).0);
            if high - low <= MOST as i64 {
                break;
            }
            self.widen(); // far apart, with nothing between: two executions in one log
        }
        let number = (high - low) as usize;
        let mut done = vec![0; number];
        let (mut averages, mut lates): (Vec<Option<f64>>, Vec<Option<f64>>) =
            (vec![None; number], vec![None; number]);
        for within in self.counts.chunk_by(|count, next| parts(count.0).0 == parts(next.0).0) {
            let interval = parts(within[0].0).0;
            let index = (interval - low) as usize;
            if index == number {
                continue;
            }
            done[index] = within.iter().map(|(_, count)| count).sum::<u64>();
            averages[index] = Some(self.sums[&interval] / done[index] as f64 / ticks_per_ms);
            let mut up_to = 0;
            let reached = within.iter().find(|(_, count)| {
                up_to += count;
                up_to as f64 >= 0.99 * done[index] as f64
            });
            lates[index] = reached.map(|(key, _)| middle(parts(*key).1) / ticks_per_ms);
        }
        let (lowest, highest) = self.extremes(low, high).unzip();
        json!({
            "first": low, "width_s": self.width_s(), "done": done, "mean_ms": averages, "p99_ms": lates,
            "lowest": lowest, "highest": highest,
        })
    }

    fn width_s(&self) -> i64 {
        self.second_s << self.joined_bits
    }

    /// The lowest and the highest throughput of the seconds in each of these intervals; none where each is a
    /// second.
    fn extremes(&self, low: i64, high: i64) -> Option<(Vec<f64>, Vec<f64>)> {
        let rate = |count: u64| count as f64 * self.per_second;
        let of = |interval: i64| {
            let (fewest, most) = self.reach.between(interval << self.joined_bits, 1 << self.joined_bits);
            (rate(fewest), rate(most))
        };
        (self.joined_bits > 0).then(|| (low..high).map(of).unzip())
    }
}

#[inline]
fn slot(second: i64) -> usize {
    (second & (PAGES as i64 - 1)) as usize
}

/// Interval and bucket.
fn parts(key: i64) -> (i64, usize) {
    (key >> BUCKET_BITS, (key & ((1 << BUCKET_BITS) - 1)) as usize)
}

/// 64 buckets for each doubling; below 64 each number has its own. It is the exponent and the first 6 bits of
/// the mantissa.
#[inline]
fn bucket(ticks: u64) -> usize {
    let bits = (ticks as f64).to_bits() >> (52 - PART_BITS);
    bits.saturating_sub(1022 << PART_BITS) as usize
}

/// The ticks that a bucket stands for.
fn middle(bucket: usize) -> f64 {
    let parts = f64::from(1 << PART_BITS);
    if bucket < 1 << PART_BITS {
        return 0.0;
    }
    let doubling = 2f64.powi((bucket >> PART_BITS) as i32);
    let inside = (bucket & ((1 << PART_BITS) - 1)) as f64;
    let (low, width) = ((inside + parts) / (2.0 * parts) * doubling, doubling / (2.0 * parts));
    low + (width - 1.0).max(0.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(intervals: &Value, name: &str) -> Vec<Option<f64>> {
        intervals[name].as_array().unwrap().iter().map(Value::as_f64).collect()
    }

    #[test]
    fn a_bucket_stands_for_the_middle_of_its_times() {
        for ticks in (0..500).chain([1_000, 123_456, 1 << 40, i64::MAX as u64]) {
            let middle = middle(bucket(ticks));
            assert!((middle - ticks as f64).abs() <= ticks as f64 * 0.008, "{ticks}: {middle}");
            assert!(bucket(ticks) < BUCKETS);
        }
    }

    #[test]
    fn a_second_in_which_nothing_ended_is_one_of_no_throughput() {
        let mut seconds = Seconds::default();
        for (since_s, ticks) in [(0.5, 1), (3.5, 2), (-0.5, 7), (4.5, 3)] {
            seconds.add(since_s, ticks);
        }
        let intervals = seconds.intervals(1.0);
        assert_eq!((&intervals["first"], &intervals["width_s"]), (&json!(-1), &json!(1)));
        assert_eq!(intervals["done"], json!([1, 1, 0, 0, 1]));
        assert_eq!(
            (&intervals["lowest"], &intervals["highest"]),
            (&Value::Null, &Value::Null),
            "nothing was joined"
        );
        assert_eq!(column(&intervals, "mean_ms"), [Some(7.0), Some(1.0), None, None, Some(2.0)]);
        assert_eq!(column(&intervals, "p99_ms"), [Some(7.0), Some(1.0), None, None, Some(2.0)]);
    }

    #[test]
    fn seconds_have_their_counts_whatever_the_order() {
        let mut seconds = Seconds::default();
        for number in 0..40_000_u64 {
            let mixed = number * 7_919 % 40_000;
            seconds.add(mixed as f64 / 100.0, 100 + mixed % 100);
        }
        let intervals = seconds.intervals(1.0);
        assert_eq!(column(&intervals, "done"), [Some(100.0); 399]);
        assert_eq!(column(&intervals, "mean_ms"), [Some(149.5); 399]);
        let lates = column(&intervals, "p99_ms");
        assert!(lates.iter().all(|late| (late.unwrap() - 198.0).abs() <= 2.0), "{lates:?}");
    }

    #[test]
    fn a_log_of_years_has_wider_intervals_instead_of_millions() {
        let mut seconds = Seconds::default();
        for number in 0..345_600 {
            seconds.add(f64::from(number) * 300.0 + 0.5, 7);
        }
        let intervals = seconds.intervals(1.0);
        let done = column(&intervals, "done");
        assert!((10_000..=MOST).contains(&done.len()), "{}", done.len());
        let (width_s, seconds_s) = (intervals["width_s"].as_i64().unwrap(), seconds.second_s);
        assert!(width_s > 300 && 1 < seconds_s && seconds_s < width_s, "{seconds_s} {width_s}");
        let highest = column(&intervals, "highest");
        assert!(
            highest.iter().all(|highest| *highest == Some(1.0 / seconds_s as f64)),
            "one at most ended in any"
        );
        assert!(column(&intervals, "lowest").iter().all(|lowest| *lowest == Some(0.0)));
        let all: f64 = done.iter().map(|count| count.unwrap()).sum();
        assert!((345_590.0..=345_600.0).contains(&all), "{all}");
        assert!(column(&intervals, "p99_ms").iter().all(|late| *late == Some(7.0)));
    }

    #[test]
    fn how_far_throughput_went_within_what_was_joined_is_kept_whatever_the_order() {
        let mut seconds = Seconds::default();
        let stalled = 70_001;
        for start in [1, 0] {
            // Two logs, one after the other: of the odd seconds, and of the even ones.
            for second in (start..150_000).step_by(2).filter(|second| *second != stalled) {
                for number in 0..1 + 2 * u64::from(second == 90_000) {
                    seconds.add(f64::from(second) + 0.1 * number as f64, 7);
                }
            }
        }
        let intervals = seconds.intervals(1.0);
        assert_eq!((&intervals["width_s"], seconds.second_s), (&json!(2), 1));
        let (lowest, highest) = (column(&intervals, "lowest"), column(&intervals, "highest"));
        let odd = |column: &[Option<f64>]| {
            let others = |(_, value): &(usize, &Option<f64>)| **value != Some(1.0);
            column
                .iter()
                .enumerate()
                .filter(others)
                .map(|(index, value)| (index, value.unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!((odd(&lowest), odd(&highest)), (vec![(35_000, 0.0)], vec![(45_000, 3.0)]));
    }

    #[test]
    fn counts_that_would_not_fit_make_seconds_wider_and_none_is_lost() {
        let mut seconds = Seconds::default();
        let all = 33_000 * 33;
        for number in 0..all {
            seconds.add((number / 33) as f64, 1 << (number % 33));
        }
        let intervals = seconds.intervals(1.0);
        assert!(seconds.counts.len() <= MOST_COUNTS);
        assert!(intervals["width_s"].as_i64().unwrap() > 1);
        assert_eq!(seconds.counts.iter().map(|(_, count)| count).sum::<u64>(), all);
    }

    #[test]
    fn two_executions_far_apart_are_joined() {
        let mut seconds = Seconds::default();
        for since_s in [0.5, 1e12, -1e12] {
            seconds.add(since_s, 5);
        }
        let done = column(&seconds.intervals(1.0), "done");
        assert!(done.len() <= MOST);
        assert_eq!(done.iter().map(|count| count.unwrap()).sum::<f64>(), 2.0);
    }
}
