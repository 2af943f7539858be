//! Recorder of one thread. Nothing is shared, locked or allocated while a request is counted.
//!
//! A recorder fills the statistics of one interval after another. The thread calls `advance` with every
//! instant that it reads from the clock, *before* it passes the event of that instant to a session. All that
//! a session records therefore belongs to the open interval, and counting compares no times. A closed
//! interval is published, and a cleared one reused.

use std::sync::Arc;

use super::interval_stats::TimeWeightedCount;
use super::interval_stats::count_error;
use super::sink::{ErrorEvent, ErrorThrottle, Published, RECONNECTED, Sink};
use super::{
    ClientCounts, IntervalStats, LifetimeCounts, OpId, Operation, Phase, Queries, Quota, SharedBudget, Span,
    TRANSACTION, Timeline, Window,
};
use crate::clock::{self, Nanos};
use crate::error::Failure;

/// Records what the sessions of a thread report.
pub struct Recorder {
    interval: Box<IntervalStats>,
    window: Window,
    /// Counts of all closed intervals.
    lifetime: LifetimeCounts,
    sink: Option<Sink>,
    /// Client whose session is being called.
    client: u32,
    error_throttle: ErrorThrottle,
    connections: Connections,
    resting: TimeWeightedCount,
    /// Sum of the intended starts of the transactions in progress. It wraps: only its difference from as many
    /// later instants is used, which is the total age.
    intended: Nanos,
    /// Present in an open loop.
    open_backlog: Option<OpenBacklog>,
    quota: Quota,
    /// End of the last transaction.
    last_end: Nanos,
    /// CPU time of the thread and the clock when the interval was opened.
    opened: (Nanos, Nanos),
    /// Successes within the open interval; `lifetime` keeps those of the measurement.
    by_client: ClientCounts,
    /// Present where it was asked for.
    timeline: Option<Box<Timeline>>,
}

/// Requests of an open loop that are due and not started.
#[derive(Default)]
struct OpenBacklog {
    waiting: u64,
    /// Due instant of the first of them.
    oldest: Nanos,
    /// Ends less due instants of all transactions within the open interval, both relative to its start.
    presence_ns: i64,
}

/// Connected clients, and the time of those without a connection.
#[derive(Default)]
struct Connections {
    up: u32,
    down: TimeWeightedCount,
}

impl Recorder {
    /// Creates a recorder with a single interval that never ends; for tests of sessions.
    pub fn new(operations: &[Operation]) -> Self {
        let mut interval = Box::new(IntervalStats::new(operations.len()));
        interval.span.end = Nanos::MAX;
        Self {
            interval,
            window: Window::UNKNOWN,
            lifetime: LifetimeCounts::new(operations.len()),
            sink: None,
            client: 0,
            error_throttle: ErrorThrottle::default(),
            connections: Connections::default(),
            resting: TimeWeightedCount::default(),
            intended: 0,
            open_backlog: None,
            quota: Quota::Unlimited,
            last_end: 0,
            opened: (clock::thread_cpu(), clock::now()),
            by_client: ClientCounts::default(),
            timeline: None,
        }
    }

    /// Creates a recorder that publishes its intervals. To be called on the thread whose CPU time is
    /// recorded.
    pub fn publishing(operations: &[Operation], sink: Sink) -> Self {
        Self { sink: Some(sink), ..Self::new(operations) }
    }

    /// Records a timeline, which is published at the end.
    pub fn keep_timeline(&mut self) {
        self.timeline = Some(Box::default());
    }

    /// Sets the window. Everything before `window.begin` is discarded.
    pub fn set_window(&mut self, window: Window) {
        self.window = window;
        self.interval.span.end = window.begin;
        self.align_timeline();
    }

    /// Counts transactions as started when they are due (`mark_due`), not when they are sent.
    pub fn follow_schedule(&mut self) {
        self.open_backlog = Some(OpenBacklog::default());
    }

    /// Ends the window at `end`, earlier than planned. The open interval ends there, or belongs to the drain
    /// phase if it was opened later.
    pub fn end_at(&mut self, end: Nanos) {
        self.window.end = end;
        let span = &mut self.interval.span;
        if span.phase == Phase::Measure && span.start >= end {
            *span = Span { phase: Phase::Drain, index: 0, start: span.start, end: Nanos::MAX };
        } else {
            span.end = span.end.min(end.max(span.start + 1));
        }
    }

