//! The threads that make load, as seen by the one that leads them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, Scope};

use super::TargetContext;
use super::interval_merge::OperationTotals;
use super::partition::{Partition, ThreadShare};
use crate::reactor::{Control, EventSender, Reactor, Settings, ThreadEvent};
use loadcell_core::clock::{Nanos, SECOND};
use loadcell_core::error::Problem;
use loadcell_core::os;
use loadcell_core::pace::ClosedLoop;
use loadcell_core::record::{IntervalStats, LifetimeCounts, OpId, Operation, Recorder, Sink, Window};
use loadcell_core::session::{Remark, SessionFactory};
use loadcell_core::spec::Load;

/// Threads that make load with sessions of one type. Dropping it makes them end.
#[derive(Default)]
pub struct LoadThreads {
    threads: Vec<LoadThread>,
}

/// Sessions of whatever type, as far as starting threads for them goes: from there on no call to them is dynamic.
pub trait ClientFactory: Sync {
    /// What they count and time.
    fn counted(&self) -> &[Operation];

    /// Starts the threads, numbered from `first` on in their news; they connect their clients at once.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        context: &TargetContext,
        load: &Load,
        first: usize,
        to: &Sender<(usize, ThreadEvent)>,
    ) -> Result<LoadThreads, Problem>;

    /// LatencySummary of its own, by name, made of what was measured.
    fn figures(&self, _: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What a reader of the figures must know.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// What was measured in the window.
pub struct Measurement<'m> {
    /// By operation, the transaction first.
    pub operations: &'m [OperationTotals],
    pub clients: u32,
    pub seconds: f64,
}

impl Measurement<'_> {
    /// How often an operation succeeded a second.
    pub fn per_second(&self, op: OpId) -> Option<f64> {
        let succeeded = self.operations[op.index()].counts.succeeded;
        (self.seconds > 0.0).then(|| succeeded as f64 / self.seconds)
    }

    /// How often it would have succeeded a second had the clients done nothing else: from the time that one took on
    /// average, so that what the ends of the window cut through has no weight. For operations that are few and long.
    pub fn pace(&self, op: OpId) -> Option<f64> {
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
    fn counted(&self) -> &[Operation] {
        self.operations()
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
    ) -> Result<LoadThreads, Problem> {
        let factory = self;
        let threads = load.threads.min(load.clients);
        let mut started = LoadThreads::default();
        let partition = Partition::new(load, threads, first, to);
        for thread in 0..threads {
            let clients = (thread..load.clients).step_by(threads as usize);
            let ThreadShare { bounds, schedule, events } = partition.of(thread, clients.len());
            let settings = Settings {
                endpoint: context.endpoint.clone(),
                connect_timeout_ns: context.connect_timeout_ns,
                drain_ns: load.drain_ns,
                bounds,
                timeout_ns: load.timeout_ns,
            };
            started.spawn(
                scope,
                factory.operations(),
                clients.len() as u32,
                events,
                move |recorder, control, events| {
                    os::unshare_fd_table(control.waker.fd());
                    if let Some(pacer) = schedule {
                        os::set_timer_slack();
                        return Reactor::new(factory, clients, settings, pacer, recorder, control, events)?
                            .run();
                    }
                    Reactor::new(factory, clients, settings, ClosedLoop, recorder, control, events)?.run()
                },
            )?;
        }
        Ok(started)
    }
}

impl LoadThreads {
    /// Starts a thread for so many clients: `work` is what it does, from its first connection to its account.
    pub fn spawn<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        operations: &'scope [Operation],
        clients: u32,
        events: EventSender,
        work: impl FnOnce(Recorder, Arc<Control>, EventSender) -> io::Result<LifetimeCounts> + Send + 'scope,
    ) -> Result<(), Problem> {
        let control = Arc::new(Control::new().map_err(unavailable)?);
        let (free_list, returned) = channel();
        // With the one it makes itself a thread has two: one is filled while the other is merged.
        let _ = free_list.send(Box::new(IntervalStats::new(operations.len())));
        let builder = Builder::new().name(format!("load-{}", self.threads.len()));
        self.threads.push(LoadThread { control: control.clone(), free_list, clients });
        let run = move || {
            let (publish, account) = (events.clone(), events.clone());
            let send = Box::new(move |what| publish.send(ThreadEvent::Published(what)));
            let outlet = Sink { send, free_list: returned };
            let work = AssertUnwindSafe(|| work(Recorder::publishing(operations, outlet), control, events));
            // A thread that breaks must say so: the leader waits for its account.
            let ended = match catch_unwind(work) {
                Ok(Ok(lifetime)) => Ok(lifetime),
                Ok(Err(error)) => Err(error.to_string()),
                Err(panic) => {
                    Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "it broke".into()))
                }
            };
            account.send(ThreadEvent::Finished(ended));
        };
        builder.spawn_scoped(scope, run).map(drop).map_err(unavailable)
    }

    pub fn size(&self) -> usize {
        self.threads.len()
    }

    /// How many clients each thread has.
    pub fn clients(&self) -> impl Iterator<Item = u32> + '_ {
        self.threads.iter().map(|thread| thread.clients)
    }

    pub fn begin(&self, window: Window) {
        self.threads.iter().for_each(|thread| thread.control.begin(window));
    }

    pub fn measure(&self, window: Window) {
        self.threads.iter().for_each(|thread| thread.control.measure(window));
    }

    /// Has every thread look whether it has anything to tell.
    pub fn wake_all(&self) {
        self.threads.iter().for_each(|thread| thread.control.waker.wake());
    }

    pub fn end_at(&self, end: Nanos) {
        self.threads.iter().for_each(|thread| thread.control.end_at(end));
    }

    pub fn abandon(&self) {
        self.threads.iter().for_each(|thread| thread.control.abandon());
    }

    /// How many clients have a connection just now.
    pub fn connections(&self) -> u32 {
        self.threads.iter().map(|thread| thread.control.connections()).sum()
    }

    /// Gives a thread an emptied slot back.
    pub fn give_back(&self, thread: usize, interval: Box<IntervalStats>) {
        let _ = self.threads[thread].free_list.send(interval); // A thread that has ended needs none.
    }
}

impl Drop for LoadThreads {
    fn drop(&mut self) {
        self.abandon();
    }
}

fn unavailable(error: io::Error) -> Problem {
    Problem::new(
        "limit",
        format!("the operating system refuses what a load needs ({error})"),
        "use fewer threads",
    )
}
