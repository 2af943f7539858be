//! Intervals and results as JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Ground;
use super::books::{Total, Totals};
use super::crew::{Measured, Startable};
use super::group::Group;
use super::mix::Mix;
use crate::clock::{Calendar, Nanos};
use crate::limits::max_rss_bytes;
use crate::reactor::Refusal;
use crate::record::{
    Figures, Histogram, Lifetime, Operation, Quantiles, Received, Slot, TRANSACTION, Trouble, Window, hlog,
};
use crate::spec::{Load, Schedule};

/// How a load ended, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    name: &'static str,
    reason: Option<String>,
    advice: Option<String>,
    /// What stands in the reason, by name, for who says it in another language; null where it is all words.
    args: Value,
}

impl Outcome {
    pub fn completed() -> Self {
        Self { name: "completed", reason: None, advice: None, args: Value::Null }
    }

    pub fn stopped() -> Self {
        let reason = Some("it was stopped before its time".into());
        Self { name: "stopped", reason, advice: Some("run it again".into()), args: Value::Null }
    }

    pub fn lost(ground: &Ground, lost_ns: Nanos, trouble: Option<&Trouble>) -> Self {
        let seconds = lost_ns as f64 / 1e9;
        let said = trouble.map(|trouble| said(&trouble.code, &trouble.message));
        let last = said.as_ref().map(|said| format!(" ({said})")).unwrap_or_default();
        let code = trouble.map_or("connection", |trouble| trouble.code.as_str());
        let reason = match ground.endpoint.is_here() {
            true => format!("nothing more could be had of {}{last}", ground.endpoint),
            false => format!("no client could connect to {} for {seconds} s{last}", ground.endpoint),
        };
        // Where nobody said anything, a reason of its own stands in the place of the words.
        let said = said.map_or_else(|| json!({"code": "nothing-said"}), Value::from);
        let args = json!({"where": ground.endpoint.to_string(), "said": said, "code": code});
        Self { name: "lost", reason: Some(reason), advice: advised(ground, code), args }
    }

    /// The time that a number of transactions may take was over before they were made.
    pub fn unfinished(load: &Load, totals: &Totals) -> Self {
        let total = &totals.operations[TRANSACTION.index()];
        let ended = total.counts.succeeded + total.counts.failed;
        let limit_s = load.duration_ns as f64 / 1e9;
        let bound = load.bound().unwrap_or_default();
        let waited = match total.in_flight {
            0 => String::new(),
            1 => ", and one more was under way".into(),
            many => format!(", and {many} more were under way"),
        };
        let under_way = total.in_flight;
        Self {
            name: "unfinished",
            args: json!({"made": ended, "asked": bound, "limit_s": limit_s, "under_way": under_way}),
            reason: Some(format!("{ended} of {bound} requests were made within the limit of {limit_s} s{waited}")),
            advice: Some(
                "load.duration is that limit where a number of requests is given: raise it, or ask for fewer".into(),
            ),
        }
    }

    /// What was in progress when the warm-up was over did not end.
    pub fn unsettled(load: &Load) -> Self {
        let seconds = load.drain_ns as f64 / 1e9;
        Self {
            name: "unsettled",
            reason: Some(format!("the last requests of the warm-up had no answer within {seconds} s")),
            advice: Some("the measurement of a number of requests begins when all before it have ended".into()),
            args: json!({"limit_s": seconds}),
        }
    }

    /// More requests were due than the target took, and it was getting no better.
    pub fn overloaded(slot: &Slot, clients: u32) -> Self {
        let seconds = |nanos: Nanos| nanos as f64 / 1e9;
        let counts = slot.tallies[TRANSACTION.index()].counts;
        let length = seconds(slot.span.end - slot.span.start);
        let (due, ended) = (counts.started as f64 / length, (counts.succeeded + counts.failed) as f64 / length);
        let overdue = seconds(slot.backlog.overdue_ns);
        Self {
            name: "overloaded",
            args: json!({
                "waiting": slot.backlog.waiting,
                "overdue_s": overdue,
                "due_per_s": due,
                "ended_per_s": ended,
                "clients": clients,
            }),
            reason: Some(format!(
                "{} requests were due and could not be sent, the oldest for {overdue:.1} s, and the backlog grew: \
                 {due:.0}/s fell due and {ended:.0}/s ended over {clients} connections",
                slot.backlog.waiting,
            )),
            advice: Some(
                "lower the rate; if the target is not busy, give more clients to carry it; \
                 load.max_backlog says how long a request may wait"
                    .into(),
            ),
        }
    }