    /// Sets the measurement of a window whose start was unknown until now.
    pub fn set_measurement(&mut self, window: Window) {
        self.window = window;
        self.interval.span.end = self.interval.span.end.min(window.start.max(self.interval.span.start + 1));
        self.align_timeline();
    }

    fn align_timeline(&mut self) {
        if let Some(timeline) = &mut self.timeline {
            timeline.set_window(self.window);
        }
    }

    /// Limits transactions to `quota` from now on.
    pub fn set_quota(&mut self, quota: Quota) {
        self.quota = quota;
    }

    /// Ends the load of this thread: no transaction starts any more.
    #[cold]
    pub fn end_quota(&mut self) {
        self.quota = Quota::ended();
    }

    /// Takes what clients of this thread may still start by numbers of their own. Returns the number.
    #[cold]
    pub fn take_quota_of_clients(&mut self) -> u64 {
        self.quota.take_of_clients()
    }

    /// Limits an unlimited load of this thread to `count` more transactions: what they are made of ends then.
    #[cold]
    pub fn limit_quota(&mut self, count: u64) {
        if let Quota::Unlimited = self.quota {
            self.quota = Quota::shared(Arc::new(SharedBudget::new(count, 1)));
        }
    }

    /// Reserves up to `most` more transactions for the current client. Returns how many may start.
    #[inline]
    pub fn reserve(&mut self, most: u64) -> u64 {
        self.quota.reserve(self.client, most)
    }

    /// Returns true if the quota is exhausted and nothing is in progress.
    pub fn is_exhausted(&self) -> bool {
        self.quota.is_exhausted() && self.in_progress() == 0
    }

    /// Transactions that have started and not ended.
    pub fn in_progress(&self) -> u64 {
        let stats = &self.interval.operations[TRANSACTION.index()];
        stats.carried_in + stats.counts.started - stats.counts.succeeded - stats.counts.failed
    }

