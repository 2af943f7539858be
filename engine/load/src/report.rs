//! Intervals and results as JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::group::Group;
use super::group_merge::GroupMerger;
use super::interval_merge::{OperationTotals, WindowTotals};
use super::outcome::Outcome;
use super::threads::{ClientFactory, Measurement};
use loadcell_core::clock::{Calendar, Nanos};
use loadcell_core::os::max_rss_bytes;
use loadcell_core::record::{
    Histogram, IntervalStats, LatencySummary, LifetimeCounts, Operation, Quantiles, Received, TRANSACTION,
    Window, hlog,
};
use loadcell_core::spec::Schedule;

/// What the figures of a load, or of one group of its clients, are made of.
struct Account<'a> {
    operations: &'a [Operation],
    window: &'a Window,
    totals: &'a WindowTotals,
    lifetime: &'a LifetimeCounts,
    clients: Vec<u32>,
    schedule: Option<&'a Schedule>,
    /// None where it is the account of several groups: figures of their own are each one's.
    sessions: Option<&'a dyn ClientFactory>,
}

impl<'a> Account<'a> {
    fn of(group: &'a Group<'_>, window: &'a Window) -> Self {
        Self {
            operations: group.operations,
            window,
            totals: &group.merger.totals,
            lifetime: &group.lifetime,
            clients: group.threads.clients().collect(),
            schedule: group.load.schedule.as_ref(),
            sessions: Some(group.clients),
        }
    }

