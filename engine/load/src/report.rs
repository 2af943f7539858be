//! Events of intervals, and the result of a load, as JSON.

use serde_json::{Value, json};

use super::group::Group;
use super::group_merge::GroupMerger;
use super::outcome::Outcome;
use super::pause_watch::PauseWatch;
use super::result::{Account, ErrorResult, GroupResult, LoadResult, MeasuredWindow};
use super::threads::Measurement;
use super::timeline_result::TimelineResult;
use loadcell_core::clock::{Calendar, Nanos};
use loadcell_core::record::{IntervalStats, Operation, Quantiles, TRANSACTION, Window, hlog};

/// Event of an interval, merged from all threads. Times in its lines of the interval log are relative to
/// `base`. `open`: the load has a schedule, and so may have a backlog.
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
    let by_operation = operations.iter().zip(&interval.operations).map(|(operation, stats)| {
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
    event["operations"] = by_operation.collect();
    let mut lines = Vec::new();
    if span.start >= base {
        let stats = &interval.operations[TRANSACTION.index()];
        let name = operations[TRANSACTION.index()].name;
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

/// A group's requests in progress, connections and backlog at the end of an interval.
pub fn group_interval(group: &Group<'_>, interval: &IntervalStats) -> Value {
    let mut section = json!({
        "name": group.name,
        "in_flight": interval.operations[TRANSACTION.index()].in_flight,
        "connected": interval.connected,
    });
    if group.load.schedule.is_some() {
        section["backlog"] = interval.backlog.waiting.into();
        section["overdue_ns"] = interval.backlog.overdue_ns.into();
    }
    section
}

/// Result of a load of one group, or of several with their merger.
pub fn result(
    groups: &[Group<'_>],
    merger: Option<&GroupMerger>,
    window: &Window,
    calendar: &Calendar,
    outcome: Outcome,
    pauses: &PauseWatch,
) -> LoadResult {
    // A load that never began has no window.
    let measured = (window.start != Nanos::MAX).then(|| MeasuredWindow {
        start_mono_ns: window.start,
        start_utc_ns: calendar.utc(window.start),
        duration_ns: window.duration(),
    });
    let (account, errors) = match merger {
        None => (group_account(&groups[0], window), errors(groups[0].operations, &groups[0], None)),
        Some(merger) => {
            let totals = merger.totals(groups.iter().map(|group| &group.merger.totals));
            let lifetime = merger.lifetime(groups.iter().map(|group| &group.lifetime));
            let clients: Vec<_> = groups.iter().flat_map(|group| group.threads.clients()).collect();
            let operations = &merger.operations;
            let account = Account::new(operations, &totals, &lifetime, &clients, None, window.duration());
            let errors = groups
                .iter()
                .enumerate()
                .flat_map(|(index, group)| errors(merger.group_operations(index), group, Some(group.name)));
            (account, errors.collect())
        }
    };
    LoadResult {
        outcome: outcome.name.into(),
        reason_args: outcome.args,
        window: measured,
        errors,
        hlog: measured.map(|window| account.log_lines(window.duration_ns)).unwrap_or_default(),
        hlog_header: measured.map(|window| hlog::header(window.start_mono_ns, calendar)).unwrap_or_default(),
        account,
        remarks: groups
            .iter()
            .flat_map(|group| group.clients.remarks())
            .chain(pauses.remark(window))
            .map(|(name, remark)| (name.into(), remark))
            .collect(),
        groups: match merger {
            None => Vec::new(),
            Some(_) => groups
                .iter()
                .map(|group| GroupResult { name: group.name.into(), account: group_account(group, window) })
                .collect(),
        },
        timelines: match measured {
            None => Vec::new(),
            Some(_) => groups
                .iter()
                .filter_map(|group| {
                    group.timeline.as_ref().map(|timeline| TimelineResult::new(group.name, timeline, window))
                })
                .collect(),
        },
    }
}

fn group_account(group: &Group<'_>, window: &Window) -> Account {
    let clients: Vec<_> = group.threads.clients().collect();
    let arrivals = group.load.schedule.as_ref().map(|schedule| schedule.arrivals);
    let totals = &group.merger.totals;
    let mut account =
        Account::new(group.operations, totals, &group.lifetime, &clients, arrivals, window.duration());
    let measurement = Measurement {
        operations: &totals.operations,
        clients: clients.iter().sum(),
        duration_s: window.duration() as f64 / 1e9,
    };
    let metrics = group.clients.metrics(&measurement);
    account.figures = metrics.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    account
}

/// Errors of a group whose operations have the names `operations`; those of whole transactions always belong
/// to `transaction`.
fn errors(operations: &[Operation], group: &Group<'_>, name: Option<&str>) -> Vec<ErrorResult> {
    let errors = group.merger.totals.errors.iter().map(|error| ErrorResult {
        code: error.code.clone(),
        operation: match error.operation {
            TRANSACTION => "transaction".into(),
            operation => operations[operation.index()].name.into(),
        },
        count: error.count,
        message: error.message.clone(),
        examples: error.examples.clone(),
        group: name.map(Into::into),
    });
    errors.collect()
}