    /// End of the last transaction.
    pub fn last_end(&self) -> Nanos {
        self.last_end
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// End of the open interval; `advance` must be called by then.
    #[inline]
    pub fn interval_end(&self) -> Nanos {
        self.interval.span.end
    }

    /// Advances to `at`: everything recorded from here on happened then or later.
    #[inline]
    pub fn advance(&mut self, at: Nanos) {
        if at >= self.interval.span.end {
            self.roll(at);
        }
    }

    #[cold]
    fn roll(&mut self, at: Nanos) {
        while at >= self.interval.span.end {
            let next = self.window.after(self.interval.span);
            if self.interval.span.phase == Phase::Connect {
                self.close();
                self.interval.clear();
            } else {
                self.publish();
            }
            self.open(next);
        }
    }

    /// Publishes the last interval. Returns the counts of the whole lifetime.
    pub fn finish(mut self) -> LifetimeCounts {
        let now = clock::now();
        self.interval.span.end = self.interval.span.end.min(now);
        self.publish();
        if let (Some(mut timeline), Some(sink)) = (self.timeline, &mut self.sink) {
            timeline.finish();
            (sink.send)(Published::Timeline(timeline));
        }
        self.lifetime
    }

    fn open(&mut self, span: Span) {
        self.interval.span = span;
        for (stats, counts) in self.interval.operations.iter_mut().zip(&self.lifetime.operations) {
            stats.carried_in = counts.in_flight();
        }
        self.interval.age_at_start_ns = self.age(span.start);
    }

    fn close(&mut self) {
        self.lifetime.count(&self.interval);
        if self.interval.span.phase == Phase::Measure {
            self.lifetime.by_client.merge(&self.by_client);
        }
        self.by_client.clear();
        for (stats, counts) in self.interval.operations.iter_mut().zip(&self.lifetime.operations) {
            stats.in_flight = counts.in_flight();
        }
        self.interval.age_at_end_ns = self.age(self.interval.span.end);
        if let Some(open_backlog) = &mut self.open_backlog {
            let span = self.interval.span;
            let present = self.interval.operations[TRANSACTION.index()].in_flight as i64
                * (span.end - span.start) as i64;
            self.interval.presence_ns =
                (std::mem::take(&mut open_backlog.presence_ns) + present).max(0) as u64;
            let overdue =
                if open_backlog.waiting > 0 { span.end.saturating_sub(open_backlog.oldest) } else { 0 };
            let backlog = &mut self.interval.backlog;
            (backlog.waiting, backlog.overdue_ns) = (open_backlog.waiting, overdue);
            backlog.peak = backlog.peak.max(open_backlog.waiting);
        }
        self.interval.connected = self.connections.up;
        self.interval.disconnected_ns = self.connections.down.take(self.interval.span.end);
        self.interval.resting_ns = self.resting.take(self.interval.span.end);
        let now = (clock::thread_cpu(), clock::now());
        self.interval.cpu_ns = now.0 - self.opened.0;
        self.interval.wall_ns = now.1 - self.opened.1;
        self.opened = now;
    }

    /// Total age of the transactions in progress at an instant.
    fn age(&self, at: Nanos) -> Nanos {
        let age = self.in_progress().wrapping_mul(at).wrapping_sub(self.intended);
        (age as i64).max(0) as Nanos // Negative only by clock readings just after the interval's end.
    }

    fn publish(&mut self) {
        self.close();
        let Some(sink) = &mut self.sink else {
            return self.interval.clear();
        };
        // The free list is empty only if merging was delayed for a whole interval.
        let cleared = sink
            .free_list
            .try_recv()
            .unwrap_or_else(|_| Box::new(IntervalStats::new(self.interval.operations.len())));
        let full = std::mem::replace(&mut self.interval, cleared);
        (sink.send)(Published::Interval(full));
    }

    /// Sets the client whose session is called next.
    #[inline]
    pub fn set_client(&mut self, client: u32) {
        self.client = client;
    }

    /// Counts a transaction of an open loop that is due at `at`, in the open interval.
    #[inline]
    pub fn mark_due(&mut self, at: Nanos) {
        self.interval.operations[TRANSACTION.index()].counts.started += 1;
        self.quota.consume(self.client, 1);
        self.intended = self.intended.wrapping_add(at);
        if let Some(open_backlog) = &mut self.open_backlog {
            // It may be due before the interval began, where a thread learns late that the measurement has
            // begun.
            open_backlog.presence_ns -= at as i64 - self.interval.span.start as i64;
        }
    }

    /// Sets the backlog of an open loop: number of waiting transactions, and due instant of the oldest.
    #[inline]
    pub fn set_backlog(&mut self, waiting: u64, oldest: Nanos) {
        if let Some(open_backlog) = &mut self.open_backlog {
            (open_backlog.waiting, open_backlog.oldest) = (waiting, oldest);
        }
    }

    /// Notes the end of `count` transactions with this intended start.
    #[inline]
    fn note_transaction_end(&mut self, intended: Nanos, at: Nanos, count: u64) {
        self.intended = self.intended.wrapping_sub(intended.wrapping_mul(count));
        self.last_end = at;
        if let Some(open_backlog) = &mut self.open_backlog {
            open_backlog.presence_ns += (at.saturating_sub(self.interval.span.start) * count) as i64;
        }
    }

    /// Counts the start of an operation that should have started at `intended`.
    #[inline]
    pub fn start(&mut self, op: OpId, intended: Nanos) {
        if op == TRANSACTION {
            if self.open_backlog.is_some() {
                return; // Counted when it was due.
            }
            self.quota.consume(self.client, 1);
            self.intended = self.intended.wrapping_add(intended);
        }
        self.interval.operations[op.index()].counts.started += 1;
    }

    /// Counts the start of `count` transactions that should have started at `intended`.
    #[inline]
    pub fn start_many(&mut self, intended: Nanos, count: u64) {
        if self.open_backlog.is_some() {
            return; // Counted when they were due.
        }
        self.quota.consume(self.client, count);
        self.intended = self.intended.wrapping_add(intended.wrapping_mul(count));
        self.interval.operations[TRANSACTION.index()].counts.started += count;
    }

    /// Counts the start of a transaction that consists of a single operation.
    #[inline]
    pub fn start_single(&mut self, op: OpId, intended: Nanos) {
        self.interval.operations[op.index()].counts.started += 1;
        self.start(TRANSACTION, intended);
    }

    /// Records a success: response time is `done - intended`, service time `done - sent`.
    #[inline]
    pub fn succeed(&mut self, op: OpId, intended: Nanos, sent: Nanos, done: Nanos) {
        self.record_times(op, intended, sent, done);
        if op == TRANSACTION {
            self.note_success(intended, sent, done);
        }
    }

    /// Records the success of a transaction that consists of the single operation `op`. Their common times
    /// are recorded once, until [`IntervalStats::resolve_shared`]. Every success of `op` must be recorded
    /// this way.
    #[inline]
    pub fn succeed_single(&mut self, op: OpId, intended: Nanos, sent: Nanos, done: Nanos) {
        self.interval.operations[TRANSACTION.index()].counts.succeeded += 1;
        self.interval.operations[op.index()].is_transaction = true;
        self.record_times(op, intended, sent, done);
        self.note_success(intended, sent, done);
    }

    /// Notes the success of a transaction.
    #[inline]
    fn note_success(&mut self, intended: Nanos, sent: Nanos, done: Nanos) {
        self.by_client.count(self.client);
        if let Some(timeline) = &mut self.timeline {
            timeline.succeed(self.client, intended, sent, done);
        }
        self.note_transaction_end(intended, done, 1);
    }

    /// Records the success of `count` transactions with the same times; `count` is at least 1.
    #[inline]
    pub fn succeed_many(&mut self, intended: Nanos, sent: Nanos, done: Nanos, count: u64) {
        let stats = &mut self.interval.operations[TRANSACTION.index()];
        stats.counts.succeeded += count;
        if intended == sent {
            stats.coincident.record_many(done.saturating_sub(sent), count);
        } else {
            stats.response.record_many(done.saturating_sub(intended), count);
            stats.service.record_many(done.saturating_sub(sent), count);
        }
        self.by_client.count_many(self.client, count);
        if let Some(timeline) = &mut self.timeline {
            timeline.succeed_many(self.client, intended, sent, done, count);
        }
        self.note_transaction_end(intended, done, count);
    }

    /// Counts a success with its times.
    #[inline]
    fn record_times(&mut self, op: OpId, intended: Nanos, sent: Nanos, done: Nanos) {
        let stats = &mut self.interval.operations[op.index()];
        stats.counts.succeeded += 1;
        if intended == sent {
            stats.coincident.record(done.saturating_sub(sent));
        } else {
            stats.response.record(done.saturating_sub(intended));
            stats.service.record(done.saturating_sub(sent));
        }
    }

    /// Records a final failure, whose times are kept apart from those of successes.
    #[cold]
    pub fn fail(&mut self, op: OpId, intended: Nanos, sent: Nanos, done: Nanos, why: &Failure) {
        self.fail_without_error(op, intended, done);
        count_error(&mut self.interval.errors, op, &why.code, &why.message, 1);
        if op == TRANSACTION {
            if let Some(timeline) = &mut self.timeline {
                timeline.fail(self.client, intended, sent, done, &why.code);
            }
            self.report_error(done, &why.code, &why.message);
        }
    }

    /// Records a failure whose error is counted with another operation.
    #[cold]
    pub fn fail_without_error(&mut self, op: OpId, intended: Nanos, done: Nanos) {
        let stats = &mut self.interval.operations[op.index()];
        stats.counts.failed += 1;
        stats.failed_response.get_or_insert_default().record(done.saturating_sub(intended));
        if op == TRANSACTION {
            self.note_transaction_end(intended, done, 1);
        }
    }

    /// Records the failure of `count` transactions with the same times; `count` is at least 1.
    #[cold]
    pub fn fail_many(&mut self, intended: Nanos, sent: Nanos, done: Nanos, why: &Failure, count: u64) {
        let stats = &mut self.interval.operations[TRANSACTION.index()];
        stats.counts.failed += count;
        stats.failed_response.get_or_insert_default().record_many(done.saturating_sub(intended), count);
        self.note_transaction_end(intended, done, count);
        count_error(&mut self.interval.errors, TRANSACTION, &why.code, &why.message, count);
        if let Some(timeline) = &mut self.timeline {
            timeline.fail_many(self.client, intended, sent, done, &why.code, count);
        }
        self.report_error(done, &why.code, &why.message);
    }

    /// Counts a failed attempt that is being repeated.
    #[cold]
    pub fn retry(&mut self, op: OpId) {
        self.interval.operations[op.index()].counts.retried += 1;
    }

    /// Counts the statements of a transaction that succeeded.
    #[inline]
    pub fn queries(&mut self, _done: Nanos, read: u64, write: u64, other: u64) {
        self.interval.queries.add(&Queries { read, write, other });
    }

    /// Counts received bytes.
    #[inline]
    pub fn received(&mut self, bytes: usize) {
        self.interval.received.bytes += bytes as u64;
    }

    /// Counts a response with this status, and the bytes of its body.
    #[inline]
    pub fn response(&mut self, status: u16, body_bytes: u64) {
        self.interval.received.body_bytes += body_bytes;
        self.interval.received.statuses[usize::from(status / 100).min(9)] += 1;
    }

    /// Counts rows that a committed transaction inserted, updated or deleted.
    #[inline]
    pub fn rows_changed(&mut self, rows: u64) {
        self.lifetime.rows_changed += rows;
    }

    /// Counts a success that rolled itself back.
    pub fn rolled_back(&mut self) {
        self.lifetime.rolled_back += 1;
    }

    /// A client rests from `at` on.
    pub fn begin_think_time(&mut self, at: Nanos) {
        self.resting.increment(at);
    }

    /// A client has rested until `at`.
    pub fn end_think_time(&mut self, at: Nanos) {
        self.resting.decrement(at);
    }

    /// Records by how much a transaction started after its client was idle, or after it was due.
    #[inline]
    pub fn record_lateness(&mut self, by: Nanos) {
        self.interval.lateness.record(by);
    }

    /// Records by how much a transaction started after it was due, because there was no idle client until
    /// then. To be called before the remaining backlog is set.
    #[inline]
    pub fn record_backlog_wait(&mut self, by: Nanos) {
        self.interval.backlog_wait.record(by);
        if let Some(open_backlog) = &self.open_backlog {
            self.interval.backlog.peak = self.interval.backlog.peak.max(open_backlog.waiting);
        }
    }

    /// Adds CPU time of a busy wait.
    #[inline]
    pub fn add_busy_wait(&mut self, by: Nanos) {
        self.interval.busy_wait_ns += by;
    }

    /// Counts a new connection of a client; `again` if it had one before.
    pub fn connected(&mut self, at: Nanos, again: bool) {
        self.lifetime.connects += 1;
        self.connections.up += 1;
        self.by_client.make_room(self.client);
        if again {
            self.connections.down.decrement(at);
            self.interval.reconnects += 1;
            self.report_error(at, RECONNECTED, "the connection is up again");
        }
    }

    /// Counts a connection that a transaction made in place of its client's last one.
    #[inline]
    pub fn count_connect(&mut self) {
        self.lifetime.connects += 1;
    }

    /// Counts the loss of a client's connection.
    pub fn disconnected(&mut self, at: Nanos) {
        self.connections.up -= 1;
        self.connections.down.increment(at);
    }

    /// Number of connected clients.
    pub fn connections(&self) -> u32 {
        self.connections.up
    }

    /// Reports an error, once per code and interval.
    #[cold]
    pub fn report_error(&mut self, at: Nanos, code: &str, message: &str) {
        let Some(sink) = &mut self.sink else { return };
        if !self.error_throttle.admit(code, self.interval.span) {
            return;
        }
        let trouble = ErrorEvent { at, client: self.client, code: code.into(), message: message.into() };
        (sink.send)(Published::Error(trouble));
    }

    /// Statistics of the open interval.
    pub fn stats(&self) -> &IntervalStats {
        &self.interval
    }

    /// Statistics of the open interval, with shared times resolved.
    pub fn resolved_stats(&self) -> IntervalStats {
        let mut interval = self.interval.as_ref().clone();
        interval.resolve_shared();
        interval
    }

    /// Counts from the beginning until now.
    pub fn lifetime(&self) -> LifetimeCounts {
        let mut lifetime = self.lifetime.clone();
        lifetime.count(&self.interval);
        lifetime
    }
}