    /// LatencySummary that only these clients have, by name.
    fn metrics(&self) -> Map<String, Value> {
        let measured = Measurement {
            operations: &self.totals.operations,
            clients: self.clients.iter().sum(),
            duration_s: self.window.duration() as f64 / 1e9,
        };
        let own = self.sessions.map(|sessions| sessions.metrics(&measured)).unwrap_or_default();
        own.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}

/// One interval, of all threads together. Its times in the interval log are relative to `base`; `open` says that the
/// load has a schedule, and so may have a backlog.
pub fn interval(
    interval: &IntervalStats,
    operations: &[Operation],
    calendar: &Calendar,
    base: Nanos,
    open: bool,
) -> Value {
    let span = &interval.span;
    let mut event = json!({
        "type": "interval",
        "phase": span.phase,
        "index": span.index,
        "start_mono_ns": span.start,
        "start_utc_ns": calendar.utc(span.start),
        "duration_ns": span.end - span.start,
        "in_flight": interval.operations[TRANSACTION.index()].in_flight,
        "connected": interval.connected,
    });
    if open {
        event["backlog"] = interval.backlog.waiting.into();
        event["overdue_ns"] = interval.backlog.overdue_ns.into();
    }
    let each = operations.iter().zip(&interval.operations).map(|(operation, stats)| {
        json!({
            "name": operation.name,
            "kind": operation.kind,
            "started": stats.counts.started,
            "succeeded": stats.counts.succeeded,
            "failed": stats.counts.failed,
            "retried": stats.counts.retried,
            "response": Quantiles::of(&stats.response),
            "service": Quantiles::of(&stats.service),
        })
    });
    event["operations"] = each.collect();
    let mut lines = Vec::new();
    if span.start >= base {
        let (name, stats) = (operations[TRANSACTION.index()].name, &interval.operations[TRANSACTION.index()]);
        let (start, length) = (span.start - base, span.end - span.start);
        for (kind, histogram) in [("response", &stats.response), ("service", &stats.service)] {
            if histogram.count() > 0 {
                lines.push(hlog::line(&format!("{name}/{kind}"), start, length, histogram));
            }
        }
    }
    event["hlog"] = lines.into();
    event
}

/// What a group's clients have in progress, and due, at the end of an interval.
pub fn group_interval(group: &Group<'_>, interval: &IntervalStats) -> Value {
    let mut found = json!({
        "name": group.name,
        "in_flight": interval.operations[TRANSACTION.index()].in_flight,
        "connected": interval.connected,
    });
    if group.load.schedule.is_some() {
        found["backlog"] = interval.backlog.waiting.into();
        found["overdue_ns"] = interval.backlog.overdue_ns.into();
    }
    found
}

/// What a load came to.
pub fn result(
    groups: &[Group<'_>],
    groups_merger: Option<&GroupMerger>,
    window: &Window,
    calendar: &Calendar,
    outcome: &Outcome,
) -> Value {
    let together;
    let (account, errors) = match groups_merger {
        None => (Account::of(&groups[0], window), errors(groups[0].operations, &groups[0], None)),
        Some(groups_merger) => {
            let totals = groups_merger.totals(groups.iter().map(|group| &group.merger.totals));
            together = (totals, groups_merger.lifetime(groups.iter().map(|group| &group.lifetime)));
            let each = groups.iter().enumerate();
            let errors = each.flat_map(|(index, group)| {
                errors(groups_merger.group_operations(index), group, Some(group.name))
            });
            let errors = errors.collect();
            let clients = groups.iter().flat_map(|group| group.threads.clients()).collect();
            let (totals, lifetime) = (&together.0, &together.1);
            let (operations, schedule, sessions) = (&groups_merger.operations[..], None, None);
            (Account { operations, window, totals, lifetime, clients, schedule, sessions }, errors)
        }
    };
    // A load that never began has no window.
    let begun = window.start != Nanos::MAX;
    let mut result = json!({
        "outcome": outcome.name,
        "reason_args": outcome.args,
        "window": begun.then(|| json!({
            "start_mono_ns": window.start,
            "start_utc_ns": calendar.utc(window.start),
            "duration_ns": window.duration(),
        })),
        "errors": errors,
        "hlog": if begun { whole_window(&account) } else { Vec::new() },
        "hlog_header": if begun { hlog::header(window.start, calendar) } else { Vec::new() },
    });
    add_figures(&mut result, &account);
    let remarks: BTreeMap<_, _> = groups.iter().flat_map(|group| group.clients.remarks()).collect();
    if !remarks.is_empty() {
        result["remarks"] = json!(remarks);
    }
    if groups_merger.is_some() {
        let each = groups.iter().map(|group| {
            let mut figures = json!({"name": group.name});
            add_figures(&mut figures, &Account::of(group, window));
            figures
        });
        result["groups"] = each.collect();
    }
    result
}

/// What is counted of a load, and of each of its groups alike.
fn add_figures(to: &mut Value, account: &Account<'_>) {
    let Account { operations, totals, lifetime, .. } = account;
    to["operations"] = operations.iter().zip(&totals.operations).map(operation).collect();
    to["queries"] = json!({
        "total": totals.queries.total(),
        "read": totals.queries.read,
        "write": totals.queries.write,
        "other": totals.queries.other,
    });
    to["received"] = received(&totals.received);
    to["lifetime"] = life(operations, lifetime);
    to["schedule"] = account.schedule.map_or(Value::Null, |schedule| kept(schedule, account));
    to["client"] = client(account);
    let figures = account.metrics();
    if !figures.is_empty() {
        to["figures"] = figures.into();
    }
}

fn received(received: &Received) -> Value {
    let statuses = received.statuses.iter().enumerate().filter(|(_, count)| **count > 0);
    let statuses: Map<String, Value> =
        statuses.map(|(class, count)| (format!("{class}xx"), (*count).into())).collect();
    json!({"bytes": received.bytes, "body_bytes": received.body_bytes, "statuses": statuses})
}

/// The errors of a group under the names `operations`; those of whole transactions are everywhere said of `transaction`.
fn errors(operations: &[Operation], group: &Group<'_>, name: Option<&str>) -> Vec<Value> {
    let each = group.merger.totals.errors.iter().map(|error| {
        let operation = if error.operation == TRANSACTION {
            "transaction"
        } else {
            operations[error.operation.index()].name
        };
        let mut found = json!({
            "code": error.code,
            "operation": operation,
            "count": error.count,
            "message": error.message,
        });
        if let Some(name) = name {
            found["group"] = name.into();
        }
        found
    });
    each.collect()
}

fn operation((operation, total): (&Operation, &OperationTotals)) -> Value {
    json!({
        "name": operation.name,
        "kind": operation.kind,
        "attempted": total.attempted(),
        "carried_in": total.carried_in,
        "succeeded": total.counts.succeeded,
        "failed": total.counts.failed,
        "in_flight": total.in_flight,
        "retried": total.counts.retried,
        "response": LatencySummary::of(&total.response),
        "service": LatencySummary::of(&total.service),
        "failed_response": LatencySummary::of(&total.failed_response),
    })
}

fn life(operations: &[Operation], lifetime: &LifetimeCounts) -> Value {
    let transactions = lifetime.operations[TRANSACTION.index()];
    let counts = operations.iter().zip(&lifetime.operations);
    json!({
        "transactions": transactions.succeeded,
        "failed": transactions.failed,
        "queries": lifetime.queries.total(),
        "rows_changed": lifetime.rows_changed,
        "rolled_back": lifetime.rolled_back,
        "operations": counts.map(|(operation, counts)| (operation.name, counts.succeeded)).collect::<Value>(),
    })
}

/// How the schedule of an open loop was kept: by the target, which may be behind it, and by the client, which may be late.
fn kept(schedule: &Schedule, account: &Account<'_>) -> Value {
    let Account { totals, window, .. } = account;
    let transaction = &totals.operations[TRANSACTION.index()];
    let seconds = window.duration() as f64 / 1e9;
    let per_second = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
    json!({
        "arrivals": schedule.arrivals,
        "offered": transaction.counts.started,
        "offered_per_s": per_second(transaction.counts.started),
        "achieved_per_s": per_second(transaction.counts.succeeded),
        "pacing_error": LatencySummary::of(&totals.lateness),
        "backlog_wait": LatencySummary::of(&totals.backlog_wait),
        "backlog": {
            "peak": totals.backlog.peak,
            "at_end": totals.backlog.waiting,
            "overdue_ns": totals.backlog.overdue_ns,
        },
        "presence_ns": totals.presence_ns,
    })
}

fn client(account: &Account<'_>) -> Value {
    let WindowTotals { threads, lateness, reconnects, disconnected_ns, resting_ns, .. } = account.totals;
    let WindowTotals { age_at_start_ns, age_at_end_ns, .. } = account.totals;
    let each = threads.iter().zip(&account.clients).map(|(work, clients)| {
        json!({
            "cpu_ns": work.cpu_ns,
            "wall_ns": work.wall_ns,
            "spun_ns": work.busy_wait_ns,
            "busy": work.busy(),
            "connections": clients,
            "requests": work.requests,
        })
    });
    json!({
        "threads": each.collect::<Value>(),
        "cpu_ns": threads.iter().map(|work| work.cpu_ns).sum::<Nanos>(),
        "max_rss_bytes": max_rss_bytes(),
        "lateness": LatencySummary::of(lateness),
        "connects": account.lifetime.connects,
        "reconnects": reconnects,
        "reconnecting_ns": disconnected_ns,
        "resting_ns": resting_ns,
        "age_at_start_ns": age_at_start_ns,
        "age_at_end_ns": age_at_end_ns,
    })
}

/// The parts of the transaction over the whole window: their intervals would fill disks.
fn whole_window(account: &Account<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |name: &str, kind: &str, histogram: &Histogram| {
        if histogram.count() > 0 {
            lines.push(hlog::line(&format!("{name}/{kind}"), 0, account.window.duration(), histogram));
        }
    };
    for (operation, total) in account.operations.iter().zip(&account.totals.operations).skip(1) {
        line(operation.name, "response", &total.response);
        line(operation.name, "service", &total.service);
    }
    lines
}
