//! One thread's record. Nothing in here is shared, locked or allocated while a request is counted.
//!
//! The record is a series of slots, one an interval. The reactor calls `advance` with every instant it reads from the
//! clock, *before* it hands what happened then to a session; so all that a session records belongs to the open slot,
//! and counting needs no comparison of times.

use super::{Histogram, OpId, Operation};
use crate::clock::Nanos;
use crate::session::Failure;

/// How often something happened. `started = succeeded + failed + what is in flight`; retries are inside an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub started: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub retried: u64,
}

impl Counts {
    pub fn in_flight(&self) -> u64 {
        self.started - self.succeeded - self.failed
    }
}

/// One operation in one slot.
#[derive(Clone, Default)]
pub struct Tally {
    pub counts: Counts,
    pub response: Histogram<u32>,
    pub service: Histogram<u32>,
    pub failed_response: Histogram<u32>,
}

/// Statements of transactions that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    pub read: u64,
    pub write: u64,
    pub other: u64,
}

/// Errors of one code on one operation, with the first message that came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorTally {
    pub code: String,
    pub operation: OpId,
    pub count: u64,
    pub message: String,
}

/// What one thread recorded in one interval.
#[derive(Clone, Default)]
pub struct Slot {
    pub tallies: Vec<Tally>,
    pub queries: Queries,
    pub errors: Vec<ErrorTally>,
}

/// Counts from the first transaction to the last, warm-up and drain included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    pub operations: Vec<Counts>,
    pub queries: Queries,
    pub rows_changed: u64,
}

/// What sessions tell of what they do.
pub struct Recorder {
    slot: Box<Slot>,
    lifetime: Lifetime,
}

impl Recorder {
    /// A recorder with one slot that never ends; enough for a session's tests.
    pub fn new(operations: &[Operation]) -> Self {
        let slot = Slot { tallies: vec![Tally::default(); operations.len()], ..Slot::default() };
        let lifetime = Lifetime { operations: vec![Counts::default(); operations.len()], ..Lifetime::default() };
        Self { slot: Box::new(slot), lifetime }
    }

    /// An operation was started that should have started at `intended`.
    #[inline]
    pub fn start(&mut self, op: OpId, _intended: Nanos) {
        self.slot.tallies[op.index()].counts.started += 1;
        self.lifetime.operations[op.index()].started += 1;
    }

    /// It succeeded: response time is `done - intended`, service time `done - sent`.
    #[inline]
    pub fn succeed(&mut self, op: OpId, intended: Nanos, sent: Nanos, done: Nanos) {
        let tally = &mut self.slot.tallies[op.index()];
        tally.counts.succeeded += 1;
        tally.response.record(done.saturating_sub(intended));
        tally.service.record(done.saturating_sub(sent));
        self.lifetime.operations[op.index()].succeeded += 1;
    }

    /// It failed, for good. Times of failures are kept apart from those of successes.
    #[cold]
    pub fn fail(&mut self, op: OpId, intended: Nanos, _sent: Nanos, done: Nanos, why: &Failure) {
        let tally = &mut self.slot.tallies[op.index()];
        tally.counts.failed += 1;
        tally.failed_response.record(done.saturating_sub(intended));
        self.lifetime.operations[op.index()].failed += 1;
        let _ = why;
    }

    /// It failed in a way that may be tried again, and is.
    #[cold]
    pub fn retry(&mut self, op: OpId) {
        self.slot.tallies[op.index()].counts.retried += 1;
        self.lifetime.operations[op.index()].retried += 1;
    }

    /// Statements of a transaction that succeeded at `done`.
    #[inline]
    pub fn queries(&mut self, _done: Nanos, read: u64, write: u64, other: u64) {
        for queries in [&mut self.slot.queries, &mut self.lifetime.queries] {
            queries.read += read;
            queries.write += write;
            queries.other += other;
        }
    }

    /// Rows that were inserted, updated or deleted for good (their transaction is committed).
    #[inline]
    pub fn rows_changed(&mut self, rows: u64) {
        self.lifetime.rows_changed += rows;
    }

    /// The slot that is being filled.
    pub fn slot(&self) -> &Slot {
        &self.slot
    }

    pub fn lifetime(&self) -> &Lifetime {
        &self.lifetime
    }
}
