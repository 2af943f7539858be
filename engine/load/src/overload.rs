//! Detects overload of an open loop: the target serves less than the offered load, and will not catch up.
//!
//! Waiting requests cost no memory, but their response times then only show the age of the load. A backlog
//! alone is no overload: a target that stalled for a while works it off, which an open loop is meant to show.
//! A load is *overloaded* at the end of an interval when both are true:
//!
//! 1. the oldest request has been due for longer than the limit (`load.max_backlog` in a plan), and
//! 2. the backlog is larger than `GROWTH_PERIOD` ago.
//!
//! Without any connection nothing is detected: the target is then not slow but unreachable, which ends the
//! load by itself.

use std::collections::VecDeque;

use loadcell_core::clock::{Nanos, SECOND};
use loadcell_core::record::IntervalStats;

/// Period over which backlogs are compared. In a shorter one random arrivals or a checkpoint's pause would
/// decide.
const GROWTH_PERIOD: Nanos = 2 * SECOND;

/// History of the backlog over `GROWTH_PERIOD`.
pub struct OverloadDetector {
    most_overdue_ns: Nanos,
    /// (end, backlog) of intervals; the first is the last one that ended `GROWTH_PERIOD` ago or earlier, if
    /// there is one.
    history: VecDeque<(Nanos, u64)>,
}

impl OverloadDetector {
    pub fn new(most_overdue_ns: Nanos) -> Self {
        Self { most_overdue_ns, history: VecDeque::new() }
    }

    /// Adds an interval. Returns true if the load is overloaded at its end.
    pub fn add(&mut self, interval: &IntervalStats) -> bool {
        let (end, backlog) = (interval.span.end, interval.backlog);
        if interval.connected == 0 {
            self.history.clear();
            return false;
        }
        while self.history.get(1).is_some_and(|(at, _)| at + GROWTH_PERIOD <= end) {
            self.history.pop_front();
        }
        let before =
            self.history.front().filter(|(at, _)| at + GROWTH_PERIOD <= end).map(|&(_, waiting)| waiting);
        self.history.push_back((end, backlog.waiting));
        backlog.overdue_ns > self.most_overdue_ns && before.is_some_and(|before| backlog.waiting > before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::record::{Backlog, Phase, Span};

    const LIMIT: Nanos = 5 * SECOND;

    /// Indices of the intervals at whose end a load is overloaded; each is given as (waiting, overdue
    /// seconds).
    fn overloaded(interval_ms: u64, intervals: impl IntoIterator<Item = (u64, f64)>) -> Vec<usize> {
        let mut overload = OverloadDetector::new(LIMIT);
        let length = interval_ms * SECOND / 1000;
        let mut interval = IntervalStats::new(1);
        let mut indices = Vec::new();
        for (number, (waiting, overdue_s)) in intervals.into_iter().enumerate() {
            let start = number as Nanos * length;
            interval.span = Span { phase: Phase::Measure, index: number as u32, start, end: start + length };
            interval.backlog = Backlog { waiting, peak: waiting, overdue_ns: (overdue_s * 1e9) as Nanos };
            interval.connected = 4;
            if overload.add(&interval) {
                indices.push(number);
            }
        }
        indices
    }

    #[test]
    fn a_growing_backlog_with_an_overdue_request_is_an_overload() {
        let growing = (0..12).map(|second| (1_000 * second, second as f64 * 2.0 / 3.0));
        assert_eq!(overloaded(1_000, growing), [8, 9, 10, 11]);
    }

    #[test]
    fn a_shrinking_backlog_is_no_overload() {
        // Two seconds of 10,000/s, then none, on a target that takes 1,000/s.
        let burst =
            (1..20).map(|second| (9_000 * second.min(2) - 1_000 * (second.max(2) - 2), second as f64 * 0.9));
        assert!(overloaded(1_000, burst).is_empty());
    }

    #[test]
    fn random_growth_in_short_intervals_is_no_overload() {
        // Worked off slowly, with more waiting now and then than an interval before.
        let shaking = (0..100).map(|number| (10_000 - 10 * number + 40 * (number % 2), 6.0));
        assert!(overloaded(100, shaking).is_empty());
        let growing = (0..100).map(|number| (10_000 + 10 * number + 40 * (number % 2), 6.0));
        assert_eq!(overloaded(100, growing)[0], 20);
    }

    #[test]
    fn overload_is_detected_in_intervals_longer_than_the_growth_period() {
        assert_eq!(overloaded(60_000, [(100, 1.0), (200, 4.0), (300, 6.0), (250, 6.0)]), [2]);
    }

    #[test]
    fn without_a_connection_there_is_no_overload() {
        let mut overload = OverloadDetector::new(LIMIT);
        let mut interval = IntervalStats::new(1);
        for second in 0..20 {
            interval.span = Span {
                phase: Phase::Measure,
                index: second,
                start: 0,
                end: Nanos::from(second + 1) * SECOND,
            };
            interval.backlog =
                Backlog { waiting: 1_000 * u64::from(second), peak: 0, overdue_ns: 9 * SECOND };
            assert!(!overload.add(&interval));
        }
    }
}
