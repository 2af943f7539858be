//! What a call tells of its parts, while it is made.

use std::sync::{Arc, Mutex, PoisonError};

use loadcell_core::clock::{self, Nanos};
use loadcell_core::error::Failure;
use loadcell_core::record::OpId;

/// Something that happened within a call.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    pub at: Nanos,
    pub op: OpId,
    pub what: StatementKind,
}

#[derive(Debug, PartialEq, Eq)]
pub enum StatementKind {
    Begun,
    Retried,
    Succeeded { sent: Nanos },
    Failed { sent: Nanos, why: Failure },
}

/// One client's log; whoever is called holds it, too.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    /// A part begins now, at the instant that is returned.
    pub fn begun(&self, op: OpId) -> Nanos {
        let at = clock::now();
        self.put(at, op, StatementKind::Begun);
        at
    }

    /// A part that began at `sent` has succeeded just now.
    pub fn succeeded(&self, op: OpId, sent: Nanos) {
        self.put(clock::now(), op, StatementKind::Succeeded { sent });
    }

    /// A part that began at `sent` has failed just now.
    pub fn failed(&self, op: OpId, sent: Nanos, why: Failure) {
        self.put(clock::now(), op, StatementKind::Failed { sent, why });
    }

    /// What is in progress of a part failed in a way that may be tried again, and is.
    pub fn retried(&self, op: OpId) {
        self.put(clock::now(), op, StatementKind::Retried);
    }

    /// All that was told since this was last asked.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events())
    }

    fn put(&self, at: Nanos, op: OpId, what: StatementKind) {
        self.events().push(Event { at, op, what });
    }

    fn events(&self) -> std::sync::MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
