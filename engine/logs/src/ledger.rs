//! Statistics of the transactions of an execution that succeeded, by end and duration; single ones are not
//! stored.

use serde_json::Value;

use super::seconds::Seconds;
use super::times::Times;

/// Number of transactions buffered before the origin of the seconds is fixed: it covers all clients that
/// started at once.
const EARLY: usize = 1 << 15;

pub struct Ledger {
    pub times: Times,
    seconds: Seconds,
    ticks_per_s: f64,
    /// Where seconds begin to count; where none is given, at the first beginning of the early ones.
    base_s: Option<f64>,
    early: Vec<(f64, u64)>,
    pub begun_s: f64,
    pub ended_s: f64,
}

impl Ledger {
    pub fn new(ticks_per_ms: u32, base_s: Option<f64>) -> Self {
        Self {
            times: Times::new(ticks_per_ms),
            seconds: Seconds::default(),
            ticks_per_s: f64::from(ticks_per_ms) * 1e3,
            base_s,
            early: Vec::new(),
            begun_s: f64::INFINITY,
            ended_s: f64::NEG_INFINITY,
        }
    }

    #[inline]
    pub fn add(&mut self, end_s: f64, ticks: u64) {
        self.times.add(ticks);
        let begin_s = end_s - ticks as f64 / self.ticks_per_s;
        if begin_s < self.begun_s {
            self.begun_s = begin_s;
        }
        if end_s > self.ended_s {
            self.ended_s = end_s;
        }
        match self.base_s {
            Some(base_s) => self.seconds.add(end_s - base_s, ticks),
            None => self.wait(end_s, ticks),
        }
    }

    #[cold]
    fn wait(&mut self, end_s: f64, ticks: u64) {
        self.early.push((end_s, ticks));
        if self.early.len() == EARLY {
            self.base();
        }
    }

    fn base(&mut self) -> f64 {
        let base_s = *self.base_s.get_or_insert(self.begun_s);
        for (end_s, ticks) in std::mem::take(&mut self.early) {
            self.seconds.add(end_s - base_s, ticks);
        }
        base_s
    }

    /// From the first transaction's beginning, or the base, to the last one's end.
    pub fn length_s(&mut self) -> f64 {
        self.ended_s - self.begun_s.min(self.base())
    }

    /// Columns of seconds; `origin_s` is where the base lies from the beginning of the execution.
    pub fn intervals(&mut self) -> Value {
        let base_s = self.base();
        let mut intervals = self.seconds.intervals(self.ticks_per_s / 1e3);
        intervals["origin_s"] = (base_s - self.begun_s.min(base_s)).into();
        intervals
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn seconds_begin_where_the_first_transaction_began() {
        let mut ledger = Ledger::new(1, None);
        for (end_s, ticks) in [(100.5, 250), (100.75, 750), (101.25, 10), (102.5, 10)] {
            ledger.add(end_s, ticks);
        }
        assert_eq!((ledger.begun_s, ledger.length_s()), (100.0, 2.5));
        let intervals = ledger.intervals();
        assert_eq!(
            (&intervals["done"], &intervals["origin_s"], &intervals["first"]),
            (&json!([2, 1]), &json!(0.0), &json!(0))
        );
    }

    #[test]
    fn what_began_before_the_base_does_not_move_the_seconds() {
        let mut ledger = Ledger::new(1, Some(0.0));
        for (end_s, ticks) in [(0.5, 750), (1.5, 10), (2.5, 10)] {
            ledger.add(end_s, ticks);
        }
        assert_eq!((ledger.begun_s, ledger.length_s()), (-0.25, 2.75));
        assert_eq!(ledger.intervals()["origin_s"], json!(0.25));
    }
}
