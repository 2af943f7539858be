//! The threads of a load, as the coordinator sees them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, Scope};

use serde_json::json;

use super::TargetContext;
use super::interval_merge::OperationTotals;
use super::partition::{Partition, ThreadShare};
use crate::reactor::{Bounds, Control, EventSender, Reactor, Settings, ThreadContext, ThreadEvent};
use loadcell_core::clock::{Nanos, SECOND};
use loadcell_core::error::LoadError;
use loadcell_core::os;
use loadcell_core::pace::ClosedLoop;
use loadcell_core::record::{IntervalStats, LifetimeCounts, OpId, Operation, Recorder, Sink, Window};
use loadcell_core::session::{Remark, SessionFactory};
use loadcell_core::spec::Load;

/// Threads that make load with clients of one type. Dropping it ends them.
pub struct LoadThreads {
    threads: Vec<LoadThread>,
    /// Each thread records a timeline.
    timeline: bool,
}

/// Creates clients of any type, as far as starting threads is concerned: no later call to them is dynamic.
pub trait ClientFactory: Sync {
    /// Operations that the clients count and time, the transaction first.
    fn operations(&self) -> &[Operation];

    /// Starts the threads, which connect their clients at once. Their events have numbers from `first` on.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        context: &TargetContext,
        load: &Load,
        first: usize,
        to: &Sender<(usize, ThreadEvent)>,
    ) -> Result<LoadThreads, LoadError>;

    /// Additional metrics of the measurement, by name.
    fn metrics(&self, _: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Remarks for readers of the result.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// Totals of the measured window, as additional metrics need them.
pub struct Measurement<'m> {
    /// The transaction first.
    pub operations: &'m [OperationTotals],
    pub clients: u32,
    pub duration_s: f64,
}

impl Measurement<'_> {
    /// Successes of an operation per second.
    pub fn rate_per_s(&self, op: OpId) -> Option<f64> {
        let succeeded = self.operations[op.index()].counts.succeeded;
        (self.duration_s > 0.0).then(|| succeeded as f64 / self.duration_s)
    }

    /// Rate of an operation if the clients did nothing else: clients by mean service time. For operations
    /// that are few and long, of which the ends of the window would cut off a large part.
    pub fn service_rate_per_s(&self, op: OpId) -> Option<f64> {
        let service = &self.operations[op.index()].service;
        (service.count() > 0).then(|| f64::from(self.clients) * SECOND as f64 / service.mean())
    }
}

struct LoadThread {
    control: Arc<Control>,
    free_list: Sender<Box<IntervalStats>>,
    clients: u32,
}

impl<F: SessionFactory> ClientFactory for F {
    fn operations(&self) -> &[Operation] {
        SessionFactory::operations(self)
    }

    fn remarks(&self) -> Vec<Remark> {
        SessionFactory::remarks(self)
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        context: &TargetContext,
        load: &Load,
        first: usize,
        to: &Sender<(usize, ThreadEvent)>,
    ) -> Result<LoadThreads, LoadError> {
        let factory = self;
        let count = load.threads.min(load.clients);
        let partition = Partition::new(load, count, first, to);
        let mut threads = LoadThreads::new(load);
        for thread in 0..count {
            let clients = (thread..load.clients).step_by(count as usize);
            let size = clients.len() as u32;
            let ThreadShare { bounds, schedule, events } = partition.share(thread, clients.len());
            let settings = Settings {
                endpoint: context.endpoint.clone(),
                connect_timeout_ns: context.connect_timeout_ns,
                drain_ns: load.drain_ns,
                timeout_ns: load.timeout_ns,
            };
            let work = move |context: ThreadContext| {
                os::unshare_fd_table(context.control.waker.fd());
                if let Some(pacer) = schedule {
                    os::set_timer_slack();
                    return Reactor::new(factory, clients, settings, pacer, context)?.run();
                }
                Reactor::new(factory, clients, settings, ClosedLoop, context)?.run()
            };
            threads.spawn(scope, SessionFactory::operations(factory), size, bounds, events, work)?;
        }
        Ok(threads)
    }
}

impl LoadThreads {
    /// The threads of a load; none has been started yet.
    pub fn new(load: &Load) -> Self {
        Self { threads: Vec::new(), timeline: load.timeline }
    }

    /// Starts a thread with the given number of clients, which runs `work` from its first connection to its
    /// counts.
    pub fn spawn<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        operations: &'scope [Operation],
        clients: u32,
        bounds: Option<Bounds>,
        events: EventSender,
        work: impl FnOnce(ThreadContext) -> io::Result<LifetimeCounts> + Send + 'scope,
    ) -> Result<(), LoadError> {
        let control = Arc::new(Control::new().map_err(refused)?);
        let (free_list, returned) = channel();
        // With the one that it creates itself a thread has two: one is filled while the other is merged.
        let _ = free_list.send(Box::new(IntervalStats::new(operations.len())));
        let timeline = self.timeline;
        let builder = Builder::new().name(format!("load-{}", self.threads.len()));
        self.threads.push(LoadThread { control: control.clone(), free_list, clients });
        let run = move || {
            let (publisher, finisher) = (events.clone(), events.clone());
            let send = Box::new(move |published| publisher.send(ThreadEvent::Published(published)));
            let sink = Sink { send, free_list: returned };
            let work = AssertUnwindSafe(|| {
                let mut recorder = Recorder::publishing(operations, sink);
                if timeline {
                    recorder.keep_timeline();
                }
                work(ThreadContext { recorder, control, events, bounds })
            });
            // A thread that breaks must report it: the coordinator waits for its counts.
            let result = match catch_unwind(work) {
                Ok(Ok(lifetime)) => Ok(lifetime),
                Ok(Err(error)) => Err(error.to_string()),
                Err(panic) => {
                    Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "it broke".into()))
                }
            };
            finisher.send(ThreadEvent::Finished(result));
        };
        builder.spawn_scoped(scope, run).map(drop).map_err(refused)
    }

    pub fn size(&self) -> usize {
        self.threads.len()
    }

    /// Number of clients of each thread.
    pub fn clients(&self) -> impl Iterator<Item = u32> + '_ {
        self.threads.iter().map(|thread| thread.clients)
    }

    pub fn begin(&self, window: Window) {
        self.threads.iter().for_each(|thread| thread.control.begin(window));
    }

    pub fn measure(&self, window: Window) {
        self.threads.iter().for_each(|thread| thread.control.measure(window));
    }

    /// Wakes every thread, to report what it has to.
    pub fn wake_all(&self) {
        self.threads.iter().for_each(|thread| thread.control.waker.wake());
    }

    pub fn end_at(&self, end: Nanos) {
        self.threads.iter().for_each(|thread| thread.control.end_at(end));
    }

    pub fn abandon(&self) {
        self.threads.iter().for_each(|thread| thread.control.abandon());
    }

    /// Number of clients that are connected now.
    pub fn connections(&self) -> u32 {
        self.threads.iter().map(|thread| thread.control.connections()).sum()
    }

    /// Returns a cleared interval to its thread for reuse.
    pub fn recycle(&self, thread: usize, interval: Box<IntervalStats>) {
        let _ = self.threads[thread].free_list.send(interval); // A thread that has ended needs none.
    }
}

impl Drop for LoadThreads {
    fn drop(&mut self) {
        self.abandon();
    }
}

pub fn refused(error: io::Error) -> LoadError {
    LoadError::with_text("limit", error, "engine.threads", json!({}))
}
