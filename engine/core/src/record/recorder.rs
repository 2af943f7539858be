//! One thread's record. Nothing in here is shared, locked or allocated while a request is counted.
//!
//! The record is a series of slots, one an interval. The reactor calls `advance` with every instant it reads from the
//! clock, *before* it hands what happened then to a session; so all that a session records belongs to the open slot,
//! and counting needs no comparison of times. A slot that has ended is handed over, and an emptied one taken up.

use std::sync::mpsc::Receiver;

use super::interval_stats::count_error;
use super::{
    IntervalStats, LifetimeCounts, OpId, Operation, Phase, Queries, Quota, Span, TRANSACTION, Window,
};
use crate::clock::{self, Nanos};
use crate::error::Failure;

/// The one code of trouble that is good news.
pub const RECONNECTED: &str = "reconnected";

/// Something that a person who watches the load should hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub at: Nanos,
    pub client: u32,
    pub code: String,
    pub message: String,
}

/// What a recorder hands over.
pub enum Published {
    Interval(Box<IntervalStats>),
    Trouble(Trouble),
}

/// Where a recorder hands over to, and where it gets emptied slots back from.
pub struct Sink {
    pub send: Box<dyn FnMut(Published) + Send>,
    pub free_list: Receiver<Box<IntervalStats>>,
}

/// What sessions tell of what they do.
pub struct Recorder {
    interval: Box<IntervalStats>,
    window: Window,
    /// Without what the open slot counts.
    lifetime: LifetimeCounts,
    outlet: Option<Sink>,
    /// The client on whose behalf a session is being called.
    client: u32,
    told: Vec<ErrorThrottle>,
    connections: Connections,
    resting: TimeWeightedCount,
    /// The instants that transactions in progress should have started at, added up (wrapping: it is only ever taken from
    /// as many later instants, which leaves how long they have been in progress).
    intended: Nanos,
    /// Of an open loop: what is due and not started.
    arrears: Option<OpenBacklog>,
    /// What may still be started, and when the last transaction ended.
    quota: Quota,
    last_end: Nanos,
    /// The thread's CPU time and the clock when the slot was opened.
    opened: (Nanos, Nanos),
}

/// What the schedule of an open loop is ahead of its connections.
#[derive(Default)]
struct OpenBacklog {
    waiting: u64,
    /// Since when the first of them is due.
    oldest: Nanos,
    /// Of all transactions in the open slot: when they ended, less when they were due, both since the slot began.
    presence_ns: i64,
}

/// When trouble of a code was last told of: once an interval is enough.
struct ErrorThrottle {
    code: String,
    span: Span,
}

/// How many connections there are, and how many there are not.
#[derive(Default)]
struct Connections {
    up: u32,
    down: TimeWeightedCount,
}

/// How many clients are in some state, and the integral of that over time.
#[derive(Default)]
struct TimeWeightedCount {
    clients: u32,
    since: Nanos,
    client_ns: Nanos,
}

impl TimeWeightedCount {
    fn pass(&mut self, at: Nanos) {
        self.client_ns += Nanos::from(self.clients) * at.saturating_sub(self.since);
        self.since = at.max(self.since);
    }

    fn rise(&mut self, at: Nanos) {
        self.pass(at);
        self.clients += 1;
    }

    fn fall(&mut self, at: Nanos) {
        self.pass(at);
        self.clients -= 1;
    }

    /// The integral up to `at` since it was last taken.
    fn take(&mut self, at: Nanos) -> Nanos {
        self.pass(at);
        std::mem::take(&mut self.client_ns)
    }
}

impl Recorder {
    /// A recorder with one slot that never ends; enough for a session's tests.
    pub fn new(operations: &[Operation]) -> Self {
        let mut interval = Box::new(IntervalStats::new(operations.len()));
        interval.span.end = Nanos::MAX;
        Self {
            interval,
            window: Window::UNKNOWN,
            lifetime: LifetimeCounts::new(operations.len()),
            outlet: None,
            client: 0,
            told: Vec::new(),
            connections: Connections::default(),
            resting: TimeWeightedCount::default(),
            intended: 0,
            arrears: None,
            quota: Quota::Unlimited,
            last_end: 0,
            opened: (clock::thread_cpu(), clock::now()),
        }
    }

    /// A recorder that hands its slots over. Call it on the thread whose CPU time is to be recorded.
    pub fn publishing(operations: &[Operation], outlet: Sink) -> Self {
        Self { outlet: Some(outlet), ..Self::new(operations) }
    }

