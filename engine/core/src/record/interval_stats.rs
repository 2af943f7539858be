//! What one thread recorded in one interval, and over its life.

use super::{Histogram, OpId, Span};
use crate::clock::Nanos;

/// How often something happened. `started = succeeded + failed + what is in flight`; retries are inside an operation.
/// In an open loop a transaction counts as started when it is due, whether or not there is a connection to carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub started: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub retried: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.retried += other.retried;
    }

    /// Of counts from the beginning: what has started and not ended.
    pub fn in_flight(&self) -> u64 {
        self.started - self.succeeded - self.failed
    }
}

/// One operation in one interval.
#[derive(Clone, Default)]
pub struct OperationStats {
    pub counts: Counts,
    /// In progress when the interval started, and when it ended.
    pub carried_in: u64,
    pub in_flight: u64,
    pub response: Histogram<u32>,
    pub service: Histogram<u32>,
    /// Of successes whose response time was their service time, which are in neither of the two until the slot is complete.
    pub coincident: Histogram<u32>,
    /// Each success was a transaction by itself, whose times are here alone so far.
    pub is_transaction: bool,
    /// Made when something fails for the first time: most operations never need it.
    pub failed_response: Option<Box<Histogram<u32>>>,
}

impl OperationStats {
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.carried_in += other.carried_in;
        self.in_flight += other.in_flight;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        if let Some(theirs) = other.failed_response.as_ref().filter(|theirs| theirs.count() > 0) {
            self.failed_response.get_or_insert_default().merge(theirs);
        }
    }

    /// Counts each time where it belongs.
    fn resolve_shared(&mut self) {
        self.response.merge(&self.coincident);
        self.service.merge(&self.coincident);
        self.coincident.clear();
    }

    fn clear(&mut self) {
        self.counts = Counts::default();
        (self.carried_in, self.in_flight, self.is_transaction) = (0, 0, false);
        self.response.clear();
        self.service.clear();
        self.coincident.clear();
        if let Some(histogram) = &mut self.failed_response {
            histogram.clear();
        }
    }
}

/// Statements of transactions that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    pub read: u64,
    pub write: u64,
    pub other: u64,
}

impl Queries {
    pub fn total(&self) -> u64 {
        self.read + self.write + self.other
    }

    pub fn add(&mut self, other: &Self) {
        self.read += other.read;
        self.write += other.write;
        self.other += other.other;
    }
}

/// What the target sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Everything, as it came out of TLS.
    pub bytes: u64,
    /// Of that, the bodies of responses, where the protocol has such.
    pub body_bytes: u64,
    /// Responses by the first digit of their status, where they have one.
    pub statuses: [u64; 10],
}

impl Received {
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.body_bytes += other.body_bytes;
        self.statuses.iter_mut().zip(other.statuses).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Errors of one code on one operation, with the first message that came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCount {
    pub code: String,
    pub operation: OpId,
    pub count: u64,
    pub message: String,
}

/// A server that puts a different code into every error must not make memory grow.
const MOST_ERRORS: usize = 64;
const OTHER: &str = "other";

/// Adds `count` errors to a list that holds each code and operation once.
pub fn count_error(errors: &mut Vec<ErrorCount>, operation: OpId, code: &str, message: &str, count: u64) {
    let full = errors.len() >= MOST_ERRORS;
    match errors.iter_mut().find(|error| error.operation == operation && error.code == code) {
        Some(error) => error.count += count,
        None if full && code != OTHER => {
            count_error(errors, operation, OTHER, "errors of many more codes", count)
        }
        None => errors.push(ErrorCount { code: code.into(), operation, count, message: message.into() }),
    }
}

/// What one thread recorded in one interval.
#[derive(Clone, Default)]
pub struct IntervalStats {
    pub span: Span,
    pub operations: Vec<OperationStats>,
    pub queries: Queries,
    pub received: Received,
    pub errors: Vec<ErrorCount>,
    /// How much later than it could have been work was started, while there was a connection. In an open loop: than it
    /// was due, of what found a connection that was free.
    pub lateness: Histogram<u32>,
    /// How long after it was due work was started that had to wait for a connection.
    pub backlog_wait: Histogram<u32>,
    pub backlog: Backlog,
    /// Time that transactions spent due, started and not ended, summed over all of them; of an open loop only.
    pub presence_ns: u64,
    /// How long the transactions that were in progress at the interval's two ends had been so, summed over all of them.
    pub age_at_start_ns: Nanos,
    pub age_at_end_ns: Nanos,
    /// Connections at the end of the interval, and those made again within it.
    pub connected: u32,
    pub reconnects: u64,
    /// Client-nanoseconds without a connection.
    pub disconnected_ns: Nanos,
    /// Client-nanoseconds in which clients rested by their own choice.
    pub resting_ns: Nanos,
    /// The thread's own CPU time, and the time that passed meanwhile. Of the former what was spent waiting for the
    /// instant at which something was due.
    pub cpu_ns: Nanos,
    pub wall_ns: Nanos,
    pub busy_wait_ns: Nanos,
}

/// What an open loop has due and not yet started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// At the end of the interval, and the most there was within it; of several threads the sum of each one's most.
    pub waiting: u64,
    pub peak: u64,
    /// At the end of the interval, for how long the oldest had been due.
    pub overdue_ns: Nanos,
}

impl Backlog {
    pub fn merge(&mut self, other: &Self) {
        self.waiting += other.waiting;
        self.peak += other.peak;
        self.overdue_ns = self.overdue_ns.max(other.overdue_ns);
    }
}

impl IntervalStats {
    pub fn new(operations: usize) -> Self {
        Self { operations: vec![OperationStats::default(); operations], ..Self::default() }
    }

