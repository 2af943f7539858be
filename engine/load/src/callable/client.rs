//! Calls as tasks of a load's threads.

use super::span_log::{Event, StatementKind};
use super::{Callee, Callees, Failed, Log};
use crate::blocking::{Fault, Task, Tasks};
use loadcell_core::clock::Nanos;
use loadcell_core::record::{Kind, OpId, Operation, Recorder, TRANSACTION};

/// What is called, and what is counted of it.
pub struct Calls<C> {
    pub callees: C,
    pub operations: Vec<Operation>,
}

/// One client's calls.
pub struct Calling<'c, C> {
    callee: C,
    operations: &'c [Operation],
    log: Log,
    /// When the call that is chosen should begin.
    due: Option<Nanos>,
    outcome: Result<(), Failed>,
    /// What happened within it, and how much of that is in the record.
    events: Vec<Event>,
    recorded: usize,
    /// Its parts that succeeded: those that read, that write, and others.
    parts: [u64; 3],
}

impl<C: Callees> Tasks for Calls<C> {
    type Task<'t>
        = Calling<'t, C::Callee>
    where
        Self: 't;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn task(&self, client: u32, _: &dyn Fn() -> bool) -> Result<Self::Task<'_>, Fault> {
        let log = Log::default();
        let callee = self.callees.callee(client, log.clone(), &self.operations)?;
        log.take(); // What was told of before the first call is no part of any.
        Ok(Calling {
            callee,
            operations: &self.operations,
            log,
            due: None,
            outcome: Ok(()),
            events: Vec::new(),
            recorded: 0,
            parts: [0; 3],
        })
    }
}

impl<C: Callee> Task for Calling<'_, C> {
    fn clear(&mut self) {
        self.due = None;
    }

    fn choose(&mut self, recorder: &mut Recorder, due: Nanos) {
        recorder.start(TRANSACTION, due);
        self.due = Some(due);
    }

    fn chosen(&self) -> usize {
        usize::from(self.due.is_some())
    }

    fn carry_out(&mut self) -> Result<(), Fault> {
        self.outcome = self.callee.call();
        (self.events, self.recorded, self.parts) = (self.log.take(), 0, [0; 3]);
        match &self.outcome {
            Err(failed) if failed.fatal => {
                // A client that is lost tells of it once: its code may stay for good.
                Err(Fault::fatal(failed.why.code.clone().leak(), failed.why.message.clone()))
            }
            _ => Ok(()),
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.events.get(self.recorded).map(|event| event.at)
    }

    fn record_event(&mut self, recorder: &mut Recorder) {
        let Some(Event { at, op, what }) = self.events.get(self.recorded) else { return };
        match what {
            StatementKind::Begun => recorder.start(*op, *at),
            StatementKind::Retried => recorder.retry(*op),
            StatementKind::Succeeded { sent } => {
                recorder.succeed(*op, *sent, *sent, *at);
                self.parts[kind_of(self.operations, *op)] += 1;
            }
            StatementKind::Failed { sent, why } => recorder.fail(*op, *sent, *sent, *at, why),
        }
        self.recorded += 1;
    }

    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Some(due) = self.due else { return };
        match &self.outcome {
            Ok(()) => {
                recorder.succeed(TRANSACTION, due, sent, done);
                let [read, write, other] = self.parts;
                recorder.queries(done, read, write, other);
            }
            Err(failed) => recorder.fail(TRANSACTION, due, sent, done, &failed.why),
        }
    }
}

fn kind_of(operations: &[Operation], op: OpId) -> usize {
    match operations[op.index()].kind {
        Kind::Read => 0,
        Kind::Write => 1,
        _ => 2,
    }
}
