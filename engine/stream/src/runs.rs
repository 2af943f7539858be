//! Instants of records in progress, in the order in which they were sent.

use std::collections::VecDeque;

use loadcell_core::clock::Nanos;

/// Instants of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Intended start.
    pub due: Nanos,
    /// When the record was first offered to the kernel.
    pub sent: Nanos,
}

/// Consecutive records with the same times: those of one batch in a closed loop.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Index of the record after the last one.
    end: u64,
    times: Times,
}

/// Times by index, of records from the oldest one in progress on.
#[derive(Debug, Default)]
pub struct Runs {
    runs: VecDeque<Run>,
    /// Index of the first record.
    start: u64,
}

impl Runs {
    /// Index of the first record.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Index of the record after the last one.
    #[inline]
    pub fn end(&self) -> u64 {
        self.runs.back().map_or(self.start, |run| run.end)
    }

    /// Number of records.
    #[inline]
    pub fn len(&self) -> u64 {
        self.end() - self.start
    }

    /// Times of the first record.
    pub fn first(&self) -> Option<Times> {
        self.runs.front().map(|run| run.times)
    }

    /// Adds `count` records, at least 1.
    #[inline]
    pub fn push(&mut self, count: u64, times: Times) {
        let end = self.end() + count;
        match self.runs.back_mut() {
            Some(run) if run.times == times => run.end = end,
            _ => self.runs.push_back(Run { end, times }),
        }
    }

    /// Removes the first `count` records, which exist, and passes them on in groups with the same times.
    #[inline]
    pub fn take(&mut self, count: u64, mut ended: impl FnMut(u64, Times)) {
        let until = self.start + count;
        while self.start < until {
            let Some(run) = self.runs.front() else { return };
            let end = run.end.min(until);
            ended(end - self.start, run.times);
            self.start = end;
            if run.end == end {
                self.runs.pop_front();
            }
        }
    }

    /// Times of the record `index`, which exists.
    #[inline]
    pub fn times(&self, index: u64) -> Times {
        debug_assert!((self.start..self.end()).contains(&index), "there is no such record");
        let run = match self.runs.front() {
            Some(run) if index < run.end => run,
            _ => &self.runs[self.runs.partition_point(|run| run.end <= index)],
        };
        run.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(at: Nanos) -> Times {
        Times { due: at, sent: at + 1 }
    }

    fn runs() -> Runs {
        let mut runs = Runs::default();
        [(2, 10), (1, 10), (4, 20), (1, 30)].into_iter().for_each(|(count, at)| runs.push(count, times(at)));
        runs
    }

    #[test]
    fn records_with_the_same_times_take_the_memory_of_one() {
        let runs = runs();
        assert_eq!((runs.runs.len(), runs.len(), runs.end()), (3, 8, 8));
        let due: Vec<_> = (0..8).map(|index| runs.times(index).due).collect();
        assert_eq!(due, [10, 10, 10, 20, 20, 20, 20, 30]);
    }

    #[test]
    fn records_are_taken_in_groups() {
        let (mut runs, mut groups) = (runs(), Vec::new());
        runs.take(4, |count, times| groups.push((count, times.due)));
        assert_eq!((runs.start(), runs.len(), runs.first()), (4, 4, Some(times(20))));
        runs.take(4, |count, times| groups.push((count, times.due)));
        assert_eq!(groups, [(3, 10), (1, 20), (3, 20), (1, 30)]);
        assert_eq!((runs.len(), runs.first(), runs.start()), (0, None, 8));
        runs.push(1, times(40));
        assert_eq!(runs.times(8), times(40));
    }
}
