//! Result of a load: counts, percentiles and histograms of the measured window.
//!
//! Results of several workers merge without loss: counts are summed, and percentiles follow from merged
//! histograms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::interval_merge::{OperationTotals, ThreadUsage, WindowTotals};
use super::timeline_result::TimelineResult;
use loadcell_core::clock::Nanos;
use loadcell_core::os::max_rss_bytes;
use loadcell_core::pace::Arrivals;
use loadcell_core::record::{
    ClientCounts, Histogram, Kind, LatencySummary, LifetimeCounts, MAX_EXAMPLES, Operation, Queries,
    Received, TRANSACTION, hlog,
};

/// Result of a load, as its reader gets it (JSON).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadResult {
    /// Code of the message catalogue.
    pub outcome: String,
    /// Arguments of the outcome, by name.
    pub reason_args: Value,
    /// None if nothing was measured.
    pub window: Option<MeasuredWindow>,
    pub errors: Vec<ErrorResult>,
    /// Lines of the interval log for the operations but the transaction, over the window.
    pub hlog: Vec<String>,
    pub hlog_header: Vec<String>,
    #[serde(flatten)]
    pub account: Account,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remarks: BTreeMap<String, Value>,
    /// Empty in a load of a single group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupResult>,
    /// One of each group; empty unless the load asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<TimelineResult>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredWindow {
    pub start_mono_ns: Nanos,
    pub start_utc_ns: Nanos,
    pub duration_ns: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorResult {
    pub code: String,
    pub operation: String,
    pub count: u64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

impl ErrorResult {
    /// Adds an example, if it is another message and there are not enough yet.
    pub fn add_example(&mut self, message: String) {
        if self.examples.len() < MAX_EXAMPLES && self.message != message && !self.examples.contains(&message)
        {
            self.examples.push(message);
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupResult {
    pub name: String,
    #[serde(flatten)]
    pub account: Account,
}

/// Counts, percentiles and histograms of a load, or of one of its groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub operations: Vec<OperationResult>,
    pub queries: QueryCounts,
    pub received: ReceivedResult,
    pub lifetime: LifetimeResult,
    /// Present in an open loop.
    pub schedule: Option<ScheduleResult>,
    pub client: ClientResult,
    /// Additional metrics of the workload.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub figures: Map<String, Value>,
    pub histograms: Histograms,
}

/// `attempted = succeeded + failed + in_flight`; `carried_in` of the attempted started before the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationResult {
    pub name: String,
    pub kind: Kind,
    pub attempted: u64,
    pub carried_in: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub in_flight: u64,
    pub retried: u64,
    pub response: Option<LatencySummary>,
    pub service: Option<LatencySummary>,
    pub failed_response: Option<LatencySummary>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryCounts {
    pub total: u64,
    pub read: u64,
    pub write: u64,
    pub other: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedResult {
    pub bytes: u64,
    pub body_bytes: u64,
    /// Responses by class of status, `"2xx"`.
    pub statuses: BTreeMap<String, u64>,
}

/// Counts from the first transaction to the last, with those outside of the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifetimeResult {
    pub transactions: u64,
    pub failed: u64,
    pub queries: u64,
    pub rows_changed: u64,
    pub rolled_back: u64,
    /// Successes by operation.
    pub operations: BTreeMap<String, u64>,
}

/// Offered and completed load of an open loop, lateness of the client and backlog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleResult {
    pub arrivals: Arrivals,
    pub offered: u64,
    pub offered_per_s: Option<f64>,
    pub achieved_per_s: Option<f64>,
    /// Lateness of requests whose client was idle.
    pub pacing_error: Option<LatencySummary>,
    /// Wait of requests for a client.
    pub backlog_wait: Option<LatencySummary>,
    pub backlog: BacklogResult,
    /// Time that requests were due, started and not ended, summed over all of them.
    pub presence_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacklogResult {
    pub peak: u64,
    pub at_end: u64,
    pub overdue_ns: Nanos,
}

/// Resources that the load generator used, and its lateness.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientResult {
    pub threads: Vec<ThreadResult>,
    pub cpu_ns: Nanos,
    /// Peak of the process; of several processes the sum.
    pub max_rss_bytes: u64,
    pub lateness: Option<LatencySummary>,
    pub connects: u64,
    pub reconnects: u64,
    pub reconnecting_ns: Nanos,
    pub resting_ns: Nanos,
    pub age_at_start_ns: Nanos,
    pub age_at_end_ns: Nanos,
    /// None of a load of several groups, whose clients do different work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<ClientShares>,
}

/// Successes by client within the window: their number, sum, sum of squares, least and most, from which those
/// of several processes follow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientShares {
    pub clients: u32,
    pub sum: u64,
    pub squares: f64,
    pub least: u64,
    pub most: u64,
}

impl ClientShares {
    fn of(counts: &ClientCounts, clients: u32) -> Option<Self> {
        Some(Self {
            clients,
            sum: counts.of(clients).sum(),
            squares: counts.of(clients).map(|count| (count as f64).powi(2)).sum(),
            least: counts.of(clients).min()?,
            most: counts.of(clients).max()?,
        })
    }

    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            clients: self.clients + other.clients,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThreadResult {
    pub cpu_ns: Nanos,
    pub wall_ns: Nanos,
    pub spun_ns: Nanos,
    pub busy: f64,
    pub connections: u32,
    pub requests: u64,
}

/// Histograms behind the percentiles of an [`Account`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Histograms {
    /// In the order of the account's operations.
    pub operations: Vec<OperationHistograms>,
    pub lateness: Histogram,
    pub backlog_wait: Histogram,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationHistograms {
    pub name: String,
    pub response: Histogram,
    pub service: Histogram,
    pub failed_response: Histogram,
}

impl Account {
    /// Account of `totals` over a window of `duration_ns`, made by threads with these numbers of clients.
    pub fn new(
        operations: &[Operation],
        totals: &WindowTotals,
        lifetime: &LifetimeCounts,
        clients: &[u32],
        arrivals: Option<Arrivals>,
        duration_ns: Nanos,
    ) -> Self {
        let named = || operations.iter().zip(&totals.operations);
        let histograms = Histograms {
            operations: named()
                .map(|(operation, total)| OperationHistograms::new(operation.name, total))
                .collect(),
            lateness: totals.lateness.clone(),
            backlog_wait: totals.backlog_wait.clone(),
        };
        let transaction = &totals.operations[TRANSACTION.index()];
        let mut account = Self {
            operations: named().map(|(operation, total)| OperationResult::new(operation, total)).collect(),
            queries: (&totals.queries).into(),
            received: (&totals.received).into(),
            lifetime: LifetimeResult::new(operations, lifetime),
            schedule: arrivals.map(|arrivals| ScheduleResult::new(arrivals, transaction, totals)),
            client: ClientResult::new(totals, clients, lifetime),
            figures: Map::new(),
            histograms,
        };
        account.derive(duration_ns);
        account
    }

    /// Derives percentiles from the histograms, and rates from the counts.
    pub(crate) fn derive(&mut self, duration_ns: Nanos) {
        for (operation, histograms) in self.operations.iter_mut().zip(&self.histograms.operations) {
            operation.response = LatencySummary::of(&histograms.response);
            operation.service = LatencySummary::of(&histograms.service);
            operation.failed_response = LatencySummary::of(&histograms.failed_response);
        }
        self.client.lateness = LatencySummary::of(&self.histograms.lateness);
        if let Some(schedule) = &mut self.schedule {
            let seconds = duration_ns as f64 / 1e9;
            let per_s = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
            schedule.offered_per_s = per_s(schedule.offered);
            schedule.achieved_per_s = per_s(self.operations[TRANSACTION.index()].succeeded);
            schedule.pacing_error = LatencySummary::of(&self.histograms.lateness);
            schedule.backlog_wait = LatencySummary::of(&self.histograms.backlog_wait);
        }
    }

    /// Lines of the interval log for all operations but the transaction, whose intervals have their own.
    pub fn log_lines(&self, duration_ns: Nanos) -> Vec<String> {
        let operations = self.histograms.operations.iter().skip(1);
        let kinds = operations.flat_map(|operation| {
            [("response", &operation.response), ("service", &operation.service)]
                .map(|(kind, histogram)| (&operation.name, kind, histogram))
        });
        kinds
            .filter(|(_, _, histogram)| histogram.count() > 0)
            .map(|(name, kind, histogram)| hlog::line(&format!("{name}/{kind}"), 0, duration_ns, histogram))
            .collect()
    }
}

impl OperationResult {
    fn new(operation: &Operation, total: &OperationTotals) -> Self {
        Self {
            name: operation.name.into(),
            kind: operation.kind,
            attempted: total.attempted(),
            carried_in: total.carried_in,
            succeeded: total.counts.succeeded,
            failed: total.counts.failed,
            in_flight: total.in_flight,
            retried: total.counts.retried,
            response: None,
            service: None,
            failed_response: None,
        }
    }
}

impl OperationHistograms {
    fn new(name: &str, total: &OperationTotals) -> Self {
        Self {
            name: name.into(),
            response: total.response.clone(),
            service: total.service.clone(),
            failed_response: total.failed_response.clone(),
        }
    }
}

impl From<&Queries> for QueryCounts {
    fn from(queries: &Queries) -> Self {
        let Queries { read, write, other } = *queries;
        Self { total: queries.total(), read, write, other }
    }
}

impl From<&Received> for ReceivedResult {
    fn from(received: &Received) -> Self {
        let statuses = received.statuses.iter().enumerate().filter(|(_, count)| **count > 0);
        Self {
            bytes: received.bytes,
            body_bytes: received.body_bytes,
            statuses: statuses.map(|(class, count)| (format!("{class}xx"), *count)).collect(),
        }
    }
}

impl LifetimeResult {
    fn new(operations: &[Operation], lifetime: &LifetimeCounts) -> Self {
        let transactions = lifetime.operations[TRANSACTION.index()];
        let counts = operations.iter().zip(&lifetime.operations);
        Self {
            transactions: transactions.succeeded,
            failed: transactions.failed,
            queries: lifetime.queries.total(),
            rows_changed: lifetime.rows_changed,
            rolled_back: lifetime.rolled_back,
            operations: counts.map(|(operation, counts)| (operation.name.into(), counts.succeeded)).collect(),
        }
    }
}

impl ScheduleResult {
    fn new(arrivals: Arrivals, transaction: &OperationTotals, totals: &WindowTotals) -> Self {
        Self {
            arrivals,
            offered: transaction.counts.started,
            offered_per_s: None,
            achieved_per_s: None,
            pacing_error: None,
            backlog_wait: None,
            backlog: BacklogResult {
                peak: totals.backlog.peak,
                at_end: totals.backlog.waiting,
                overdue_ns: totals.backlog.overdue_ns,
            },
            presence_ns: totals.presence_ns,
        }
    }
}

impl ClientResult {
    fn new(totals: &WindowTotals, clients: &[u32], lifetime: &LifetimeCounts) -> Self {
        let threads = totals.threads.iter().zip(clients);
        Self {
            threads: threads.map(|(usage, &connections)| ThreadResult::new(usage, connections)).collect(),
            cpu_ns: totals.threads.iter().map(|usage| usage.cpu_ns).sum(),
            max_rss_bytes: max_rss_bytes(),
            lateness: None,
            connects: lifetime.connects,
            reconnects: totals.reconnects,
            reconnecting_ns: totals.disconnected_ns,
            resting_ns: totals.resting_ns,
            age_at_start_ns: totals.age_at_start_ns,
            age_at_end_ns: totals.age_at_end_ns,
            shares: (!lifetime.by_client.is_mixed())
                .then(|| ClientShares::of(&lifetime.by_client, clients.iter().sum()))
                .flatten(),
        }
    }
}

impl ThreadResult {
    fn new(usage: &ThreadUsage, connections: u32) -> Self {
        Self {
            cpu_ns: usage.cpu_ns,
            wall_ns: usage.wall_ns,
            spun_ns: usage.busy_wait_ns,
            busy: usage.busy(),
            connections,
            requests: usage.requests,
        }
    }
}
