//! Range of the throughput within wide intervals: counts by second (or by several of them) of an execution.

use std::collections::VecDeque;

/// Twelve days of seconds.
const MOST: i64 = 1 << 20;

/// Counts of seconds in their order, with none missing between.
#[derive(Default)]
pub struct Reach {
    first: i64,
    counts: VecDeque<u64>,
}

impl Reach {
    /// Makes room for this second. Returns false if the range would be too long.
    pub fn reserve(&mut self, second: i64) -> bool {
        if self.counts.is_empty() {
            self.first = second;
        }
        let (low, high) = (self.first.min(second), second.max(self.first + self.counts.len() as i64 - 1));
        if high - low >= MOST {
            return false;
        }
        for _ in low..self.first {
            self.counts.push_front(0);
        }
        self.first = low;
        self.counts.resize((high - low + 1) as usize, 0);
        true
    }

    /// Adds `count` to a second that has room.
    pub fn add(&mut self, second: i64, count: u64) {
        self.counts[(second - self.first) as usize] += count;
    }

    /// Joins seconds two by two.
    pub fn halve(&mut self) {
        let old = std::mem::take(self);
        for (second, count) in (old.first..).zip(old.counts) {
            self.reserve(second >> 1);
            self.add(second >> 1, count);
        }
    }

    /// Lowest and highest count of the given number of seconds from `start` on.
    pub fn between(&self, start: i64, seconds: i64) -> (u64, u64) {
        let of =
            |second: i64| usize::try_from(second - self.first).ok().and_then(|index| self.counts.get(index));
        (start..start + seconds)
            .map(|second| of(second).copied().unwrap_or(0))
            .fold((u64::MAX, 0), |(low, high), count| (low.min(count), high.max(count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(counts: &[(i64, u64)]) -> Reach {
        let mut reach = Reach::default();
        for (second, count) in counts {
            assert!(reach.reserve(*second));
            reach.add(*second, *count);
        }
        reach
    }

    #[test]
    fn seconds_come_in_any_order_and_nothing_ended_in_those_between() {
        let reach = reach(&[(5, 3), (2, 7), (5, 1), (-1, 2)]);
        assert_eq!(
            (reach.between(-1, 1), reach.between(5, 1), reach.between(3, 2)),
            ((2, 2), (4, 4), (0, 0))
        );
        assert_eq!(
            (reach.between(2, 4), reach.between(5, 2), reach.between(-9, 3)),
            ((0, 7), (0, 4), (0, 0))
        );
    }

    #[test]
    fn two_by_two_they_are_half_as_many() {
        let mut reach = reach(&[(-3, 1), (-2, 2), (-1, 4), (0, 8), (1, 16), (2, 32)]);
        reach.halve();
        let counts: Vec<u64> = (-2..=1).map(|second| reach.between(second, 1).0).collect();
        assert_eq!(counts, [1, 6, 24, 32]);
    }

    #[test]
    fn there_is_no_room_for_more_than_days_of_seconds() {
        let mut reach = reach(&[(0, 1)]);
        assert!(reach.reserve(MOST - 1) && !reach.reserve(MOST) && !reach.reserve(-1));
        reach.halve();
        assert!(reach.reserve(-1));
    }
}
