//! Timeline of a load as its reader gets it (JSON): columns of slots, and slow requests.
//!
//! Instants are relative to the start of the measurement, so that parts of one load from several machines
//! merge.

use serde::{Deserialize, Serialize};

use loadcell_core::clock::Nanos;
use loadcell_core::record::{Slot, SlowRequest, Timeline, Window};

/// Timeline of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineResult {
    pub group: String,
    pub slots: Slots,
    pub slow: Vec<SlowResult>,
}

/// Slots of 10 ms with completions, by start; a value of each column per slot. Slots of the warm-up begin
/// before 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots {
    pub start_ns: Vec<i64>,
    pub succeeded: Vec<u64>,
    /// Failures: pairs of an error code and a number of requests.
    pub errors: Vec<Vec<(String, u64)>>,
    /// Instants of the first and the last success; none without one.
    pub first_ns: Vec<Option<i64>>,
    pub last_ns: Vec<Option<i64>>,
    pub slowest_ns: Vec<Nanos>,
    /// Response times of the successes: pairs of an upper limit and a number of requests.
    pub response_ns: Vec<Vec<(Nanos, u64)>>,
}

/// A request with a service time of 1 s or more, or one in progress at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowResult {
    pub client: u32,
    pub intended_ns: i64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub outcome: String,
}

impl TimelineResult {
    /// The timeline until the end of the window.
    pub fn new(group: &str, timeline: &Timeline, window: &Window) -> Self {
        let relative = |at: Nanos| at as i64 - window.start as i64;
        let mut slots = Slots::default();
        for slot in timeline.slots.iter().filter(|slot| slot.start < window.end) {
            slots.push(slot, relative);
        }
        let slow = |request: &SlowRequest| SlowResult {
            client: request.client,
            intended_ns: relative(request.intended),
            start_ns: relative(request.sent),
            end_ns: relative(request.end),
            outcome: request.outcome.clone(),
        };
        Self { group: group.into(), slots, slow: timeline.slow.iter().map(slow).collect() }
    }

    /// Adds the timeline of another part of the load.
    pub fn merge(&mut self, other: Self) {
        let mut merged = Timeline::of(self.slots.rows());
        merged.merge(Timeline::of(other.slots.rows()));
        self.slots = Slots::default();
        for slot in &merged.slots {
            self.slots.push(slot, |at| (at as i64).wrapping_sub(ORIGIN as i64));
        }
        self.slow.extend(other.slow);
        self.slow.sort_by_key(|request| (request.start_ns, request.client));
    }
}

/// Start of the measurement in rows: later than any warm-up is long.
const ORIGIN: Nanos = 1 << 62;

impl Slots {
    fn push(&mut self, slot: &Slot, relative: impl Fn(Nanos) -> i64) {
        let success = |at: Nanos| (slot.succeeded > 0).then(|| relative(at));
        self.start_ns.push(relative(slot.start));
        self.succeeded.push(slot.succeeded);
        self.errors.push(slot.errors.clone());
        self.first_ns.push(success(slot.first));
        self.last_ns.push(success(slot.last));
        self.slowest_ns.push(slot.slowest);
        self.response_ns.push(slot.times.clone());
    }

    fn rows(&self) -> Vec<Slot> {
        let at = |relative: i64| ORIGIN.wrapping_add_signed(relative);
        let row = |number: usize| Slot {
            start: at(self.start_ns[number]),
            succeeded: self.succeeded[number],
            errors: self.errors[number].clone(),
            first: self.first_ns[number].map_or(0, at),
            last: self.last_ns[number].map_or(0, at),
            slowest: self.slowest_ns[number],
            times: self.response_ns[number].clone(),
        };
        (0..self.start_ns.len()).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn timeline(successes: &[Nanos], failures: &[Nanos]) -> TimelineResult {
        let window = Window { begin: 90 * MS, start: 100 * MS, end: 200 * MS, interval: 100 * MS };
        let mut timeline = Timeline::default();
        timeline.set_window(window);
        for at in successes {
            timeline.succeed(7, (at - 1) * MS, (at - 1) * MS, at * MS);
        }
        for at in failures {
            timeline.fail(8, (at - 1) * MS, (at - 1) * MS, at * MS, "unfinished");
        }
        timeline.finish();
        TimelineResult::new("", &timeline, &window)
    }

    #[test]
    fn instants_are_relative_to_the_measurement_and_end_with_it() {
        let result = timeline(&[95, 101, 105, 199, 300], &[301]);
        assert_eq!(result.slots.start_ns, [-10_000_000, 0, 90_000_000]);
        assert_eq!(result.slots.succeeded, [1, 2, 1]);
        assert_eq!(result.slots.first_ns, [Some(-5_000_000), Some(1_000_000), Some(99_000_000)]);
        assert_eq!(result.slots.last_ns[1], Some(5_000_000));
        assert_eq!((result.slow[0].client, result.slow[0].end_ns), (8, 201_000_000));
    }

    #[test]
    fn parts_of_a_load_merge_by_slot() {
        let mut merged = timeline(&[95, 101, 150], &[]);
        merged.merge(timeline(&[103, 130], &[160]));
        let mut combined = timeline(&[95, 101, 103, 130, 150], &[160]);
        combined.group.clear();
        assert_eq!(merged, combined);
        assert_eq!(merged.slots.first_ns.last(), Some(&None));
    }
}
