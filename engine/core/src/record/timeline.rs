//! Timeline of a load under faults: completions in short slots, and slow requests.
//!
//! Intervals of a second show neither when a fault took effect nor for how long nothing completed. A slot has
//! the instants of its first and last success, so that the longest gap between successes follows exactly
//! from any gap longer than a slot. Memory grows with time, and not with the rate of requests.

use std::collections::BTreeMap;

use super::Window;
use crate::clock::{Nanos, SECOND};

/// Length of a slot.
pub const SLOT: Nanos = 10_000_000;
/// Service time from which on a request is listed.
pub const SLOW: Nanos = SECOND;
/// Outcome of a listed request that succeeded; of others it is the code of the error.
pub const SUCCEEDED: &str = "ok";
/// Error code of requests in progress at the end of the load.
pub const UNFINISHED: &str = "unfinished";
/// Number of slots whose memory is allocated in advance: an hour of them.
const MOST_RESERVED: u64 = 360_000;

/// Completions in one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    pub start: Nanos,
    pub succeeded: u64,
    /// Number of failures by the code of their error.
    pub errors: Vec<(String, u64)>,
    /// Instants of the first and the last success; 0 without one.
    pub first: Nanos,
    pub last: Nanos,
    /// Longest response time of a success.
    pub slowest: Nanos,
    /// Response times of the successes: highest value of each class (see [`class`]), and number of requests.
    pub times: Vec<(Nanos, u64)>,
}

/// A request with a long service time, or one in progress at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowRequest {
    pub client: u32,
    pub intended: Nanos,
    pub sent: Nanos,
    pub end: Nanos,
    pub outcome: String,
}

/// Completions of one thread, or of several merged.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    window: Option<Window>,
    /// Slots with completions, in order.
    pub slots: Vec<Slot>,
    pub slow: Vec<SlowRequest>,
    /// The last slot is open until then.
    open_end: Nanos,
    classes: Classes,
}

/// Number of requests by class of response time within the open slot.
#[derive(Clone, Debug)]
struct Classes {
    counts: Vec<u32>,
    lowest: usize,
    highest: usize,
}

impl Default for Classes {
    fn default() -> Self {
        Self { counts: vec![0; class(Nanos::MAX) + 1], lowest: usize::MAX, highest: 0 }
    }
}

impl Classes {
    fn take(&mut self) -> Vec<(Nanos, u64)> {
        if self.lowest > self.highest {
            return Vec::new();
        }
        let counts = &mut self.counts[self.lowest..=self.highest];
        let counted = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let times =
            counted.map(|(offset, &count)| (highest_of(self.lowest + offset), count.into())).collect();
        counts.fill(0);
        (self.lowest, self.highest) = (usize::MAX, 0);
        times
    }
}

/// Class of a response time: 16 in each octave, each up to 6.25% wide.
#[inline]
fn class(time: Nanos) -> usize {
    let shift = (Nanos::BITS - (time | 1).leading_zeros()).saturating_sub(5);
    (shift * 16) as usize + (time >> shift) as usize
}

/// Highest response time of a class.
fn highest_of(class: usize) -> Nanos {
    let shift = (class / 16).saturating_sub(1);
    let lowest = (class - shift * 16) as Nanos;
    (lowest << shift) | ((1 << shift) - 1)
}

impl Timeline {
    /// A finished timeline of these slots.
    pub fn of(slots: Vec<Slot>) -> Self {
        Self { slots, ..Self::default() }
    }

    /// Sets the window whose instants the slots are aligned with.
    pub fn set_window(&mut self, window: Window) {
        let planned = window.end.min(window.start.saturating_add(window.duration()));
        let slots = planned.saturating_sub(window.begin) / SLOT;
        self.slots.reserve(slots.min(MOST_RESERVED) as usize);
        self.open_end = self.open_end.min(window.start);
        self.window = Some(window);
    }

    #[inline]
    pub fn succeed(&mut self, client: u32, intended: Nanos, sent: Nanos, done: Nanos) {
        self.succeed_many(client, intended, sent, done, 1);
    }

