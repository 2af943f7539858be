//! One load: connect, warm up, measure, drain; what happens is told each interval, and all of it at the end.

mod books;
mod crew;
mod group;
mod leader;
mod lot;
mod mix;
mod outcome;
mod overload;
mod report;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::mpsc::channel;

use serde_json::Value;

use crate::limits;
use crate::observe::Observer;
use crate::spec::{Load, Problem};
use crate::transport::Endpoint;

pub use books::Total;
pub use crew::{Crew, Measured, Startable};
pub use lot::{Lot, Lots};

/// Where the load goes to.
pub struct Ground {
    pub endpoint: Arc<Endpoint>,
    pub connect_timeout_ns: crate::clock::Nanos,
    /// A remedy for an error's code; empty where there is none.
    pub advice: fn(&str) -> &'static str,
}

/// Why there is no result.
#[derive(Debug)]
pub enum NoResult {
    Problem(Problem),
    /// The observer did not want to wait for one.
    Aborted,
}

impl From<Problem> for NoResult {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Clients that all do the same, of several groups that make load side by side.
pub struct Part<'a> {
    pub name: &'a str,
    pub sessions: &'a dyn Startable,
    /// The clients are the group's own; the window is the first group's.
    pub load: &'a Load,
}

/// Makes load with `sessions`, and gives the result as the specification's reader expects it.
pub fn run(
    sessions: &dyn Startable,
    ground: &Ground,
    load: &Load,
    observer: &mut dyn Observer,
) -> Result<Value, NoResult> {
    lead(&[Part { name: "", sessions, load }], None, ground, observer)
}

/// Makes the load of several groups of clients at once, in one window; their intervals and their result are one record,
/// in which each group has its own figures.
pub fn run_together(
    parts: &[Part<'_>],
    ground: &Ground,
    observer: &mut dyn Observer,
) -> Result<Value, NoResult> {
    let groups = parts.iter().map(|part| (part.name, part.sessions.counted()));
    lead(parts, Some(mix::Mix::of(groups)), ground, observer)
}

fn lead(
    parts: &[Part<'_>],
    mix: Option<mix::Mix>,
    ground: &Ground,
    observer: &mut dyn Observer,
) -> Result<Value, NoResult> {
    limits::allow_connections(parts.iter().map(|part| part.load.clients).sum())?;
    std::thread::scope(|scope| {
        let (to, news) = channel();
        let mut groups: Vec<group::Group<'_>> = Vec::with_capacity(parts.len());
        for part in parts {
            let first = groups.last().map_or(0, |before| before.threads().end);
            let crew = part.sessions.start(scope, ground, part.load, first, &to)?;
            groups.push(group::Group::new(part, first, crew));
        }
        drop(to); // From now on only threads have one: when all are gone, that is heard.
        leader::Leader::new(groups, mix, ground, news, observer).lead()
    })
}