    /// Counts each time wherever it belongs, which the thread that recorded it has done only once: response times that are
    /// service times too, and those of operations that were all of a transaction.
    pub fn resolve_shared(&mut self) {
        self.operations.iter_mut().for_each(OperationStats::resolve_shared);
        let [transaction, others @ ..] = &mut self.operations[..] else { return };
        for stats in others.iter_mut().filter(|stats| stats.is_transaction) {
            stats.is_transaction = false;
            transaction.response.merge(&stats.response);
            transaction.service.merge(&stats.service);
        }
    }

    /// Adds what another thread recorded in the same interval; both are complete.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.merge(theirs);
        }
        for error in &other.errors {
            count_error(&mut self.errors, error.operation, &error.code, &error.message, error.count);
        }
        self.merge_all_but_operations(other);
    }

    /// Adds what clients recorded in the same interval whose operations are others.
    pub fn merge_all_but_operations(&mut self, other: &Self) {
        self.queries.add(&other.queries);
        self.received.add(&other.received);
        self.lateness.merge(&other.lateness);
        self.backlog_wait.merge(&other.backlog_wait);
        self.backlog.merge(&other.backlog);
        self.presence_ns += other.presence_ns;
        self.age_at_start_ns += other.age_at_start_ns;
        self.age_at_end_ns += other.age_at_end_ns;
        self.connected += other.connected;
        self.reconnects += other.reconnects;
        self.disconnected_ns += other.disconnected_ns;
        self.resting_ns += other.resting_ns;
        self.cpu_ns += other.cpu_ns;
        self.wall_ns += other.wall_ns;
        self.busy_wait_ns += other.busy_wait_ns;
    }

    /// Makes it as new, without giving its memory away.
    pub fn clear(&mut self) {
        self.span = Span::default();
        self.operations.iter_mut().for_each(OperationStats::clear);
        (self.queries, self.received) = (Queries::default(), Received::default());
        self.errors.clear();
        self.lateness.clear();
        self.backlog_wait.clear();
        (self.backlog, self.presence_ns) = (Backlog::default(), 0);
        (self.age_at_start_ns, self.age_at_end_ns) = (0, 0);
        (self.connected, self.reconnects) = (0, 0);
        (self.disconnected_ns, self.resting_ns) = (0, 0);
        (self.cpu_ns, self.wall_ns, self.busy_wait_ns) = (0, 0, 0);
    }
}

/// Counts from the first transaction to the last, warm-up and drain included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LifetimeCounts {
    pub operations: Vec<Counts>,
    pub queries: Queries,
    pub rows_changed: u64,
    /// Transactions that succeeded and had rolled themselves back.
    pub rolled_back: u64,
    pub connects: u64,
}

impl LifetimeCounts {
    pub fn new(operations: usize) -> Self {
        Self { operations: vec![Counts::default(); operations], ..Self::default() }
    }

    /// Adds what was counted in an interval.
    pub fn count(&mut self, slot: &IntervalStats) {
        for (mine, stats) in self.operations.iter_mut().zip(&slot.operations) {
            mine.add(&stats.counts);
        }
        self.queries.add(&slot.queries);
    }

    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.add(theirs);
        }
        self.queries.add(&other.queries);
        self.rows_changed += other.rows_changed;
        self.rolled_back += other.rolled_back;
        self.connects += other.connects;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_code_and_operation_in_bounded_memory() {
        let mut errors = Vec::new();
        count_error(&mut errors, OpId(0), "40001", "first", 1);
        count_error(&mut errors, OpId(0), "40001", "second", 2);
        count_error(&mut errors, OpId(1), "40001", "third", 1);
        assert_eq!(errors.len(), 2);
        assert_eq!((errors[0].count, errors[0].message.as_str()), (3, "first"));
        for code in 0..1_000 {
            count_error(&mut errors, OpId(0), &format!("X{code:04}"), "noise", 1);
        }
        assert_eq!(errors.len(), MOST_ERRORS + 1);
        assert_eq!(errors.iter().map(|error| error.count).sum::<u64>(), 1_004);
    }

    #[test]
    fn what_is_a_response_and_a_service_time_is_recorded_once_and_counts_as_both() {
        let mut slot = IntervalStats::new(2);
        let stats = &mut slot.operations[1];
        stats.is_transaction = true;
        stats.coincident.record(5);
        stats.response.record(9);
        stats.service.record(7);
        for _ in 0..2 {
            slot.resolve_shared();
            for stats in &slot.operations {
                let times = |times: &Histogram<u32>| (times.count(), times.min(), times.max());
                assert_eq!((times(&stats.response), times(&stats.service)), ((2, 5, 9), (2, 5, 7)));
                assert_eq!(stats.coincident.count(), 0);
            }
        }
    }

    #[test]
    fn merging_adds_and_clearing_forgets() {
        let mut one = IntervalStats::new(1);
        one.operations[0].counts.started = 3;
        one.operations[0].response.record(5);
        let mut two = one.clone();
        two.operations[0].failed_response.get_or_insert_default().record(9);
        count_error(&mut two.errors, OpId(0), "X", "x", 4);
        one.merge(&two);
        assert_eq!(one.operations[0].counts.started, 6);
        assert_eq!(one.operations[0].response.count(), 2);
        assert_eq!(one.operations[0].failed_response.as_ref().unwrap().count(), 1);
        assert_eq!(one.errors[0].count, 4);
        one.clear();
        assert_eq!(one.operations[0].counts, Counts::default());
        assert_eq!((one.operations[0].response.count(), one.errors.len()), (0, 0));
    }
}
