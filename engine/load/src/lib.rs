//! Runs a load: connect, warm up, measure, drain. Reports events at each interval, and the result at the end.

pub mod blocking;
pub mod callable;
mod coordinator;
mod group;
mod group_merge;
mod interval_merge;
mod outcome;
mod overload;
mod partition;
mod pause_watch;
pub mod reactor;
mod report;
mod result;
mod result_merge;
mod threads;
mod timeline_result;

use std::sync::Arc;
use std::sync::mpsc::channel;

use serde_json::{Value, json};

use loadcell_core::error::LoadError;
use loadcell_core::observe::Observer;
use loadcell_core::os;
use loadcell_core::spec::Load;
use loadcell_transport::Endpoint;

use coordinator::Coordinator;
use group::Group;
use group_merge::GroupMerger;
use pause_watch::PauseWatch;

pub use partition::{Partition, ThreadShare};
pub use result_merge::merge_results;
pub use threads::{ClientFactory, LoadThreads, Measurement};

/// Target of a load.
pub struct TargetContext {
    pub endpoint: Arc<Endpoint>,
    pub connect_timeout_ns: loadcell_core::clock::Nanos,
}

/// A group of clients that do the same work.
pub struct GroupInput<'a> {
    pub name: &'a str,
    pub clients: &'a dyn ClientFactory,
    /// Load of the group; the window is that of the first group.
    pub load: &'a Load,
}

/// Runs the load of a single group of clients. Returns its result.
pub fn run(
    clients: &dyn ClientFactory,
    context: &TargetContext,
    load: &Load,
    observer: &mut dyn Observer,
) -> Result<Value, LoadError> {
    coordinate(&[GroupInput { name: "", clients, load }], None, context, observer)
}

/// Runs the load of several groups of clients in one window. Returns their common result, with that of each
/// group.
pub fn run_groups(
    inputs: &[GroupInput<'_>],
    context: &TargetContext,
    observer: &mut dyn Observer,
) -> Result<Value, LoadError> {
    let groups = inputs.iter().map(|input| (input.name, input.clients.operations()));
    coordinate(inputs, Some(GroupMerger::new(groups)), context, observer)
}

fn coordinate(
    inputs: &[GroupInput<'_>],
    group_merger: Option<GroupMerger>,
    context: &TargetContext,
    observer: &mut dyn Observer,
) -> Result<Value, LoadError> {
    os::allow_connections(inputs.iter().map(|input| input.load.clients).sum())?;
    std::thread::scope(|scope| {
        let pauses = PauseWatch::start(scope)?;
        let (to, events) = channel();
        let mut groups: Vec<Group<'_>> = Vec::with_capacity(inputs.len());
        for input in inputs {
            let first = groups.last().map_or(0, |group| group.thread_numbers().end);
            let threads = input.clients.start(scope, context, input.load, first, &to)?;
            groups.push(Group::new(input, first, threads));
        }
        drop(to); // The threads hold the other senders: the channel closes with the last of them.
        let coordinator = Coordinator::new(groups, group_merger, context, events, observer, &pauses);
        coordinator.run().map(|result| json!(result))
    })
}
