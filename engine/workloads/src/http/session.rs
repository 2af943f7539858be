//! Session with sequential requests on a connection.
//!
//! A connection that cannot carry another request (closed by the server, failed, or without keep-alive) is
//! replaced when the next request starts, within its response time. A request that the server refused to
//! process, as after GOAWAY, is repeated on another connection, also within its response time.

use super::exchange::{Operations, State};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::session::{Context, NextAction, Reconnect, Session, Step};
use loadcell_protocols::http::{Http, Limits, Request, ResponseEvent, WatchedFields};

/// Next step of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Send the request that has been made.
    Send,
    /// Go on at this instant.
    Pause(Nanos),
    /// The transaction is over.
    Over,
}

/// Requests of a session, one after the other, and the recording of their responses.
pub trait Work {
    fn os(&self) -> Limits;
    fn tls(&self) -> bool;
    fn keep_alive(&self) -> bool;
    fn operations(&self) -> Operations;
    fn state(&self) -> State;

    /// The request that has been made.
    fn request(&self) -> Request<'_>;

    /// Start the next transaction, whose intended start is `intended`.
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos) -> NextStep;

    /// The pause is over.
    fn after_pause(&mut self, _cx: &mut Context<'_>, _at: Nanos) -> NextStep {
        NextStep::Over
    }

    /// End of the pause.
    fn due(&self) -> Nanos {
        0
    }

    /// As in `Session`.
    fn timed_since(&self) -> Option<Nanos> {
        None
    }

    /// Think time before the next transaction.
    fn think_time(&mut self) -> Nanos {
        0
    }

    /// The request has been sent.
    fn sent(&mut self, cx: &mut Context<'_>, at: Nanos);

    /// Part of the response has arrived.
    fn on_response(&mut self, cx: &mut Context<'_>, at: Nanos);

    fn on_status(&mut self, status: u16, fields: &WatchedFields, at: Nanos);

    /// A piece of the response's body.
    fn piece(&mut self, piece: &[u8]);

    /// The response is complete.
    fn done(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextStep;

    /// The request failed; the connection remains usable.
    fn failed(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> NextStep;

    /// The connection is lost, and the transaction with it.
    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure);

    /// The server has not processed the request. True if it is to be repeated; false once the limit is
    /// reached.
    fn refused(&mut self, cx: &mut Context<'_>, at: Nanos) -> bool;
}

pub struct HttpSession<H, W> {
    http: H,
    work: W,
    /// The connection can carry a request.
    usable: bool,
    /// Start of the connect for the current request.
    connecting: Nanos,
    /// Set when the response is complete: whether the connection can be reused.
    ended: Option<bool>,
    /// Reason of the protocol for the end of the connection.
    why: Option<Failure>,
}

impl<H: Http, W: Work> HttpSession<H, W> {
    pub fn new(work: W) -> Self {
        Self { http: H::new(work.os()), work, usable: false, connecting: 0, ended: None, why: None }
    }

    /// Pass these header fields of responses to the work.
    pub fn watch(&mut self, fields: WatchedFields) {
        self.http.watch(fields);
    }

    #[inline(always)]
    fn send(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) {
        self.http.request(&self.work.request(), out);
        self.work.sent(cx, at);
    }

    /// Do what comes next.
    #[inline(always)]
    fn act(&mut self, cx: &mut Context<'_>, next: NextStep, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        match next {
            NextStep::Send if self.usable && self.work.keep_alive() => {
                self.send(cx, at, out);
                NextAction::Reply
            }
            NextStep::Send => self.connect(cx, at),
            NextStep::Pause(until) => NextAction::Pause(until),
            NextStep::Over => NextAction::Idle,
        }
    }

    fn connect(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextAction {
        self.usable = false;
        self.connecting = at;
        cx.recorder.start(self.work.operations().connect, at);
        NextAction::Connect
    }

    /// The server has not processed the request: repeat it on another connection, up to the limit.
    #[cold]
    fn refused(&mut self, cx: &mut Context<'_>, at: Nanos) -> Result<NextAction, Failure> {
        if !self.work.refused(cx, at) {
            self.http.closed()?;
        }
        Ok(self.connect(cx, at))
    }
}

impl<H: Http, W: Work> Session for HttpSession<H, W> {
    fn opened(&mut self, out: &mut Vec<u8>) -> NextAction {
        if self.work.tls() { NextAction::StartTls } else { self.secured(&[], out) }
    }

    fn secured(&mut self, _: &[u8], out: &mut Vec<u8>) -> NextAction {
        self.usable = true;
        self.http.opened(out);
        NextAction::Idle
    }

    #[inline]
    fn received(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, Failure> {
        let (mut consumed, mut reset) = (0, None);
        while let Some((size, event)) = self.http.next(&input[consumed..], out)? {
            consumed += size;
            match event {
                ResponseEvent::Nothing => {}
                ResponseEvent::Part => self.work.on_response(cx, at),
                ResponseEvent::Refused => return Ok(Step { consumed, action: self.refused(cx, at)? }),
                ResponseEvent::Leaving => match &mut self.ended {
                    Some(again) => *again = false,
                    None => self.usable = false,
                },
                ResponseEvent::Status(status) => {
                    self.work.on_response(cx, at);
                    self.work.on_status(status, self.http.watched(), at);
                }
                ResponseEvent::Body(piece) => {
                    self.work.on_response(cx, at);
                    self.work.piece(piece);
                }
                ResponseEvent::Reset(code) => (self.ended, reset) = (Some(true), Some(code)),
                ResponseEvent::End { again } => self.ended = Some(again),
            }
        }
        // Only once all input is processed: surplus bytes after a response fail it.
        let action = match self.ended.take() {
            Some(again) => {
                self.usable = again;
                let next = match reset {
                    None => self.work.done(cx, at),
                    Some(code) => self.work.failed(cx, at, &code.reset()),
                };
                self.act(cx, next, at, out)
            }
            None => NextAction::Reply,
        };
        Ok(Step { consumed, action })
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        debug_assert_eq!(self.work.state(), State::Over, "one transaction at a time");
        let next = self.work.begin(cx, intended, at);
        self.act(cx, next, at, out)
    }

    fn resume(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        if self.work.state() == State::Pausing {
            let next = self.work.after_pause(cx, at);
            return self.act(cx, next, at, out);
        }
        cx.recorder.succeed(self.work.operations().connect, self.connecting, self.connecting, at);
        self.send(cx, at, out);
        NextAction::Reply
    }

    fn think_time(&mut self, _: Nanos) -> Nanos {
        self.work.think_time()
    }

    fn timed_since(&self) -> Option<Nanos> {
        self.work.timed_since()
    }

    fn closed(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) -> Option<NextAction> {
        self.usable = false;
        if self.work.state() == State::Pausing {
            // The timer of the pause belongs to the connection.
            return Some(NextAction::Pause(self.work.due()));
        }
        match self.http.closed() {
            Ok(()) => {
                let next = self.work.done(cx, at);
                Some(self.act(cx, next, at, out))
            }
            Err(why) => {
                self.why = Some(why);
                None
            }
        }
    }

    fn error_code(errno: i32) -> Option<&'static str> {
        super::error_code(errno)
    }

    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Reconnect {
        let protocol_failure = self.why.take();
        let why = protocol_failure.as_ref().unwrap_or(why);
        self.usable = false;
        self.ended = None;
        let was = self.work.state();
        if was == State::Over {
            return Reconnect::OnDemand;
        }
        if was == State::Unsent {
            cx.recorder.fail_without_error(self.work.operations().connect, self.connecting, at);
        }
        self.work.lost(cx, at, why);
        // If connects fail, they are retried with back-off.
        if was == State::Unsent { Reconnect::Later } else { Reconnect::OnDemand }
    }
}
