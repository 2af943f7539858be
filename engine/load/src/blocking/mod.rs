//! Clients whose operations are calls in this process, without connection or protocol: one thread each.
//!
//! A [`BlockingClient`] selects, executes and records operations: an embedded store's transactions, or a
//! probe of the machine. [`BlockingLoop`] decides when, and accounts for time.

mod blocking_loop;
pub mod fault;
#[cfg(test)]
mod tests;

pub use blocking_loop::{BlockingClient, BlockingLoop};
pub use fault::Fault;

use std::io;
use std::sync::mpsc::Sender;
use std::thread::Scope;

use crate::reactor::{ThreadContext, ThreadEvent};
use crate::{ClientFactory, LoadThreads, Measurement, Partition, TargetContext, ThreadShare};
use loadcell_core::error::LoadError;
use loadcell_core::os;
use loadcell_core::pace::{ClosedLoop, Pacer};
use loadcell_core::record::{LifetimeCounts, Operation};
use loadcell_core::session::Remark;
use loadcell_core::spec::Load;

/// Creates the blocking clients of one load; shared by all threads.
pub trait BlockingClientFactory: Sync {
    type Client<'f>: BlockingClient
    where
        Self: 'f;

    /// Operations that the clients count and time, the transaction first.
    fn operations(&self) -> &[Operation];

    /// Creates client `number`. Called on the client's own thread before the load begins; a slow call returns
    /// early once `is_wanted` returns false.
    fn client(&self, number: u32, is_wanted: &dyn Fn() -> bool) -> Result<Self::Client<'_>, Fault>;

    /// Most operations that are selected for one execution.
    fn max_batch(&self) -> usize {
        1
    }

    /// Additional metrics of the measurement, by name.
    fn metrics(&self, _: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Remarks for readers of the result.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// A load of blocking clients, with one thread each.
pub struct BlockingLoad<F>(pub F);

impl<F: BlockingClientFactory> ClientFactory for BlockingLoad<F> {
    fn operations(&self) -> &[Operation] {
        self.0.operations()
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        _: &TargetContext,
        load: &Load,
        first: usize,
        to: &Sender<(usize, ThreadEvent)>,
    ) -> Result<LoadThreads, LoadError> {
        let factory = &self.0;
        let mut threads = LoadThreads::new(load);
        let partition = Partition::new(load, load.clients, first, to);
        for number in 0..load.clients {
            let ThreadShare { bounds, schedule, events } = partition.share(number, 1);
            let work = move |context| match schedule {
                Some(pacer) => {
                    os::set_timer_slack();
                    run(factory, number, pacer, context)
                }
                None => run(factory, number, ClosedLoop, context),
            };
            threads.spawn(scope, factory.operations(), 1, bounds, events, work)?;
        }
        Ok(threads)
    }

    fn metrics(&self, measurement: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        self.0.metrics(measurement)
    }

    fn remarks(&self) -> Vec<Remark> {
        self.0.remarks()
    }
}

fn run<F: BlockingClientFactory>(
    factory: &F,
    number: u32,
    pacer: impl Pacer,
    context: ThreadContext,
) -> io::Result<LifetimeCounts> {
    match factory.client(number, &|| !context.control.is_abandoned()) {
        Ok(client) => BlockingLoop::new(number, client, factory.max_batch(), context, pacer)?.run(),
        Err(fault) => {
            context.events.send(ThreadEvent::Refused(fault.failure().into()));
            Ok(context.recorder.finish())
        }
    }
}
