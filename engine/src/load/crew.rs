//! The threads that make load, as seen by the one that leads them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, Scope};

use super::Ground;
use super::books::Total;
use super::lot::{Lot, Lots};
use crate::clock::{Nanos, SECOND};
use crate::limits;
use crate::pace::Closed;
use crate::reactor::{Control, Mail, Message, Reactor, Settings};
use crate::record::{Lifetime, OpId, Operation, Outlet, Recorder, Slot, Window};
use crate::session::{Remark, SessionFactory};
use crate::spec::{Load, Problem};

/// Threads that make load with sessions of one type. Dropping it makes them end.
#[derive(Default)]
pub struct Crew {
    members: Vec<Member>,
}

/// Sessions of whatever type, as far as starting threads for them goes: from there on no call to them is dynamic.
pub trait Startable: Sync {
    /// What they count and time.
    fn counted(&self) -> &[Operation];

    /// Starts the threads, numbered from `first` on in their news; they connect their clients at once.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        ground: &Ground,
        load: &Load,
        first: usize,
        to: &Sender<(usize, Message)>,
    ) -> Result<Crew, Problem>;

    /// Figures of its own, by name, made of what was measured.
    fn figures(&self, _: &Measured<'_>) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What a reader of the figures must know.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// What was measured in the window.
pub struct Measured<'m> {
    /// By operation, the transaction first.
    pub operations: &'m [Total],
    pub clients: u32,
    pub seconds: f64,
}

impl Measured<'_> {
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

struct Member {
    control: Arc<Control>,
    spares: Sender<Box<Slot>>,
    clients: u32,
}

impl<F: SessionFactory> Startable for F {
    fn counted(&self) -> &[Operation] {
        self.operations()
    }

    fn remarks(&self) -> Vec<Remark> {
        SessionFactory::remarks(self)
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        ground: &Ground,
        load: &Load,
        first: usize,
        to: &Sender<(usize, Message)>,
    ) -> Result<Crew, Problem> {
        let factory = self;
        let threads = load.threads.min(load.clients);
        let mut crew = Crew::default();
        let lots = Lots::new(load, threads, first, to);
        for thread in 0..threads {
            let clients = (thread..load.clients).step_by(threads as usize);
            let Lot { bounds, schedule, mail } = lots.of(thread, clients.len());
            let settings = Settings {
                endpoint: ground.endpoint.clone(),
                connect_timeout_ns: ground.connect_timeout_ns,
                drain_ns: load.drain_ns,
                bounds,
                timeout_ns: load.timeout_ns,
            };
            crew.employ(
                scope,
                factory.operations(),
                clients.len() as u32,
                mail,
                move |recorder, control, mail| {
                    limits::keep_descriptors_apart(control.bell.fd());
                    if let Some(pacer) = schedule {
                        limits::wake_up_promptly();
                        return Reactor::new(factory, clients, settings, pacer, recorder, control, mail)?
                            .run();
                    }
                    Reactor::new(factory, clients, settings, Closed, recorder, control, mail)?.run()
                },
            )?;
        }
        Ok(crew)
    }
}

impl Crew {
    /// Starts a thread for so many clients: `work` is what it does, from its first connection to its account.
    pub fn employ<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        operations: &'scope [Operation],
        clients: u32,
        mail: Mail,
        work: impl FnOnce(Recorder, Arc<Control>, Mail) -> io::Result<Lifetime> + Send + 'scope,
    ) -> Result<(), Problem> {
        let control = Arc::new(Control::new().map_err(unavailable)?);
        let (spares, returned) = channel();
        // With the one it makes itself a thread has two: one is filled while the other is merged.
        let _ = spares.send(Box::new(Slot::new(operations.len())));
        let builder = Builder::new().name(format!("load-{}", self.members.len()));
        self.members.push(Member { control: control.clone(), spares, clients });
        let run = move || {
            let (publish, account) = (mail.clone(), mail.clone());
            let send = Box::new(move |what| publish.send(Message::Published(what)));
            let outlet = Outlet { send, spares: returned };
            let work = AssertUnwindSafe(|| work(Recorder::publishing(operations, outlet), control, mail));
            // A thread that breaks must say so: the leader waits for its account.
            let ended = match catch_unwind(work) {
                Ok(Ok(lifetime)) => Ok(lifetime),
                Ok(Err(error)) => Err(error.to_string()),
                Err(panic) => {
                    Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "it broke".into()))
                }
            };
            account.send(Message::Finished(ended));
        };
        builder.spawn_scoped(scope, run).map(drop).map_err(unavailable)
    }

    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// How many clients each thread has.
    pub fn clients(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|member| member.clients)
    }

    pub fn begin(&self, window: Window) {
        self.members.iter().for_each(|member| member.control.begin(window));
    }

    pub fn measure(&self, window: Window) {
        self.members.iter().for_each(|member| member.control.measure(window));
    }

    /// Has every thread look whether it has anything to tell.
    pub fn nudge(&self) {
        self.members.iter().for_each(|member| member.control.bell.ring());
    }

    pub fn end_at(&self, end: Nanos) {
        self.members.iter().for_each(|member| member.control.end_at(end));
    }

    pub fn abandon(&self) {
        self.members.iter().for_each(|member| member.control.abandon());
    }

    /// How many clients have a connection just now.
    pub fn connections(&self) -> u32 {
        self.members.iter().map(|member| member.control.connections()).sum()
    }

    /// Gives a thread an emptied slot back.
    pub fn give_back(&self, thread: usize, slot: Box<Slot>) {
        let _ = self.members[thread].spares.send(slot); // A thread that has ended needs none.
    }
}

impl Drop for Crew {
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
