//! When the next transaction is due.

use crate::clock::Nanos;

/// Decides when work starts. Each thread has its own, and asks it once for every transaction.
pub trait Pacer {
    /// When a client that became free at `free` should start its next transaction. An instant in the past is one that is
    /// already late, and stays the start of the response time.
    fn due(&mut self, free: Nanos) -> Nanos;
}

/// A closed loop: every client starts its next transaction as soon as the last one is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closed;

impl Pacer for Closed {
    #[inline]
    fn due(&mut self, free: Nanos) -> Nanos {
        free
    }
}