    /// Records the success of `count` requests with the same times. Of slow ones a single one is listed.
    #[inline(never)]
    pub fn succeed_many(&mut self, client: u32, intended: Nanos, sent: Nanos, done: Nanos, count: u64) {
        self.advance(done);
        let response = done.saturating_sub(intended);
        if let Some(slot) = self.slots.last_mut() {
            if slot.succeeded == 0 {
                slot.first = done;
            }
            slot.succeeded += count;
            slot.last = slot.last.max(done);
            slot.slowest = slot.slowest.max(response);
        }
        let class = class(response);
        self.classes.counts[class] += count as u32;
        self.classes.lowest = self.classes.lowest.min(class);
        self.classes.highest = self.classes.highest.max(class);
        if done.saturating_sub(sent) >= SLOW {
            self.list(client, intended, sent, done, SUCCEEDED);
        }
    }

    #[cold]
    pub fn fail(&mut self, client: u32, intended: Nanos, sent: Nanos, done: Nanos, code: &str) {
        self.fail_many(client, intended, sent, done, code, 1);
    }

    /// Records the failure of `count` requests with the same times, of which a single one is listed.
    #[cold]
    pub fn fail_many(
        &mut self,
        client: u32,
        intended: Nanos,
        sent: Nanos,
        done: Nanos,
        code: &str,
        count: u64,
    ) {
        self.advance(done);
        if let Some(slot) = self.slots.last_mut() {
            slot.count_error(code, count);
        }
        if done.saturating_sub(sent) >= SLOW || code == UNFINISHED {
            self.list(client, intended, sent, done, code);
        }
    }

    #[inline]
    fn advance(&mut self, at: Nanos) {
        if at >= self.open_end {
            self.open(at);
        }
    }

    /// Opens the slot of an instant.
    #[cold]
    fn open(&mut self, at: Nanos) {
        self.close();
        let window = self.window.unwrap_or(Window::UNKNOWN);
        let (base, limit) = if at >= window.start {
            (window.start, Nanos::MAX)
        } else {
            (window.begin.min(at), window.start)
        };
        let start = base + (at - base) / SLOT * SLOT;
        self.open_end = (start + SLOT).min(limit);
        self.slots.push(Slot { start, ..Slot::default() });
    }

    /// Completes the last slot.
    fn close(&mut self) {
        if let Some(slot) = self.slots.last_mut() {
            slot.times = self.classes.take();
        }
    }

    fn list(&mut self, client: u32, intended: Nanos, sent: Nanos, end: Nanos, outcome: &str) {
        self.slow.push(SlowRequest { client, intended, sent, end, outcome: outcome.into() });
    }

    /// Completes the timeline of a thread.
    pub fn finish(&mut self) {
        self.close();
        self.open_end = 0;
    }

    /// Adds the finished timeline of another thread of the same load.
    pub fn merge(&mut self, other: Self) {
        let mut slots: BTreeMap<Nanos, Slot> =
            std::mem::take(&mut self.slots).into_iter().map(|slot| (slot.start, slot)).collect();
        for slot in other.slots {
            match slots.get_mut(&slot.start) {
                Some(present) => present.merge(&slot),
                None => drop(slots.insert(slot.start, slot)),
            }
        }
        self.slots = slots.into_values().collect();
        self.slow.extend(other.slow);
        self.slow.sort_by_key(|request| (request.sent, request.client));
    }
}

impl Slot {
    fn count_error(&mut self, code: &str, count: u64) {
        match self.errors.iter_mut().find(|(present, _)| present == code) {
            Some((_, present)) => *present += count,
            None => self.errors.push((code.into(), count)),
        }
    }

