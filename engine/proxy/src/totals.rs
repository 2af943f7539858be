//! Counts of a proxy.

use loadcell_core::clock::Nanos;
use serde::Serialize;

/// Counts of all threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    pub threads: u32,
    pub connections: u64,
    /// Connections for which the target had none.
    pub unconnected: u64,
    /// Bytes to the server, and to the client.
    pub bytes: [u64; 2],
    /// Connections that an effect reset.
    pub reset: u64,
    /// Bytes that an effect swallowed.
    pub swallowed_bytes: u64,
    /// Requests that the proxy answered.
    pub answered: u64,
    /// Responses that were cut.
    pub truncated: u64,
    pub cpu_ns: Nanos,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.threads += other.threads;
        self.connections += other.connections;
        self.unconnected += other.unconnected;
        self.bytes[0] += other.bytes[0];
        self.bytes[1] += other.bytes[1];
        self.reset += other.reset;
        self.swallowed_bytes += other.swallowed_bytes;
        self.answered += other.answered;
        self.truncated += other.truncated;
        self.cpu_ns += other.cpu_ns;
    }
}
