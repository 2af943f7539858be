//! Outcome of a load: a code with its arguments.

use serde_json::{Value, json};

use super::TargetContext;
use super::interval_merge::WindowTotals;
use crate::reactor::Loss;
use loadcell_core::clock::Nanos;
use loadcell_core::record::{ErrorEvent, IntervalStats, TRANSACTION};
use loadcell_core::spec::Load;

/// Outcome of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Code of the message catalogue.
    pub name: &'static str,
    /// A JSON object; null without any.
    pub args: Value,
}

impl Outcome {
    pub fn completed() -> Self {
        Self { name: "completed", args: Value::Null }
    }

    pub fn stopped() -> Self {
        Self { name: "stopped", args: Value::Null }
    }

    pub fn lost(context: &TargetContext, lost_ns: Nanos, trouble: Option<&ErrorEvent>) -> Self {
        let args = json!({
            "where": context.endpoint.to_string(),
            "here": context.endpoint.is_here(),
            "limit_s": lost_ns as f64 / 1e9,
            "said": trouble.map(|trouble| message_with_code(&trouble.code, &trouble.message)),
            "code": trouble.map_or("connection", |trouble| trouble.code.as_str()),
        });
        Self { name: "lost", args }
    }

    /// The time that a number of transactions may take was over before they were made.
    pub fn unfinished(load: &Load, totals: &WindowTotals) -> Self {
        let total = &totals.operations[TRANSACTION.index()];
        let ended = total.counts.succeeded + total.counts.failed;
        let limit_s = load.duration_ns as f64 / 1e9;
        let bound = load.bound().unwrap_or_default();
        let under_way = total.in_flight;
        Self {
            name: "unfinished",
            args: json!({"made": ended, "asked": bound, "limit_s": limit_s, "under_way": under_way}),
        }
    }

    /// Transactions in progress at the end of the warm-up did not end.
    pub fn unsettled(limit_ns: Nanos) -> Self {
        Self { name: "unsettled", args: json!({"limit_s": limit_ns as f64 / 1e9}) }
    }

    /// More requests were due than the target took, and it was getting no better.
    pub fn overloaded(interval: &IntervalStats, clients: u32) -> Self {
        let seconds = |nanos: Nanos| nanos as f64 / 1e9;
        let counts = interval.operations[TRANSACTION.index()].counts;
        let length = seconds(interval.span.end - interval.span.start);
        let (due, ended) =
            (counts.started as f64 / length, (counts.succeeded + counts.failed) as f64 / length);
        let overdue = seconds(interval.backlog.overdue_ns);
        Self {
            name: "overloaded",
            args: json!({
                "waiting": interval.backlog.waiting,
                "overdue_s": overdue,
                "due_per_s": due,
                "ended_per_s": ended,
                "clients": clients,
            }),
        }
    }

    /// The same, of one group among several, whose name stands beside the rest; the only one of a load has no
    /// name.
    pub fn of_group(self, name: &str) -> Self {
        if name.is_empty() {
            return self;
        }
        let mut args = self.args;
        args["group"] = name.into();
        Self { args, ..self }
    }

    pub fn connect_failed(context: &TargetContext, clients: u32, refused: u32, first: &Loss) -> Self {
        let args = json!({
            "refused": refused,
            "clients": clients,
            "where": context.endpoint.to_string(),
            "here": context.endpoint.is_here(),
            "said": message_with_code(&first.why.code, &first.why.message),
            "code": first.why.code,
        });
        Self { name: "connect-failed", args }
    }

    pub fn is_completed(&self) -> bool {
        self.name == "completed"
    }

    pub fn is_stopped(&self) -> bool {
        self.name == "stopped"
    }
}

/// Message with a server's code in front; codes of the engine are left out.
fn message_with_code(code: &str, message: &str) -> String {
    if code.starts_with(|first: char| first.is_ascii_lowercase()) {
        message.to_string()
    } else {
        format!("{message} [{code}]")
    }
}