    /// The same, of one group among several, whose name stands beside the rest; the only one of a load has no name.
    pub fn of_group(self, name: &str) -> Self {
        if name.is_empty() {
            return self;
        }
        let reason = self.reason.map(|reason| format!("client group {name}: {reason}"));
        let mut args = self.args;
        args["group"] = name.into();
        Self { reason, args, ..self }
    }

    pub fn connect_failed(ground: &Ground, clients: u32, refused: u32, first: &Refusal) -> Self {
        let said = said(&first.why.code, &first.why.message);
        let code = &first.why.code;
        let place = ground.endpoint.to_string();
        let args = json!({"refused": refused, "clients": clients, "where": place, "said": said, "code": code});
        let doing = if ground.endpoint.is_here() { "begin on" } else { "connect to" };
        Self {
            name: "connect-failed",
            reason: Some(format!("{refused} of {clients} clients could not {doing} {}: {said}", ground.endpoint)),
            advice: advised(ground, code),
            args,
        }
    }

    pub fn is_completed(&self) -> bool {
        self.name == "completed"
    }

    pub fn is_stopped(&self) -> bool {
        self.name == "stopped"
    }
}

/// A server's code says more than its words, one of the engine's own does not.
fn said(code: &str, message: &str) -> String {
    if code.starts_with(|first: char| first.is_ascii_lowercase()) {
        message.to_string()
    } else {
        format!("{message} [{code}]")
    }
}

fn advised(ground: &Ground, code: &str) -> Option<String> {
    Some((ground.advice)(code)).filter(|advice| !advice.is_empty()).map(Into::into)
}

/// What the figures of a load, or of one group of its clients, are made of.
struct Account<'a> {
    operations: &'a [Operation],
    window: &'a Window,
    totals: &'a Totals,
    lifetime: &'a Lifetime,
    clients: Vec<u32>,
    schedule: Option<&'a Schedule>,
    /// None where it is the account of several groups: figures of their own are each one's.
    sessions: Option<&'a dyn Startable>,
}

impl<'a> Account<'a> {
    fn of(group: &'a Group<'_>, window: &'a Window) -> Self {
        Self {
            operations: group.operations,
            window,
            totals: &group.books.totals,
            lifetime: &group.lifetime,
            clients: group.crew.clients().collect(),
            schedule: group.load.schedule.as_ref(),
            sessions: Some(group.sessions),
        }
    }