    /// Work starts at `window.begin`, which is not yet past; what was recorded before then is forgotten.
    pub fn set_window(&mut self, window: Window) {
        self.window = window;
        self.interval.span.end = window.begin;
    }

    /// Transactions are due by a schedule, which tells of each by `due`: it counts as started then, not when it is.
    pub fn follow_schedule(&mut self) {
        self.arrears = Some(OpenBacklog::default());
    }

    /// The window ends at `end`, earlier than planned. What belongs to the open slot happened before then, or, if that
    /// was opened later, after the window.
    pub fn end_at(&mut self, end: Nanos) {
        self.window.end = end;
        let span = &mut self.interval.span;
        if span.phase == Phase::Measure && span.start >= end {
            *span = Span { phase: Phase::Drain, index: 0, start: span.start, end: Nanos::MAX };
        } else {
            span.end = span.end.min(end.max(span.start + 1));
        }
    }

    /// The measurement, whose beginning was not known until now, is `window`'s.
    pub fn set_measurement(&mut self, window: Window) {
        self.window = window;
        self.interval.span.end = self.interval.span.end.min(window.start.max(self.interval.span.start + 1));
    }

    /// From now on no more transactions are to be started than `quota` allows.
    pub fn set_quota(&mut self, quota: Quota) {
        self.quota = quota;
    }

    /// Of `most` more transactions of the client that is served those that may be started now; a session that starts several
    /// at once asks for them.
    #[inline]
    pub fn reserve(&mut self, most: u64) -> u64 {
        self.quota.reserve(self.client, most)
    }

    /// Whether nothing more may be started, and nothing is in progress.
    pub fn is_exhausted(&self) -> bool {
        self.quota.is_exhausted() && self.in_progress() == 0
    }

    /// Transactions that have started and not ended.
    pub fn in_progress(&self) -> u64 {
        let stats = &self.interval.operations[TRANSACTION.index()];
        stats.carried_in + stats.counts.started - stats.counts.succeeded - stats.counts.failed
    }

