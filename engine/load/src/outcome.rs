//! How a load ended, in words for whoever reads about it.

use serde_json::{Value, json};

use super::TargetContext;
use super::interval_merge::WindowTotals;
use crate::reactor::Refusal;
use loadcell_core::clock::Nanos;
use loadcell_core::record::{IntervalStats, TRANSACTION, Trouble};
use loadcell_core::spec::Load;

/// How a load ended, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub name: &'static str,
    pub reason: Option<String>,
    pub advice: Option<String>,
    /// What stands in the reason, by name, for who says it in another language; null where it is all words.
    pub args: Value,
}

impl Outcome {
    pub fn completed() -> Self {
        Self { name: "completed", reason: None, advice: None, args: Value::Null }
    }

    pub fn stopped() -> Self {
        let reason = Some("it was stopped before its time".into());
        Self { name: "stopped", reason, advice: Some("run it again".into()), args: Value::Null }
    }

    pub fn lost(context: &TargetContext, lost_ns: Nanos, trouble: Option<&Trouble>) -> Self {
        let seconds = lost_ns as f64 / 1e9;
        let said = trouble.map(|trouble| said(&trouble.code, &trouble.message));
        let last = said.as_ref().map(|said| format!(" ({said})")).unwrap_or_default();
        let code = trouble.map_or("connection", |trouble| trouble.code.as_str());
        let reason = match context.endpoint.is_here() {
            true => format!("nothing more could be had of {}{last}", context.endpoint),
            false => format!("no client could connect to {} for {seconds} s{last}", context.endpoint),
        };
        // Where nobody said anything, a reason of its own stands in the place of the words.
        let said = said.map_or_else(|| json!({"code": "nothing-said"}), Value::from);
        let args = json!({"where": context.endpoint.to_string(), "said": said, "code": code});
        Self { name: "lost", reason: Some(reason), advice: advised(context, code), args }
    }

    /// The time that a number of transactions may take was over before they were made.
    pub fn unfinished(load: &Load, totals: &WindowTotals) -> Self {
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
            reason: Some(format!(
                "{ended} of {bound} requests were made within the limit of {limit_s} s{waited}"
            )),
            advice: Some(
                "load.duration is that limit where a number of requests is given: raise it, or ask for fewer"
                    .into(),
            ),
        }
    }

    /// What was in progress when the warm-up was over did not end.
    pub fn unsettled(load: &Load) -> Self {
        let seconds = load.drain_ns as f64 / 1e9;
        Self {
            name: "unsettled",
            reason: Some(format!("the last requests of the warm-up had no answer within {seconds} s")),
            advice: Some(
                "the measurement of a number of requests begins when all before it have ended".into(),
            ),
            args: json!({"limit_s": seconds}),
        }
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
            reason: Some(format!(
                "{} requests were due and could not be sent, the oldest for {overdue:.1} s, and the backlog grew: \
                 {due:.0}/s fell due and {ended:.0}/s ended over {clients} connections",
                interval.backlog.waiting,
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

    pub fn connect_failed(context: &TargetContext, clients: u32, refused: u32, first: &Refusal) -> Self {
        let said = said(&first.why.code, &first.why.message);
        let code = &first.why.code;
        let place = context.endpoint.to_string();
        let args =
            json!({"refused": refused, "clients": clients, "where": place, "said": said, "code": code});
        let doing = if context.endpoint.is_here() { "begin on" } else { "connect to" };
        Self {
            name: "connect-failed",
            reason: Some(format!(
                "{refused} of {clients} clients could not {doing} {}: {said}",
                context.endpoint
            )),
            advice: advised(context, code),
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

fn advised(context: &TargetContext, code: &str) -> Option<String> {
    Some((context.advice)(code)).filter(|advice| !advice.is_empty()).map(Into::into)
}
