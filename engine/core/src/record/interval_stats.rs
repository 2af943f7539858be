//! Statistics of one interval, and counts over the lifetime of a thread.

use super::{ClientCounts, Histogram, OpId, Span};
use crate::clock::Nanos;

/// Counts of an operation. `started = succeeded + failed + in flight`; retries are inside one operation. In
/// an open loop a transaction counts as started when it is due, whether or not a client is idle.
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

    /// Operations in progress, of counts from the beginning.
    pub fn in_flight(&self) -> u64 {
        self.started - self.succeeded - self.failed
    }
}

/// Statistics of one operation in one interval.
#[derive(Clone, Default)]
pub struct OperationStats {
    pub counts: Counts,
    /// In progress at the interval's start and end.
    pub carried_in: u64,
    pub in_flight: u64,
    pub response: Histogram<u32>,
    pub service: Histogram<u32>,
    /// Latencies of requests sent on time (response == service). Merged into both histograms by
    /// `resolve_shared`.
    pub coincident: Histogram<u32>,
    /// Each success is a whole transaction, whose times are recorded here alone until `resolve_shared`.
    pub is_transaction: bool,
    /// Created by the first failure, as most operations have none.
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

    /// Merges the times of requests sent on time into both histograms.
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

/// Statements of successful transactions.
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

/// Data received from the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// All bytes, after decryption.
    pub bytes: u64,
    /// Bytes of response bodies, where the protocol has such.
    pub body_bytes: u64,
    /// Responses by the first digit of their status, where the protocol has one.
    pub statuses: [u64; 10],
}

impl Received {
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.body_bytes += other.body_bytes;
        self.statuses.iter_mut().zip(other.statuses).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Number of errors of one code on one operation, with the first message and the first others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCount {
    pub code: String,
    pub operation: OpId,
    pub count: u64,
    pub message: String,
    /// The first messages other than `message`, each once.
    pub examples: Vec<String>,
}

impl ErrorCount {
    fn add_example(&mut self, message: &str) {
        let is_new =
            |error: &Self| error.message != message && !error.examples.iter().any(|other| other == message);
        if self.examples.len() < MAX_EXAMPLES && is_new(self) {
            self.examples.push(message.into());
        }
    }
}

/// Most messages of one error besides the first.
pub const MAX_EXAMPLES: usize = 2;

/// Most distinct errors, so that a server with a new code for every error does not exhaust memory.
const MAX_ERRORS: usize = 64;
const OTHER: &str = "other";

/// Adds `count` errors to a list with one entry per code and operation.
pub fn count_error(errors: &mut Vec<ErrorCount>, operation: OpId, code: &str, message: &str, count: u64) {
    let full = errors.len() >= MAX_ERRORS;
    match errors.iter_mut().find(|error| error.operation == operation && error.code == code) {
        Some(error) => {
            error.count += count;
            error.add_example(message);
        }
        None if full && code != OTHER => {
            count_error(errors, operation, OTHER, "errors of many more codes", count)
        }
        None => errors.push(ErrorCount {
            code: code.into(),
            operation,
            count,
            message: message.into(),
            examples: Vec::new(),
        }),
    }
}

/// Adds counted errors with their examples.
pub fn add_errors(errors: &mut Vec<ErrorCount>, more: &[ErrorCount]) {
    for error in more {
        count_error(errors, error.operation, &error.code, &error.message, error.count);
        error
            .examples
            .iter()
            .for_each(|example| count_error(errors, error.operation, &error.code, example, 0));
    }
}

/// Statistics of one thread in one interval, or of several merged.
#[derive(Clone, Default)]
pub struct IntervalStats {
    pub span: Span,
    pub operations: Vec<OperationStats>,
    pub queries: Queries,
    pub received: Received,
    pub errors: Vec<ErrorCount>,
    /// Lateness of starts against the earliest possible instant; in an open loop against the due instant, of
    /// requests whose client was idle.
    pub lateness: Histogram<u32>,
    /// Wait of due requests for a client.
    pub backlog_wait: Histogram<u32>,
    pub backlog: Backlog,
    /// Time that transactions were due and not ended, summed over all of them; in an open loop alone.
    pub presence_ns: u64,
    /// Total age of the transactions in progress at the interval's start and end.
    pub age_at_start_ns: Nanos,
    pub age_at_end_ns: Nanos,
    /// Connections at the end of the interval, and reconnects within it.
    pub connected: u32,
    pub reconnects: u64,
    /// Client-nanoseconds without a connection.
    pub disconnected_ns: Nanos,
    /// Client-nanoseconds of think time, and of clients that are out of quota.
    pub resting_ns: Nanos,
    /// CPU time of the thread, elapsed time, and CPU time of busy waits for a due instant.
    pub cpu_ns: Nanos,
    pub wall_ns: Nanos,
    pub busy_wait_ns: Nanos,
}

/// Backlog of an open loop: requests that are due and not started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// At the end of the interval, and the peak within it; of several threads the sum of their peaks.
    pub waiting: u64,
    pub peak: u64,
    /// Age of the oldest at the end of the interval.
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

