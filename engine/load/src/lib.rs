//! One load: connect, warm up, measure, drain; what happens is told each interval, and all of it at the end.

pub mod blocking;
pub mod callable;
mod coordinator;
mod group;
mod group_merge;
mod interval_merge;
mod outcome;
mod overload;
mod partition;
pub mod reactor;
mod report;
mod threads;

use std::sync::Arc;
use std::sync::mpsc::channel;

use serde_json::Value;

use loadcell_core::error::Problem;
use loadcell_core::observe::Observer;
use loadcell_core::os;
use loadcell_core::spec::Load;
use loadcell_transport::Endpoint;

pub use interval_merge::OperationTotals;
pub use partition::{Partition, ThreadShare};
pub use threads::{ClientFactory, LoadThreads, Measurement};

/// Where the load goes to.
pub struct TargetContext {
    pub endpoint: Arc<Endpoint>,
    pub connect_timeout_ns: loadcell_core::clock::Nanos,
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
pub struct GroupInput<'a> {
    pub name: &'a str,
    pub sessions: &'a dyn ClientFactory,
    /// The clients are the group's own; the window is the first group's.
    pub load: &'a Load,
}

/// Makes load with `sessions`, and gives the result as the specification's reader expects it.
pub fn run(
    sessions: &dyn ClientFactory,
    context: &TargetContext,
    load: &Load,
    observer: &mut dyn Observer,
) -> Result<Value, NoResult> {
    lead(&[GroupInput { name: "", sessions, load }], None, context, observer)
}

/// Makes the load of several groups of clients at once, in one window; their intervals and their result are one record,
/// in which each group has its own figures.
pub fn run_together(
    parts: &[GroupInput<'_>],
    context: &TargetContext,
    observer: &mut dyn Observer,
) -> Result<Value, NoResult> {
    let groups = parts.iter().map(|part| (part.name, part.sessions.counted()));
    lead(parts, Some(group_merge::GroupMerger::of(groups)), context, observer)
}

fn lead(
    parts: &[GroupInput<'_>],
    groups_merger: Option<group_merge::GroupMerger>,
    context: &TargetContext,
    observer: &mut dyn Observer,
) -> Result<Value, NoResult> {
    os::allow_connections(parts.iter().map(|part| part.load.clients).sum())?;
    std::thread::scope(|scope| {
        let (to, news) = channel();
        let mut groups: Vec<group::Group<'_>> = Vec::with_capacity(parts.len());
        for part in parts {
            let first = groups.last().map_or(0, |before| before.threads().end);
            let threads = part.sessions.start(scope, context, part.load, first, &to)?;
            groups.push(group::Group::new(part, first, threads));
        }
        drop(to); // From now on only threads have one: when all are gone, that is heard.
        coordinator::Coordinator::new(groups, groups_merger, context, news, observer).run()
    })
}
