//! What a thread does on a store, whatever the workload: operations are chosen, carried out together, and put into the record.

use super::actions::Actions;
use super::{Fault, Handle};
use crate::clock::Nanos;
use crate::direct::Task;
use crate::keyvalue::Clients;
use crate::record::{Operation, Recorder};
use crate::workload::ycsb;

/// One client's work.
pub trait Job {
    /// See [`Task::look_ahead`].
    fn look_ahead(&mut self) {}

    /// Nothing is chosen.
    fn clear(&mut self);

    /// Chooses one more operation, which is due at `due`: what it counts as is started.
    fn choose(&mut self, recorder: &mut Recorder, due: Nanos);

    /// How many are chosen.
    fn chosen(&self) -> usize;

    /// Carries out what was chosen; whether the store can be used any longer.
    fn carry_out(&mut self, handle: &mut impl Handle) -> Result<(), Fault>;

    /// See [`Task::next_event`].
    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        None
    }

    /// Puts that into the record.
    fn record_event(&mut self, _: &mut Recorder) {}

    /// Puts what was carried out, from `sent` to `done`, into the record.
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos);
}

/// What the clients of a load share.
pub trait Jobs: Send + Sync {
    type Job: Job;

    /// The transaction first.
    fn operations(&self) -> &[Operation];

    /// That of client number `client`, in a store of so many files.
    fn job(&self, client: u32, files: usize) -> Self::Job;
}

/// A job with a thread's way into the store.
pub struct OnStore<H, J> {
    pub handle: H,
    pub job: J,
}

impl<H: Handle, J: Job> Task for OnStore<H, J> {
    fn look_ahead(&mut self) {
        self.job.look_ahead();
    }

    #[inline]
    fn clear(&mut self) {
        self.job.clear();
    }

    #[inline]
    fn choose(&mut self, recorder: &mut Recorder, due: Nanos) {
        self.job.choose(recorder, due);
    }

    #[inline]
    fn chosen(&self) -> usize {
        self.job.chosen()
    }

    #[inline]
    fn carry_out(&mut self) -> Result<(), Fault> {
        self.job.carry_out(&mut self.handle)
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        self.job.next_event()
    }

    #[inline]
    fn record_event(&mut self, recorder: &mut Recorder) {
        self.job.record_event(recorder);
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        self.job.record(recorder, sent, done);
    }
}

impl Jobs for Clients {
    type Job = Actions;

    fn operations(&self) -> &[Operation] {
        self.operations()
    }

    fn job(&self, client: u32, files: usize) -> Actions {
        Actions::new(self.client(client), self.only_read(), files)
    }
}

impl Jobs for ycsb::Clients {
    type Job = super::records::Records;

    fn operations(&self) -> &[Operation] {
        self.operations()
    }

    fn job(&self, client: u32, files: usize) -> Self::Job {
        super::records::Records::new(self.client(client), files)
    }
}
