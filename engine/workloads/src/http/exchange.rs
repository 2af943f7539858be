//! One request with its response, and the recording of both.
//!
//! | state | awaited |
//! | --- | --- |
//! | `Over` | nothing |
//! | `Unsent` | a connection |
//! | `Waiting` | the first byte of the response |
//! | `Reading` | the rest of the response |
//! | `Pausing` | the end of a think time between two requests of a scenario |

use super::check::Body;
use super::client::{Client, Made};
use super::options::Plan;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{OpId, TRANSACTION};
use loadcell_core::session::Context;

/// Limit of refusals, after which a request fails: a server that always goes away makes no progress.
pub const MOST_REFUSALS: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Over,
    Unsent,
    Waiting,
    Reading,
    Pausing,
}

/// Ids of the operations besides the transaction, starting with the request kinds if there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operations {
    pub first_kind: Option<u16>,
    pub connect: OpId,
    pub first_byte: OpId,
}

pub struct Exchange {
    pub state: State,
    pub kind: usize,
    pub made: Made,
    pub body: Body,
    pub status: u16,
    pub begun: Nanos,
    intended: Nanos,
    sent: Nanos,
    /// Number of refusals so far.
    refused: u32,
    operations: Operations,
}

impl Exchange {
    pub fn new(plan: &Plan, operations: Operations) -> Self {
        Self {
            state: State::Over,
            kind: 0,
            made: Made::new(plan),
            body: Body::default(),
            status: 0,
            begun: 0,
            intended: 0,
            sent: 0,
            refused: 0,
            operations,
        }
    }

    fn counted_as(&self) -> Option<OpId> {
        self.operations.first_kind.map(|first| OpId(first + self.kind as u16))
    }

    /// Start the client's next request, whose intended start is `intended`.
    #[inline]
    pub fn begin(&mut self, cx: &mut Context<'_>, client: &mut Client, intended: Nanos, at: Nanos) {
        self.kind = client.choose();
        client.make(self.kind, &mut self.made);
        (self.intended, self.begun, self.refused, self.status) = (intended, at, 0, 0);
        self.state = State::Unsent;
        match self.counted_as() {
            Some(kind) => cx.recorder.start_single(kind, intended),
            None => cx.recorder.start(TRANSACTION, intended),
        }
    }

    #[inline]
    pub fn sent(&mut self, cx: &mut Context<'_>, at: Nanos) {
        (self.state, self.sent) = (State::Waiting, at);
        self.body.begin();
        cx.recorder.start(self.operations.first_byte, at);
    }

    /// Part of the response has arrived.
    #[inline]
    pub fn on_response(&mut self, cx: &mut Context<'_>, at: Nanos) {
        if self.state == State::Waiting {
            cx.recorder.succeed(self.operations.first_byte, self.sent, self.sent, at);
            self.state = State::Reading;
        }
    }

    #[inline]
    pub fn piece(&mut self, plan: &Plan, piece: &[u8]) {
        self.body.add(piece, plan.requests[self.kind].check.as_ref());
    }

    /// The response is complete.
    #[inline]
    pub fn done(&mut self, cx: &mut Context<'_>, plan: &Plan, at: Nanos) {
        let check = plan.requests[self.kind].check.as_ref();
        let judged = plan.success.judge(self.status).and_then(|()| self.body.judge(check));
        self.state = State::Over;
        cx.recorder.response(self.status, self.body.bytes);
        match judged {
            Ok(()) => match self.counted_as() {
                Some(kind) => cx.recorder.succeed_single(kind, self.intended, self.begun, at),
                None => cx.recorder.succeed(TRANSACTION, self.intended, self.begun, at),
            },
            Err(why) => self.failed(cx, at, &why),
        }
    }

    /// The request failed.
    #[cold]
    pub fn failed(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) {
        self.stop(cx, at);
        self.state = State::Over;
        cx.recorder.fail(TRANSACTION, self.intended, self.begun, at, why);
        if let Some(kind) = self.counted_as() {
            cx.recorder.fail_without_error(kind, self.intended, at);
        }
    }

    /// The server has not processed the request. True if it is to be repeated; false once the limit is
    /// reached.
    #[cold]
    pub fn refused(&mut self, cx: &mut Context<'_>, at: Nanos) -> bool {
        self.refused += 1;
        if self.refused > MOST_REFUSALS {
            return false;
        }
        self.stop(cx, at);
        self.state = State::Unsent;
        cx.recorder.retry(TRANSACTION);
        if let Some(kind) = self.counted_as() {
            cx.recorder.retry(kind);
        }
        true
    }

    /// Fail the stage that is being waited for.
    fn stop(&mut self, cx: &mut Context<'_>, at: Nanos) {
        if self.state == State::Waiting {
            cx.recorder.fail_without_error(self.operations.first_byte, self.sent, at);
        }
    }
}
