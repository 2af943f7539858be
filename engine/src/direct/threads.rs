//! Threads that each carry out a task, as a load starts them.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::Scope;

use super::{Fault, Settings, Task, Worker};
use crate::limits;
use crate::load::{Crew, Ground, Lot, Lots, Measured, Startable};
use crate::pace::{Closed, Pacer};
use crate::reactor::{Control, Mail, Message, Refusal};
use crate::record::{Lifetime, Operation, Recorder};
use crate::session::Remark;
use crate::spec::{Load, Problem};

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
    fn figures(&self, _: &Measured<'_>) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What a reader of the figures must know, by name.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// Tasks as a load of a thread a client.
pub struct Direct<T>(pub T);

impl<T: Tasks> Startable for Direct<T> {
    fn counted(&self) -> &[Operation] {
        self.0.operations()
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        _: &Ground,
        load: &Load,
        first: usize,
        to: &Sender<(usize, Message)>,
    ) -> Result<Crew, Problem> {
        let tasks = &self.0;
        let mut crew = Crew::default();
        let threads = load.clients;
        let lots = Lots::new(load, threads, first, to);
        for client in 0..threads {
            let Lot { bounds, schedule, mail } = lots.of(client, 1);
            let settings = Settings { client, batch: tasks.batch(), bounds };
            crew.employ(scope, tasks.operations(), 1, mail, move |recorder, control, mail| match schedule {
                Some(pacer) => {
                    limits::wake_up_promptly();
                    work(tasks, settings, pacer, recorder, control, mail)
                }
                None => work(tasks, settings, Closed, recorder, control, mail),
            })?;
        }
        Ok(crew)
    }

    fn figures(&self, measured: &Measured<'_>) -> Vec<(&'static str, f64)> {
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
    mail: Mail,
) -> io::Result<Lifetime> {
    let task = tasks.task(settings.client, &|| !control.is_abandoned());
    match task {
        Ok(task) => Worker::new(task, settings, pacer, recorder, control, mail)?.run(),
        Err(fault) => {
            mail.send(Message::Refused(Refusal {
                client: settings.client,
                why: fault.failure(),
                errno: None,
            }));
            Ok(recorder.finish())
        }
    }
}
