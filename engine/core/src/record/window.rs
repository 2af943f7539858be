//! The planned instants of a load, and the spans that they and the interval cut it into.

use serde::Serialize;

use crate::clock::Nanos;

/// Phase of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Connections are made; nothing is asked yet.
    #[default]
    Connect,
    /// The same work as in the measure phase, but it does not count.
    Warmup,
    Measure,
    /// Nothing new is started; what is in progress may finish.
    Drain,
}

/// All threads hold the same window, so they cut their records at the same instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Work starts: warm-up, or the measurement itself where there is none.
    pub begin: Nanos,
    /// The measurement starts ...
    pub start: Nanos,
    /// ... and ends: `[start, end)`.
    pub end: Nanos,
    pub interval: Nanos,
}

impl Window {
    /// Before it is known when work starts.
    pub const UNKNOWN: Self =
        Self { begin: Nanos::MAX, start: Nanos::MAX, end: Nanos::MAX, interval: Nanos::MAX };

    pub fn duration(&self) -> Nanos {
        self.end.saturating_sub(self.start)
    }

    /// The span that starts where `last` ended.
    pub fn after(&self, last: Span) -> Span {
        let start = last.end;
        let (phase, limit) = if start >= self.end {
            (Phase::Drain, Nanos::MAX)
        } else if start >= self.start {
            (Phase::Measure, self.end)
        } else {
            (Phase::Warmup, self.start.min(self.end))
        };
        let index = if phase == last.phase { last.index + 1 } else { 0 };
        let end = if phase == Phase::Drain { limit } else { limit.min(start.saturating_add(self.interval)) };
        Span { phase, index, start, end }
    }
}

/// One interval: `[start, end)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub phase: Phase,
    /// Counts from 0 in each phase.
    pub index: u32,
    pub start: Nanos,
    pub end: Nanos,
}

impl Span {
    /// The same where a measurement turns out to have ended at `end`: what lies after that is no part of it.
    pub fn measured_until(self, end: Nanos) -> Self {
        match self.phase {
            Phase::Measure if self.start >= end => Self { phase: Phase::Drain, ..self },
            Phase::Measure => Self { end: self.end.min(end), ..self },
            _ => self,
        }
    }

    /// The order in which spans follow on each other.
    pub fn key(&self) -> (Phase, u32) {
        (self.phase, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(window: Window) -> Vec<(Phase, u32, Nanos, Nanos)> {
        let mut span = Span { end: window.begin, ..Span::default() };
        let mut all = Vec::new();
        while span.phase != Phase::Drain {
            span = window.after(span);
            all.push((span.phase, span.index, span.start, span.end));
        }
        all
    }

    #[test]
    fn intervals_are_counted_from_the_start_of_each_phase() {
        let window = Window { begin: 100, start: 125, end: 145, interval: 10 };
        assert_eq!(
            spans(window),
            [
                (Phase::Warmup, 0, 100, 110),
                (Phase::Warmup, 1, 110, 120),
                (Phase::Warmup, 2, 120, 125),
                (Phase::Measure, 0, 125, 135),
                (Phase::Measure, 1, 135, 145),
                (Phase::Drain, 0, 145, Nanos::MAX),
            ]
        );
    }

    #[test]
    fn without_a_warm_up_the_measurement_starts_at_once() {
        let window = Window { begin: 100, start: 100, end: 110, interval: 60 };
        assert_eq!(spans(window), [(Phase::Measure, 0, 100, 110), (Phase::Drain, 0, 110, Nanos::MAX)]);
    }

    #[test]
    fn a_load_that_ends_in_its_warm_up_measures_nothing() {
        let window = Window { begin: 100, start: 200, end: 150, interval: 100 };
        assert_eq!(spans(window), [(Phase::Warmup, 0, 100, 150), (Phase::Drain, 0, 150, Nanos::MAX)]);
        assert_eq!(window.duration(), 0);
    }
}
