//! Records counts, errors and times of every operation within the measured window.

mod client_counts;
pub mod histogram;
pub mod hlog;
mod interval_stats;
mod quota;
mod recorder;
#[cfg(test)]
mod recorder_tests;
mod sink;
mod summary;
mod timeline;
mod window;

pub use client_counts::ClientCounts;
pub use histogram::Histogram;
pub use interval_stats::{
    Backlog, Counts, ErrorCount, IntervalStats, LifetimeCounts, MAX_EXAMPLES, OperationStats, Queries,
    Received, add_errors, count_error,
};
pub use quota::{Quota, SharedBudget};
pub use recorder::Recorder;
pub use sink::{ErrorEvent, Published, RECONNECTED, Sink};
pub use summary::{LatencySummary, Quantiles};
pub use timeline::{SLOT, Slot, SlowRequest, Timeline, UNFINISHED};
pub use window::{Phase, Span, Window};

use serde::{Deserialize, Serialize};

/// Operation of a load: its index in the list that `SessionFactory::operations` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u16);

/// Index of the transaction, the first in every list of operations.
pub const TRANSACTION: OpId = OpId(0);

impl OpId {
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Kind of an operation, by its effect on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Transaction,
    /// Transactions of one type, where there are several: counted and timed like `Transaction`.
    Type,
    /// Transactions of one outcome among those that succeeded.
    Outcome,
    Read,
    Write,
    Other,
    /// Phase of a transaction: connecting, waiting for the first byte. No request by itself.
    Stage,
}

/// Operation that is counted and timed separately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    pub name: &'static str,
    pub kind: Kind,
}