    /// Adds the times that the thread recorded only once to all histograms they belong to: response times
    /// that are service times, too, and times of operations that are whole transactions.
    pub fn resolve_shared(&mut self) {
        self.operations.iter_mut().for_each(OperationStats::resolve_shared);
        let [transaction, others @ ..] = &mut self.operations[..] else { return };
        for stats in others.iter_mut().filter(|stats| stats.is_transaction) {
            stats.is_transaction = false;
            transaction.response.merge(&stats.response);
            transaction.service.merge(&stats.service);
        }
    }

    /// Adds the statistics of another thread in the same interval; of both the shared times are resolved.
    pub fn merge(&mut self, other: &Self) {
        for (stats, other) in self.operations.iter_mut().zip(&other.operations) {
            stats.merge(other);
        }
        add_errors(&mut self.errors, &other.errors);
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

/// Number of clients in a state, and its integral over time.
#[derive(Default)]
pub(super) struct TimeWeightedCount {
    clients: u32,
    since: Nanos,
    client_ns: Nanos,
}

impl TimeWeightedCount {
    pub fn increment(&mut self, at: Nanos) {
        self.integrate(at);
        self.clients += 1;
    }

    pub fn decrement(&mut self, at: Nanos) {
        self.integrate(at);
        self.clients -= 1;
    }

    /// Takes the integral from the last call up to `at`, in client-nanoseconds.
    pub fn take(&mut self, at: Nanos) -> Nanos {
        self.integrate(at);
        std::mem::take(&mut self.client_ns)
    }

    fn integrate(&mut self, at: Nanos) {
        self.client_ns += Nanos::from(self.clients) * at.saturating_sub(self.since);
        self.since = at.max(self.since);
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
    /// Successes by client within the measurement alone.
    pub by_client: ClientCounts,
}

impl LifetimeCounts {
    pub fn new(operations: usize) -> Self {
        Self { operations: vec![Counts::default(); operations], ..Self::default() }
    }

    /// Adds what was counted in an interval.
    pub fn count(&mut self, interval: &IntervalStats) {
        for (counts, stats) in self.operations.iter_mut().zip(&interval.operations) {
            counts.add(&stats.counts);
        }
        self.queries.add(&interval.queries);
    }

    pub fn add(&mut self, other: &Self) {
        for (stats, other) in self.operations.iter_mut().zip(&other.operations) {
            stats.add(other);
        }
        self.queries.add(&other.queries);
        self.rows_changed += other.rows_changed;
        self.rolled_back += other.rolled_back;
        self.connects += other.connects;
        self.by_client.merge(&other.by_client);
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
        for message in ["second", "first", "another", "one too many"] {
            count_error(&mut errors, OpId(0), "40001", message, 0);
        }
        assert_eq!(errors[0].examples, ["second", "another"]);
        let mut merged = Vec::new();
        add_errors(&mut merged, &errors);
        assert_eq!(merged, errors);
        for code in 0..1_000 {
            count_error(&mut errors, OpId(0), &format!("X{code:04}"), "noise", 1);
        }
        assert_eq!(errors.len(), MAX_ERRORS + 1);
        assert_eq!(errors.iter().map(|error| error.count).sum::<u64>(), 1_004);
    }

    #[test]
    fn what_is_a_response_and_a_service_time_is_recorded_once_and_counts_as_both() {
        let mut interval = IntervalStats::new(2);
        let stats = &mut interval.operations[1];
        stats.is_transaction = true;
        stats.coincident.record(5);
        stats.response.record(9);
        stats.service.record(7);
        for _ in 0..2 {
            interval.resolve_shared();
            for stats in &interval.operations {
                let times = |times: &Histogram<u32>| (times.count(), times.min(), times.max());
                assert_eq!((times(&stats.response), times(&stats.service)), ((2, 5, 9), (2, 5, 7)));
                assert_eq!(stats.coincident.count(), 0);
            }
        }
    }

    #[test]
    fn merging_adds_and_clearing_forgets() {
        let mut stats = IntervalStats::new(1);
        stats.operations[0].counts.started = 3;
        stats.operations[0].response.record(5);
        let mut other = stats.clone();
        other.operations[0].failed_response.get_or_insert_default().record(9);
        count_error(&mut other.errors, OpId(0), "X", "x", 4);
        stats.merge(&other);
        assert_eq!(stats.operations[0].counts.started, 6);
        assert_eq!(stats.operations[0].response.count(), 2);
        assert_eq!(stats.operations[0].failed_response.as_ref().unwrap().count(), 1);
        assert_eq!(stats.errors[0].count, 4);
        stats.clear();
        assert_eq!(stats.operations[0].counts, Counts::default());
        assert_eq!((stats.operations[0].response.count(), stats.errors.len()), (0, 0));
    }
}
