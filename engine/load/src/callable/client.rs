//! Callables as blocking clients.

use super::span_log::{SpanChange, SpanEvent};
use super::{Callable, CallableFactory, SpanLog};
use crate::blocking::{BlockingClient, BlockingClientFactory, Fault};
use loadcell_core::clock::Nanos;
use loadcell_core::record::{Kind, OpId, Operation, Recorder, TRANSACTION};

/// Creates the clients of a load of callables.
pub struct CallableClients<F> {
    pub factory: F,
    pub operations: Vec<Operation>,
}

/// One client, with the call that is selected or was executed last.
pub struct CallableClient<'f, C> {
    callable: C,
    operations: &'f [Operation],
    log: SpanLog,
    /// Due instant of the selected call.
    due: Option<Nanos>,
    outcome: Result<(), Fault>,
    /// Events of the call's spans, and how many of them are recorded.
    events: Vec<SpanEvent>,
    recorded: usize,
    /// Spans that succeeded: those that read, those that write, and others.
    spans: [u64; 3],
}

impl<F: CallableFactory> BlockingClientFactory for CallableClients<F> {
    type Client<'f>
        = CallableClient<'f, F::Callable>
    where
        Self: 'f;

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn client(&self, number: u32, _: &dyn Fn() -> bool) -> Result<Self::Client<'_>, Fault> {
        let log = SpanLog::default();
        let callable = self.factory.callable(number, log.clone(), &self.operations)?;
        log.take(); // Spans before the first call belong to no transaction.
        Ok(CallableClient {
            callable,
            operations: &self.operations,
            log,
            due: None,
            outcome: Ok(()),
            events: Vec::new(),
            recorded: 0,
            spans: [0; 3],
        })
    }
}

impl<C: Callable> BlockingClient for CallableClient<'_, C> {
    fn clear(&mut self) {
        self.due = None;
    }

    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        recorder.start(TRANSACTION, due);
        self.due = Some(due);
    }

    fn selected(&self) -> usize {
        usize::from(self.due.is_some())
    }

    fn execute(&mut self) -> Result<(), Fault> {
        self.outcome = self.callable.call();
        (self.events, self.recorded, self.spans) = (self.log.take(), 0, [0; 3]);
        match &self.outcome {
            Err(fault) if fault.fatal => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.events.get(self.recorded).map(|event| event.at)
    }

    fn record_event(&mut self, recorder: &mut Recorder) {
        let Some(SpanEvent { at, op, change }) = self.events.get(self.recorded) else { return };
        match change {
            SpanChange::Started => recorder.start(*op, *at),
            SpanChange::Retried => recorder.retry(*op),
            SpanChange::Succeeded { sent } => {
                recorder.succeed(*op, *sent, *sent, *at);
                self.spans[query_kind(self.operations, *op)] += 1;
            }
            SpanChange::Failed { sent, why } => recorder.fail(*op, *sent, *sent, *at, why),
        }
        self.recorded += 1;
    }

    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Some(due) = self.due else { return };
        match &self.outcome {
            Ok(()) => {
                recorder.succeed(TRANSACTION, due, sent, done);
                let [read, write, other] = self.spans;
                recorder.queries(done, read, write, other);
            }
            Err(fault) => recorder.fail(TRANSACTION, due, sent, done, &fault.failure()),
        }
    }
}

/// Index of an operation in `CallableClient::spans`.
fn query_kind(operations: &[Operation], op: OpId) -> usize {
    match operations[op.index()].kind {
        Kind::Read => 0,
        Kind::Write => 1,
        _ => 2,
    }
}