    /// When the last transaction ended that did.
    pub fn last_end(&self) -> Nanos {
        self.last_end
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// When the open slot ends: until then at the latest somebody must call `advance`.
    #[inline]
    pub fn interval_end(&self) -> Nanos {
        self.interval.span.end
    }

    /// It is `at`: what is recorded from here on happened then, or later.
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
                self.hand_over();
            }
            self.open(next);
        }
    }

    /// Hands over the last slot, and tells what was counted in all.
    pub fn finish(mut self) -> LifetimeCounts {
        let now = clock::now();
        self.interval.span.end = self.interval.span.end.min(now);
        self.hand_over();
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
        for (stats, counts) in self.interval.operations.iter_mut().zip(&self.lifetime.operations) {
            stats.in_flight = counts.in_flight();
        }
        self.interval.age_at_end_ns = self.age(self.interval.span.end);
        if let Some(arrears) = &mut self.arrears {
            let span = self.interval.span;
            let present = self.interval.operations[TRANSACTION.index()].in_flight as i64
                * (span.end - span.start) as i64;
            self.interval.presence_ns = (std::mem::take(&mut arrears.presence_ns) + present).max(0) as u64;
            let overdue = if arrears.waiting > 0 { span.end.saturating_sub(arrears.oldest) } else { 0 };
            let backlog = &mut self.interval.backlog;
            (backlog.waiting, backlog.overdue_ns) = (arrears.waiting, overdue);
            backlog.peak = backlog.peak.max(arrears.waiting);
        }
        self.interval.connected = self.connections.up;
        self.interval.disconnected_ns = self.connections.down.take(self.interval.span.end);
        self.interval.resting_ns = self.resting.take(self.interval.span.end);
        let now = (clock::thread_cpu(), clock::now());
        self.interval.cpu_ns = now.0 - self.opened.0;
        self.interval.wall_ns = now.1 - self.opened.1;
        self.opened = now;
    }

    /// How long all transactions in progress have been so at an instant, together.
    fn age(&self, at: Nanos) -> Nanos {
        let age = self.in_progress().wrapping_mul(at).wrapping_sub(self.intended);
        (age as i64).max(0) as Nanos // None can have begun later, but by a clock read a moment after the boundary.
    }

    fn hand_over(&mut self) {
        self.close();
        let Some(outlet) = &mut self.outlet else {
            return self.interval.clear();
        };
        // There is always a spare, unless whoever merges them was kept from it for a whole interval.
        let spare = outlet
            .free_list
            .try_recv()
            .unwrap_or_else(|_| Box::new(IntervalStats::new(self.interval.operations.len())));
        let full = std::mem::replace(&mut self.interval, spare);
        (outlet.send)(Published::Interval(full));
    }

    /// Sessions are called on behalf of `client` from here on.
    #[inline]
    pub fn set_client(&mut self, client: u32) {
        self.client = client;
    }

    /// A transaction of an open loop is due at `at`, in the open slot.
    #[inline]
    pub fn mark_due(&mut self, at: Nanos) {
        self.interval.operations[TRANSACTION.index()].counts.started += 1;
        self.quota.consume(self.client);
        self.intended = self.intended.wrapping_add(at);
        if let Some(arrears) = &mut self.arrears {
            // It may have been due before the slot began, where a thread heard late that the measurement has begun.
            arrears.presence_ns -= at as i64 - self.interval.span.start as i64;
        }
    }

    /// So many transactions of an open loop are due and not started, the first of them since `oldest`.
    #[inline]
    pub fn set_backlog(&mut self, waiting: u64, oldest: Nanos) {
        if let Some(arrears) = &mut self.arrears {
            (arrears.waiting, arrears.oldest) = (waiting, oldest);
        }
    }

    /// One that should have started at `intended` has ended.
    #[inline]
    fn note_end(&mut self, op: OpId, intended: Nanos, at: Nanos) {
        if op != TRANSACTION {
            return;
        }
        self.intended = self.intended.wrapping_sub(intended);
        self.last_end = at;
        if let Some(arrears) = &mut self.arrears {
            arrears.presence_ns += at.saturating_sub(self.interval.span.start) as i64;
        }
    }

    /// An operation was started that should have started at `intended`.
    #[inline]
    pub fn start(&mut self, op: OpId, intended: Nanos) {
        if op == TRANSACTION {
            if self.arrears.is_some() {
                return; // It was counted when it was due.
            }
            self.quota.consume(self.client);
            self.intended = self.intended.wrapping_add(intended);
        }
        self.interval.operations[op.index()].counts.started += 1;
    }

    /// A transaction was started that is one operation.
    #[inline]
    pub fn start_single(&mut self, op: OpId, intended: Nanos) {
        self.interval.operations[op.index()].counts.started += 1;
        self.start(TRANSACTION, intended);
    }

    /// It succeeded: response time is `done - intended`, service time `done - sent`. See [`IntervalStats::complete`].
    #[inline]
    pub fn succeed(&mut self, op: OpId, intended: Nanos, sent: Nanos, done: Nanos) {
        let stats = &mut self.interval.operations[op.index()];
        stats.counts.succeeded += 1;
        if intended == sent {
            stats.coincident.record(done.saturating_sub(sent));
        } else {
            stats.response.record(done.saturating_sub(intended));
            stats.service.record(done.saturating_sub(sent));
        }
        self.note_end(op, intended, done);
    }

    /// A transaction that is one operation succeeded with it. Both are counted; their times, which are the same, are in the
    /// record once, until [`IntervalStats::complete`] gives them to the transaction too. Every success of `op` is to be told this way.
    #[inline]
    pub fn succeed_single(&mut self, op: OpId, intended: Nanos, sent: Nanos, done: Nanos) {
        self.interval.operations[TRANSACTION.index()].counts.succeeded += 1;
        self.interval.operations[op.index()].is_transaction = true;
        self.succeed(op, intended, sent, done);
        self.note_end(TRANSACTION, intended, done);
    }

    /// It failed, for good. Times of failures are kept apart from those of successes.
    #[cold]
    pub fn fail(&mut self, op: OpId, intended: Nanos, _sent: Nanos, done: Nanos, why: &Failure) {
        self.fail_without_error(op, intended, done);
        count_error(&mut self.interval.errors, op, &why.code, &why.message, 1);
        if op == TRANSACTION {
            self.report_error(done, &why.code, &why.message);
        }
    }

    /// It failed together with another operation, whose error is counted there.
    #[cold]
    pub fn fail_without_error(&mut self, op: OpId, intended: Nanos, done: Nanos) {
        let stats = &mut self.interval.operations[op.index()];
        stats.counts.failed += 1;
        stats.failed_response.get_or_insert_default().record(done.saturating_sub(intended));
        self.note_end(op, intended, done);
    }

    /// It failed in a way that may be tried again, and is.
    #[cold]
    pub fn retry(&mut self, op: OpId) {
        self.interval.operations[op.index()].counts.retried += 1;
    }

    /// Statements of a transaction that succeeded at `done`.
    #[inline]
    pub fn queries(&mut self, _done: Nanos, read: u64, write: u64, other: u64) {
        self.interval.queries.add(&Queries { read, write, other });
    }

    /// So many bytes arrived.
    #[inline]
    pub fn received(&mut self, bytes: usize) {
        self.interval.received.bytes += bytes as u64;
    }

    /// So many of them are the body of a response that came with this status.
    #[inline]
    pub fn response(&mut self, status: u16, body_bytes: u64) {
        self.interval.received.body_bytes += body_bytes;
        self.interval.received.statuses[usize::from(status / 100).min(9)] += 1;
    }

    /// Rows that were inserted, updated or deleted for good (their transaction is committed).
    #[inline]
    pub fn rows_changed(&mut self, rows: u64) {
        self.lifetime.rows_changed += rows;
    }

    /// A transaction that succeeded had rolled itself back.
    pub fn rolled_back(&mut self) {
        self.lifetime.rolled_back += 1;
    }

    /// A client rests from `at` on, and is not to start anything.
    pub fn begin_rest(&mut self, at: Nanos) {
        self.resting.rise(at);
    }

    /// A client has rested until `at`.
    pub fn end_rest(&mut self, at: Nanos) {
        self.resting.fall(at);
    }

    /// A transaction was started so much later than its client was free, or than it was due.
    #[inline]
    pub fn record_lateness(&mut self, by: Nanos) {
        self.interval.lateness.record(by);
    }

    /// A transaction was started so long after it was due because there was no connection for it until then. To be
    /// called before the backlog is told that is left.
    #[inline]
    pub fn record_backlog_wait(&mut self, by: Nanos) {
        self.interval.backlog_wait.record(by);
        if let Some(arrears) = &self.arrears {
            self.interval.backlog.peak = self.interval.backlog.peak.max(arrears.waiting);
        }
    }

    /// The thread used CPU time only to wait for an instant.
    #[inline]
    pub fn add_busy_wait(&mut self, by: Nanos) {
        self.interval.busy_wait_ns += by;
    }

    /// A client has got its connection; `again` when it had one before.
    pub fn connected(&mut self, at: Nanos, again: bool) {
        self.lifetime.connects += 1;
        self.connections.up += 1;
        if again {
            self.connections.down.fall(at);
            self.interval.reconnects += 1;
            self.report_error(at, RECONNECTED, "the connection is up again");
        }
    }

    /// A transaction has got a connection of its own, in place of its client's last one.
    #[inline]
    pub fn count_connect(&mut self) {
        self.lifetime.connects += 1;
    }

    /// A client has lost its connection.
    pub fn disconnected(&mut self, at: Nanos) {
        self.connections.up -= 1;
        self.connections.down.rise(at);
    }

    /// How many clients have a connection.
    pub fn connections(&self) -> u32 {
        self.connections.up
    }

    /// Tells whoever watches of trouble: of each code the first in an interval.
    #[cold]
    pub fn report_error(&mut self, at: Nanos, code: &str, message: &str) {
        let Some(outlet) = &mut self.outlet else { return };
        let room = self.told.len() < MOST_CODES;
        match self.told.iter_mut().find(|told| told.code == code) {
            Some(told) if told.span == self.interval.span => return,
            Some(told) => told.span = self.interval.span,
            None if room => self.told.push(ErrorThrottle { code: code.into(), span: self.interval.span }),
            None => return,
        }
        let trouble = Trouble { at, client: self.client, code: code.into(), message: message.into() };
        (outlet.send)(Published::Trouble(trouble));
    }

    /// The slot that is being filled.
    pub fn stats(&self) -> &IntervalStats {
        &self.interval
    }

    /// The same, with every time counted wherever it belongs.
    pub fn resolved_stats(&self) -> IntervalStats {
        let mut interval = self.interval.as_ref().clone();
        interval.resolve_shared();
        interval
    }

    /// What was counted until now.
    pub fn lifetime(&self) -> LifetimeCounts {
        let mut lifetime = self.lifetime.clone();
        lifetime.count(&self.interval);
        lifetime
    }
}

/// Of so many different codes trouble is told; more are only counted.
const MOST_CODES: usize = 32;
