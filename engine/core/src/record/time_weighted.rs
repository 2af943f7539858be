//! Counts of clients in a state, integrated over time.

use crate::clock::Nanos;

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
