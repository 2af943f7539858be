//! Threads that each carry out a task, as a load starts them.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::Scope;

use super::{Fault, Settings, Task, Worker};
use crate::reactor::{Control, EventSender, Refusal, ThreadEvent};
use crate::{ClientFactory, LoadThreads, Measurement, Partition, TargetContext, ThreadShare};
use loadcell_core::error::Problem;
use loadcell_core::os;
use loadcell_core::pace::{ClosedLoop, Pacer};
use loadcell_core::record::{LifetimeCounts, Operation, Recorder};
use loadcell_core::session::Remark;
use loadcell_core::spec::Load;

/// What the clients of a load share.
pub trait Tasks: Sync {
    type Task<'t>: Task
    where
        Self: 't;

    /// The transaction first.
    fn operations(&self) -> &[Operation];

    /// That of client number `client`. It is called on the client's own thread, and before anything is measured; what takes long
    /// is given up when it is not `wanted` any more.
    fn task(&self, client: u32, wanted: &dyn Fn() -> bool) -> Result<Self::Task<'_>, Fault>;

    /// The most operations that are chosen before they are carried out.
    fn batch(&self) -> usize {
        1
    }

    /// Figures of its own, by name.
    fn figures(&self, _: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What a reader of the figures must know, by name.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// Tasks as a load of a thread a client.
pub struct Direct<T>(pub T);

impl<T: Tasks> ClientFactory for Direct<T> {
    fn counted(&self) -> &[Operation] {
        self.0.operations()
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        _: &TargetContext,
        load: &Load,
        first: usize,
        to: &Sender<(usize, ThreadEvent)>,
    ) -> Result<LoadThreads, Problem> {
        let tasks = &self.0;
        let mut started = LoadThreads::default();
        let threads = load.clients;
        let partition = Partition::new(load, threads, first, to);
        for client in 0..threads {
            let ThreadShare { bounds, schedule, events } = partition.of(client, 1);
            let settings = Settings { client, batch: tasks.batch(), bounds };
            started.spawn(scope, tasks.operations(), 1, events, move |recorder, control, events| {
                match schedule {
                    Some(pacer) => {
                        os::set_timer_slack();
                        work(tasks, settings, pacer, recorder, control, events)
                    }
                    None => work(tasks, settings, ClosedLoop, recorder, control, events),
                }
            })?;
        }
        Ok(started)
    }

    fn figures(&self, measured: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        self.0.figures(measured)
    }

    fn remarks(&self) -> Vec<Remark> {
        self.0.remarks()
    }
}

fn work<T: Tasks>(
    tasks: &T,
    settings: Settings,
    pacer: impl Pacer,
    recorder: Recorder,
    control: Arc<Control>,
    events: EventSender,
) -> io::Result<LifetimeCounts> {
    let task = tasks.task(settings.client, &|| !control.is_abandoned());
    match task {
        Ok(task) => Worker::new(task, settings, pacer, recorder, control, events)?.run(),
        Err(fault) => {
            events.send(ThreadEvent::Refused(Refusal {
                client: settings.client,
                why: fault.failure(),
                errno: None,
            }));
            Ok(recorder.finish())
        }
    }
}
