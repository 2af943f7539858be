//! When an open loop is given up: its target takes less than is due, and will not catch up.
//!
//! Requests that wait cost no memory, however many; but their response times say only how long the load has been going
//! on. A backlog by itself is no reason: a target that stood still for a while works it off, and to see that is what an
//! open loop is for. So a load is *overloaded* at the end of an interval when both are true:
//!
//! 1. the oldest request has been due for longer than the limit (`load.max_backlog` in a plan), and
//! 2. the backlog is larger than it was `GROWTH` ago: whatever held the target up, it is not working it off.
//!
//! While there is no connection at all nothing is said: the target is then not slow but gone, which has its own end.

use std::collections::VecDeque;

use loadcell_core::clock::{Nanos, SECOND};
use loadcell_core::record::IntervalStats;

/// Over how long a backlog is compared. Shorter, and the chance in arrivals and a checkpoint's pause would decide.
const GROWTH: Nanos = 2 * SECOND;

/// What is remembered of the intervals that lie within `GROWTH`.
pub struct OverloadDetector {
    most_overdue_ns: Nanos,
    /// When intervals ended, and what waited then; the first is the last one that is `GROWTH` ago, if there is one.
    history: VecDeque<(Nanos, u64)>,
}

impl OverloadDetector {
    pub fn new(most_overdue_ns: Nanos) -> Self {
        Self { most_overdue_ns, history: VecDeque::new() }
    }

    /// Takes an interval in; whether the load is overloaded at its end.
    pub fn sees(&mut self, interval: &IntervalStats) -> bool {
        let (end, backlog) = (interval.span.end, interval.backlog);
        if interval.connected == 0 {
            self.history.clear();
            return false;
        }
        while self.history.get(1).is_some_and(|(at, _)| at + GROWTH <= end) {
            self.history.pop_front();
        }
        let before = self.history.front().filter(|(at, _)| at + GROWTH <= end).map(|&(_, waiting)| waiting);
        self.history.push_back((end, backlog.waiting));
        backlog.overdue_ns > self.most_overdue_ns && before.is_some_and(|before| backlog.waiting > before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::record::{Backlog, Phase, Span};

    const LIMIT: Nanos = 5 * SECOND;

    /// The intervals, by number, at whose end a load is called overloaded; each is given as (waiting, overdue seconds).
    fn overloaded(interval_ms: u64, intervals: impl IntoIterator<Item = (u64, f64)>) -> Vec<usize> {
        let mut overload = OverloadDetector::new(LIMIT);
        let length = interval_ms * SECOND / 1000;
        let mut interval = IntervalStats::new(1);
        let mut found = Vec::new();
        for (number, (waiting, overdue_s)) in intervals.into_iter().enumerate() {
            let start = number as Nanos * length;
            interval.span = Span { phase: Phase::Measure, index: number as u32, start, end: start + length };
            interval.backlog = Backlog { waiting, peak: waiting, overdue_ns: (overdue_s * 1e9) as Nanos };
            interval.connected = 4;
            if overload.sees(&interval) {
                found.push(number);
            }
        }
        found
    }

    #[test]
    fn it_is_when_the_oldest_is_overdue_and_ever_more_wait() {
        let growing = (0..12).map(|second| (1_000 * second, second as f64 * 2.0 / 3.0));
        assert_eq!(overloaded(1_000, growing), [8, 9, 10, 11]);
    }

    #[test]
    fn it_is_not_while_a_long_backlog_is_worked_off() {
        // Two seconds of 10,000/s, then none, on a target that takes 1,000/s.
        let burst =
            (1..20).map(|second| (9_000 * second.min(2) - 1_000 * (second.max(2) - 2), second as f64 * 0.9));
        assert!(overloaded(1_000, burst).is_empty());
    }

    #[test]
    fn it_is_not_by_chance_in_short_intervals() {
        // Worked off slowly, with more waiting now and then than an interval before.
        let shaking = (0..100).map(|number| (10_000 - 10 * number + 40 * (number % 2), 6.0));
        assert!(overloaded(100, shaking).is_empty());
        let growing = (0..100).map(|number| (10_000 + 10 * number + 40 * (number % 2), 6.0));
        assert_eq!(overloaded(100, growing)[0], 20);
    }

    #[test]
    fn it_is_seen_in_intervals_longer_than_the_time_of_comparison() {
        assert_eq!(overloaded(60_000, [(100, 1.0), (200, 4.0), (300, 6.0), (250, 6.0)]), [2]);
    }

    #[test]
    fn it_is_not_while_there_is_no_connection() {
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
            assert!(!overload.sees(&interval));
        }
    }
}
