//! Log of the spans within a call, written while the call runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loadcell_core::clock::{self, Nanos};
use loadcell_core::error::Failure;
use loadcell_core::record::OpId;

/// Event of a span.
#[derive(Debug, PartialEq, Eq)]
pub struct SpanEvent {
    pub at: Nanos,
    pub op: OpId,
    pub change: SpanChange,
}

#[derive(Debug, PartialEq, Eq)]
pub enum SpanChange {
    Started,
    Retried,
    Succeeded { sent: Nanos },
    Failed { sent: Nanos, why: Failure },
}

/// Log of one client, shared with the code that it calls.
#[derive(Clone, Debug, Default)]
pub struct SpanLog(Arc<Mutex<Vec<SpanEvent>>>);

impl SpanLog {
    /// Starts a span now. Returns its start.
    pub fn start(&self, op: OpId) -> Nanos {
        let at = clock::now();
        self.push(at, op, SpanChange::Started);
        at
    }

    /// Ends a span that started at `sent` with success.
    pub fn succeed(&self, op: OpId, sent: Nanos) {
        self.push(clock::now(), op, SpanChange::Succeeded { sent });
    }

    /// Ends a span that started at `sent` with a failure.
    pub fn fail(&self, op: OpId, sent: Nanos, why: Failure) {
        self.push(clock::now(), op, SpanChange::Failed { sent, why });
    }

    /// Counts a failed attempt within a span that is being repeated.
    pub fn retry(&self, op: OpId) {
        self.push(clock::now(), op, SpanChange::Retried);
    }

    /// Takes all events since the last call.
    pub fn take(&self) -> Vec<SpanEvent> {
        std::mem::take(&mut *self.events())
    }

    fn push(&self, at: Nanos, op: OpId, change: SpanChange) {
        self.events().push(SpanEvent { at, op, change });
    }

    fn events(&self) -> MutexGuard<'_, Vec<SpanEvent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
