//! What a thread does on a store, whatever the workload: operations are chosen, carried out together, and put into the record.

use super::steps::Steps;
use super::{Fault, Handle};
use crate::clock::Nanos;
use crate::direct::Task;
use crate::keyvalue::{Client, Clients};
use crate::record::{Operation, Recorder, TRANSACTION};
use crate::workload::ycsb;

/// One client's work.
pub trait Job {
    /// Nothing is chosen.
    fn clear(&mut self);

    /// Chooses one more operation, which is due at `due`: what it counts as is started.
    fn choose(&mut self, recorder: &mut Recorder, due: Nanos);

    /// How many are chosen.
    fn chosen(&self) -> usize;

    /// Carries out what was chosen; whether the store can be used any longer.
    fn carry_out(&mut self, handle: &mut impl Handle) -> Result<(), Fault>;

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
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        self.job.record(recorder, sent, done);
    }
}

/// The actions of a key-value client.
pub struct Actions {
    client: Client,
    steps: Steps,
}

impl Jobs for Clients {
    type Job = Actions;

    fn operations(&self) -> &[Operation] {
        self.operations()
    }

    fn job(&self, client: u32, files: usize) -> Actions {
        Actions { client: self.client(client), steps: Steps::new(files) }
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

impl Job for Actions {
    #[inline]
    fn clear(&mut self) {
        self.steps.clear();
    }

    #[inline]
    fn choose(&mut self, recorder: &mut Recorder, due: Nanos) {
        let op = self.steps.choose(&mut self.client, due).op;
        recorder.start(TRANSACTION, due);
        recorder.start(op, due);
    }

    #[inline]
    fn chosen(&self) -> usize {
        self.steps.list.len()
    }

    #[inline]
    fn carry_out(&mut self, handle: &mut impl Handle) -> Result<(), Fault> {
        self.steps.carry_out(handle, &mut self.client)
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Self { client, steps } = self;
        let mut read = 0;
        for at in 0..steps.list.len() {
            steps.judge(at, &mut read, client);
            let step = &steps.list[at];
            match &step.outcome {
                Ok(()) => {
                    let written = step.written();
                    recorder.succeed_whole(step.action.op, step.intended, sent, done);
                    recorder.queries(done, u64::from(written == 0), u64::from(written > 0), 0);
                    recorder.rows_changed(written as u64);
                    if let Some(outcome) = client.done() {
                        recorder.start(outcome, step.intended);
                        recorder.succeed(outcome, step.intended, sent, done);
                    }
                }
                Err(why) => {
                    recorder.fail(step.action.op, step.intended, sent, done, why);
                    recorder.fail(TRANSACTION, step.intended, sent, done, why);
                    client.failed();
                }
            }
        }
    }
}