    /// Adds the same slot of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.first = match (self.succeeded, other.succeeded) {
            (0, _) => other.first,
            (_, 0) => self.first,
            _ => self.first.min(other.first),
        };
        self.last = self.last.max(other.last);
        self.succeeded += other.succeeded;
        other.errors.iter().for_each(|(code, count)| self.count_error(code, *count));
        self.slowest = self.slowest.max(other.slowest);
        let mut times: BTreeMap<Nanos, u64> = self.times.iter().copied().collect();
        for (time, count) in &other.times {
            *times.entry(*time).or_default() += count;
        }
        self.times = times.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Nanos = 1_000_000;

    fn timeline(window: Window) -> Timeline {
        let mut timeline = Timeline::default();
        timeline.set_window(window);
        timeline
    }

    fn window() -> Window {
        Window { begin: 100 * MS, start: 125 * MS, end: 500 * MS, interval: 100 * MS }
    }

    #[test]
    fn slots_are_aligned_with_the_start_of_the_measurement() {
        let mut timeline = timeline(window());
        for at in [103, 119, 121, 124, 126, 134, 135, 300] {
            timeline.succeed(0, (at - 2) * MS, (at - 1) * MS, at * MS);
        }
        timeline.finish();
        let facts = |slot: &Slot| (slot.start / MS, slot.succeeded, slot.first, slot.last);
        let slots: Vec<_> = timeline.slots.iter().map(facts).collect();
        let ms = |start, succeeded, first, last| (start, succeeded, first * MS, last * MS);
        assert_eq!(
            slots,
            [
                ms(100, 1, 103, 103),
                ms(110, 1, 119, 119),
                ms(120, 2, 121, 124),
                ms(125, 2, 126, 134),
                ms(135, 1, 135, 135),
                ms(295, 1, 300, 300)
            ]
        );
        let times: Vec<_> = timeline.slots.iter().map(|slot| &slot.times[..]).collect();
        assert!(times.iter().all(|times| times.len() == 1 && (2 * MS..2_125_000).contains(&times[0].0)));
    }

    #[test]
    fn a_measurement_that_is_set_later_ends_the_open_slot() {
        let unknown = Window { start: Nanos::MAX, end: Nanos::MAX, ..window() };
        let mut timeline = timeline(unknown);
        timeline.succeed(0, 100 * MS, 100 * MS, 108 * MS);
        timeline.set_window(Window { start: 109 * MS, ..window() });
        timeline.succeed(0, 109 * MS, 109 * MS, 109 * MS);
        let starts: Vec<_> = timeline.slots.iter().map(|slot| slot.start / MS).collect();
        assert_eq!(starts, [100, 109]);
    }

    #[test]
    fn requests_with_a_long_service_time_are_listed() {
        let mut timeline = timeline(window());
        timeline.succeed(1, 0, 500 * MS, 500 * MS + SLOW - 1); // it waited long, and was served in time
        timeline.succeed(2, 400 * MS, 500 * MS, 500 * MS + SLOW);
        timeline.fail(3, 400 * MS, 500 * MS, 500 * MS + 2 * SLOW, "timeout");
        timeline.fail(4, 400 * MS, 500 * MS, 501 * MS, "refused");
        timeline.fail(5, 400 * MS, 500 * MS, 501 * MS, UNFINISHED);
        let listed: Vec<_> =
            timeline.slow.iter().map(|request| (request.client, request.outcome.as_str())).collect();
        assert_eq!(listed, [(2, "ok"), (3, "timeout"), (5, "unfinished")]);
    }

    proptest! {
        #[test]
        fn a_class_is_at_most_a_sixteenth_wide(time in any::<u64>()) {
            let highest = highest_of(class(time));
            prop_assert_eq!(class(highest), class(time));
            prop_assert!(highest >= time && highest - time <= time / 16);
        }

        /// Threads record apart what one thread would record alone.
        #[test]
        fn merged_timelines_are_that_of_all_requests(
            requests in prop::collection::vec((0u32..3, 0u64..400 * MS, 0u64..50 * MS, any::<bool>()), 0..60)
        ) {
            let mut requests = requests;
            requests.sort_by_key(|request| request.1);
            let mut threads: Vec<_> = (0..3).map(|_| timeline(window())).collect();
            let mut combined = timeline(window());
            for (thread, at, time, succeeded) in requests {
                let done = 100 * MS + at;
                for timeline in [&mut threads[thread as usize], &mut combined] {
                    if succeeded {
                        timeline.succeed(thread, done - time, done, done);
                    } else {
                        timeline.fail(thread, done - time, done, done, "error");
                    }
                }
            }
            combined.finish();
            let mut merged = Timeline::default();
            for mut thread in threads {
                thread.finish();
                merged.merge(thread);
            }
            prop_assert_eq!(merged.slots, combined.slots);
        }
    }
}
