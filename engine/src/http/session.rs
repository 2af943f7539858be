//! One connection that makes requests, one after the other, and records what becomes of them.
//!
//! | state | what is awaited |
//! | --- | --- |
//! | `Idle` | nothing: the next request is the pacer's business |
//! | `Connecting` | a connection for the request that was begun |
//! | `Waiting` | the first byte of its response |
//! | `Reading` | the rest of it |
//!
//! A connection that cannot carry another request (because the server said so, something went wrong, or every request is to
//! have its own) is replaced when the next request is begun, within its response time. So it is where the server has refused
//! to begin a request that was sent, as one that goes away does: the request is made again on another connection.

use super::check::Body;
use super::client::Client;
use super::wire::{Http, Said};
use crate::clock::Nanos;
use crate::record::{OpId, TRANSACTION};
use crate::session::{Again, Context, Failure, Session, Step, Want};

/// A request that was refused more often has failed: a server that goes away whenever it is asked serves nobody.
const MOST_REFUSALS: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Connecting,
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

/// The request in progress.
#[derive(Clone, Copy, Default)]
struct Current {
    kind: usize,
    intended: Nanos,
    begun: Nanos,
    /// Since when a connection is made for it, or when it was sent.
    sent: Nanos,
    /// How often it was refused.
    refused: u32,
    status: u16,
    /// What was known of the connection when its response was complete.
    ended: Option<bool>,
}

pub struct HttpSession<H> {
    http: H,
    client: Client,
    operations: Operations,
    state: State,
    /// The connection can carry a request.
    usable: bool,
    current: Current,
    body: Body,
    /// Why the connection ended, as the protocol sees it.
    why: Option<Failure>,
}

impl<H: Http> HttpSession<H> {
    pub fn new(client: Client, operations: Operations) -> Self {
        Self {
            http: H::new(client.plan.limits),
            client,
            operations,
            state: State::Idle,
            usable: false,
            current: Current::default(),
            body: Body::default(),
            why: None,
        }
    }

    fn kind(&self) -> Option<OpId> {
        self.operations.first_kind.map(|first| OpId(first + self.current.kind as u16))
    }

    #[inline]
    fn send(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) {
        let kind = self.current.kind;
        let request = if self.current.refused == 0 { self.client.make(kind) } else { self.client.last(kind) };
        self.http.request(&request, out);
        self.current.sent = at;
        self.body.begin();
        self.state = State::Waiting;
        cx.recorder.start(self.operations.first_byte, at);
    }

    #[inline]
    fn heard(&mut self, cx: &mut Context<'_>, at: Nanos) {
        if self.state == State::Waiting {
            cx.recorder.succeed(self.operations.first_byte, self.current.sent, self.current.sent, at);
            self.state = State::Reading;
        }
    }

    fn connect(&mut self, cx: &mut Context<'_>, at: Nanos) -> Want {
        self.usable = false;
        self.state = State::Connecting;
        self.current.sent = at;
        cx.recorder.start(self.operations.connect, at);
        Want::Connect
    }

    /// The server has not begun the request: made again on another connection, unless that goes on and on.
    #[cold]
    fn refused(&mut self, cx: &mut Context<'_>, at: Nanos) -> Result<Want, Failure> {
        self.current.refused += 1;
        if self.current.refused > MOST_REFUSALS {
            self.http.closed()?;
        }
        if self.state == State::Waiting {
            cx.recorder.fail_too(self.operations.first_byte, self.current.sent, at);
        }
        cx.recorder.retry(TRANSACTION);
        if let Some(kind) = self.kind() {
            cx.recorder.retry(kind);
        }
        Ok(self.connect(cx, at))
    }

    /// Its response is complete.
    #[inline]
    fn done(&mut self, cx: &mut Context<'_>, at: Nanos) {
        let check = self.client.plan.requests[self.current.kind].check.as_ref();
        let judged = self.client.plan.success.judge(self.current.status).and_then(|()| self.body.judge(check));
        self.state = State::Idle;
        cx.recorder.response(self.current.status, self.body.bytes);
        match judged {
            Ok(()) => {
                let Current { intended, begun, .. } = self.current;
                cx.recorder.succeed(TRANSACTION, intended, begun, at);
                if let Some(kind) = self.kind() {
                    cx.recorder.succeed(kind, intended, begun, at);
                }
            }
            Err(why) => self.failed(cx, at, &why),
        }
    }