    /// Figures that only these clients have, by name.
    fn figures(&self) -> Map<String, Value> {
        let measured = Measured {
            operations: &self.totals.operations,
            clients: self.clients.iter().sum(),
            seconds: self.window.duration() as f64 / 1e9,
        };
        let own = self.sessions.map(|sessions| sessions.figures(&measured)).unwrap_or_default();
        own.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}

/// One interval, of all threads together. Its times in the interval log are relative to `base`; `open` says that the
/// load has a schedule, and so may have a backlog.
pub fn interval(slot: &Slot, operations: &[Operation], calendar: &Calendar, base: Nanos, open: bool) -> Value {
    let span = &slot.span;
    let mut event = json!({
        "type": "interval",
        "phase": span.phase,
        "index": span.index,
        "start_mono_ns": span.start,
        "start_utc_ns": calendar.utc(span.start),
        "duration_ns": span.end - span.start,
        "in_flight": slot.tallies[TRANSACTION.index()].in_flight,
        "connected": slot.connected,
    });
    if open {
        event["backlog"] = slot.backlog.waiting.into();
        event["overdue_ns"] = slot.backlog.overdue_ns.into();
    }
    let each = operations.iter().zip(&slot.tallies).map(|(operation, tally)| {
        json!({
            "name": operation.name,
            "kind": operation.kind,
            "started": tally.counts.started,
            "succeeded": tally.counts.succeeded,
            "failed": tally.counts.failed,
            "retried": tally.counts.retried,
            "response": Quantiles::of(&tally.response),
            "service": Quantiles::of(&tally.service),
        })
    });
    event["operations"] = each.collect();
    let mut lines = Vec::new();
    if span.start >= base {
        let (name, tally) = (operations[TRANSACTION.index()].name, &slot.tallies[TRANSACTION.index()]);
        let (start, length) = (span.start - base, span.end - span.start);
        for (kind, histogram) in [("response", &tally.response), ("service", &tally.service)] {
            if histogram.count() > 0 {
                lines.push(hlog::line(&format!("{name}/{kind}"), start, length, histogram));
            }
        }
    }
    event["hlog"] = lines.into();
    event
}

/// What a group's clients have in progress, and due, at the end of an interval.
pub fn group_interval(group: &Group<'_>, slot: &Slot) -> Value {
    let mut found = json!({
        "name": group.name,
        "in_flight": slot.tallies[TRANSACTION.index()].in_flight,
        "connected": slot.connected,
    });
    if group.load.schedule.is_some() {
        found["backlog"] = slot.backlog.waiting.into();
        found["overdue_ns"] = slot.backlog.overdue_ns.into();
    }
    found
}

/// What a load came to.
pub fn result(
    groups: &[Group<'_>],
    mix: Option<&Mix>,
    window: &Window,
    calendar: &Calendar,
    outcome: &Outcome,
) -> Value {
    let together;
    let (account, errors) = match mix {
        None => (Account::of(&groups[0], window), errors(groups[0].operations, &groups[0], None)),
        Some(mix) => {
            let totals = mix.totals(groups.iter().map(|group| &group.books.totals));
            together = (totals, mix.lifetime(groups.iter().map(|group| &group.lifetime)));
            let each = groups.iter().enumerate();
            let errors = each.flat_map(|(index, group)| errors(mix.of_group(index), group, Some(group.name)));
            let errors = errors.collect();
            let clients = groups.iter().flat_map(|group| group.crew.clients()).collect();
            let (totals, lifetime) = (&together.0, &together.1);
            let (operations, schedule, sessions) = (&mix.operations[..], None, None);
            (Account { operations, window, totals, lifetime, clients, schedule, sessions }, errors)
        }
    };
    // A load that never began has no window.
    let begun = window.start != Nanos::MAX;
    let mut result = json!({
        "outcome": outcome.name,
        "reason": outcome.reason,
        "advice": outcome.advice,
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
    let remarks: BTreeMap<_, _> = groups.iter().flat_map(|group| group.sessions.remarks()).collect();
    if !remarks.is_empty() {
        result["remarks"] = json!(remarks);
    }
    if mix.is_some() {
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
    let figures = account.figures();
    if !figures.is_empty() {
        to["figures"] = figures.into();
    }
}

fn received(received: &Received) -> Value {
    let statuses = received.statuses.iter().enumerate().filter(|(_, count)| **count > 0);
    let statuses: Map<String, Value> = statuses.map(|(class, count)| (format!("{class}xx"), (*count).into())).collect();
    json!({"bytes": received.bytes, "body_bytes": received.body_bytes, "statuses": statuses})
}

/// The errors of a group under the names `operations`; those of whole transactions are everywhere said of `transaction`.
fn errors(operations: &[Operation], group: &Group<'_>, name: Option<&str>) -> Vec<Value> {
    let each = group.books.totals.errors.iter().map(|error| {
        let operation =
            if error.operation == TRANSACTION { "transaction" } else { operations[error.operation.index()].name };
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

fn operation((operation, total): (&Operation, &Total)) -> Value {
    json!({
        "name": operation.name,
        "kind": operation.kind,
        "attempted": total.attempted(),
        "carried_in": total.carried_in,
        "succeeded": total.counts.succeeded,
        "failed": total.counts.failed,
        "in_flight": total.in_flight,
        "retried": total.counts.retried,
        "response": Figures::of(&total.response),
        "service": Figures::of(&total.service),
        "failed_response": Figures::of(&total.failed_response),
    })
}

fn life(operations: &[Operation], lifetime: &Lifetime) -> Value {
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
        "pacing_error": Figures::of(&totals.lateness),
        "backlog_wait": Figures::of(&totals.waited),
        "backlog": {
            "peak": totals.backlog.peak,
            "at_end": totals.backlog.waiting,
            "overdue_ns": totals.backlog.overdue_ns,
        },
        "presence_ns": totals.presence_ns,
    })
}

fn client(account: &Account<'_>) -> Value {
    let Totals { threads, lateness, reconnects, disconnected_ns, resting_ns, .. } = account.totals;
    let Totals { age_at_start_ns, age_at_end_ns, .. } = account.totals;
    let each = threads.iter().zip(&account.clients).map(|(work, clients)| {
        json!({
            "cpu_ns": work.cpu_ns,
            "wall_ns": work.wall_ns,
            "spun_ns": work.spun_ns,
            "busy": work.busy(),
            "connections": clients,
            "requests": work.requests,
        })
    });
    json!({
        "threads": each.collect::<Value>(),
        "cpu_ns": threads.iter().map(|work| work.cpu_ns).sum::<Nanos>(),
        "max_rss_bytes": max_rss_bytes(),
        "lateness": Figures::of(lateness),
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
