//! One request, what became of it so far, and what is recorded of that.
//!
//! | state | what is awaited |
//! | --- | --- |
//! | `Over` | nothing |
//! | `Unsent` | a connection for it |
//! | `Waiting` | the first byte of its response |
//! | `Reading` | the rest of it |

use super::check::Body;
use super::client::{Client, Made};
use super::options::Plan;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{OpId, TRANSACTION};
use loadcell_core::session::Context;

/// A request that was refused more often has failed: a server that goes away whenever it is asked serves nobody.
const MOST_REFUSALS: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Over,
    Unsent,
    Waiting,
    Reading,
}

/// The numbers of operations beside the transaction: first come the kinds of requests, where there are several.
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
    /// How often it was refused.
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

    /// The client's next request, which should have been begun at `intended`.
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

    /// Something of its response has come.
    #[inline]
    pub fn heard(&mut self, cx: &mut Context<'_>, at: Nanos) {
        if self.state == State::Waiting {
            cx.recorder.succeed(self.operations.first_byte, self.sent, self.sent, at);
            self.state = State::Reading;
        }
    }

    #[inline]
    pub fn piece(&mut self, plan: &Plan, piece: &[u8]) {
        self.body.add(piece, plan.requests[self.kind].check.as_ref());
    }

    /// Its response is complete.
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

    /// It has failed for good.
    #[cold]
    pub fn failed(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) {
        self.stop(cx, at);
        self.state = State::Over;
        cx.recorder.fail(TRANSACTION, self.intended, self.begun, at, why);
        if let Some(kind) = self.counted_as() {
            cx.recorder.fail_without_error(kind, self.intended, at);
        }
    }

    /// The server has not begun it. Whether it is to be made again; not if that goes on and on.
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

    /// What it waits for does not come.
    fn stop(&mut self, cx: &mut Context<'_>, at: Nanos) {
        if self.state == State::Waiting {
            cx.recorder.fail_without_error(self.operations.first_byte, self.sent, at);
        }
    }
}