    #[cold]
    fn failed(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) {
        let Current { intended, begun, .. } = self.current;
        cx.recorder.fail(TRANSACTION, intended, begun, at, why);
        if let Some(kind) = self.kind() {
            cx.recorder.fail_too(kind, intended, at);
        }
    }

    fn ready(&mut self, out: &mut Vec<u8>) -> Want {
        self.usable = true;
        self.http.opened(out);
        Want::Turn
    }
}

impl<H: Http> Session for HttpSession<H> {
    fn opened(&mut self, out: &mut Vec<u8>) -> Want {
        if self.client.plan.tls { Want::Secure } else { self.ready(out) }
    }

    fn secured(&mut self, _: &[u8], out: &mut Vec<u8>) -> Want {
        self.ready(out)
    }

    #[inline]
    fn received(&mut self, cx: &mut Context<'_>, at: Nanos, input: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        let mut consumed = 0;
        while let Some((size, said)) = self.http.next(&input[consumed..], out)? {
            consumed += size;
            match said {
                Said::Nothing => {}
                Said::Part => self.heard(cx, at),
                Said::Refused => return Ok(Step { consumed, want: self.refused(cx, at)? }),
                Said::Leaving => match &mut self.current.ended {
                    Some(again) => *again = false,
                    None => self.usable = false,
                },
                Said::Status(status) => {
                    self.heard(cx, at);
                    self.current.status = status;
                }
                Said::Body(piece) => {
                    self.heard(cx, at);
                    let check = self.client.plan.requests[self.current.kind].check.as_ref();
                    self.body.add(piece, check);
                }
                Said::End { again } => self.current.ended = Some(again),
            }
        }
        // Only when all was heard: what comes after the end of a response spoils it.
        let want = match self.current.ended.take() {
            Some(again) => {
                self.usable = again;
                self.done(cx, at);
                Want::Turn
            }
            None => Want::Reply,
        };
        Ok(Step { consumed, want })
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> Want {
        debug_assert_eq!(self.state, State::Idle, "one request at a time");
        let kind = self.client.choose();
        self.current = Current { kind, intended, begun: at, sent: at, refused: 0, status: 0, ended: None };
        cx.recorder.start(TRANSACTION, intended);
        if let Some(kind) = self.kind() {
            cx.recorder.start(kind, intended);
        }
        if self.usable && self.client.plan.keep_alive {
            self.send(cx, at, out);
            return Want::Reply;
        }
        self.connect(cx, at)
    }

    fn resume(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) -> Want {
        let since = self.current.sent;
        cx.recorder.succeed(self.operations.connect, since, since, at);
        self.send(cx, at, out);
        Want::Reply
    }

    fn closed(&mut self, cx: &mut Context<'_>, at: Nanos, _: &mut Vec<u8>) -> Option<Want> {
        self.usable = false;
        match self.http.closed() {
            Ok(()) => {
                self.done(cx, at);
                Some(Want::Turn)
            }
            Err(why) => {
                self.why = Some(why);
                None
            }
        }
    }

    fn class(errno: i32) -> Option<&'static str> {
        match errno {
            libc::ECONNREFUSED => Some("refused"),
            libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED => Some("reset"),
            libc::EADDRNOTAVAIL => Some("ports"),
            libc::EMFILE | libc::ENFILE => Some("descriptors"),
            _ => None,
        }
    }

    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Again {
        let own = self.why.take();
        let why = own.as_ref().unwrap_or(why);
        self.usable = false;
        self.current.ended = None;
        let was = std::mem::replace(&mut self.state, State::Idle);
        match was {
            State::Idle => return Again::OnDemand,
            State::Connecting => cx.recorder.fail_too(self.operations.connect, self.current.sent, at),
            State::Waiting => cx.recorder.fail_too(self.operations.first_byte, self.current.sent, at),
            State::Reading => {}
        }
        self.failed(cx, at, why);
        // Where none can be made, they are tried for with a pause between them.
        if was == State::Connecting { Again::Later } else { Again::OnDemand }
    }

    fn goodbye(&mut self, _: &mut Vec<u8>) {}
}
