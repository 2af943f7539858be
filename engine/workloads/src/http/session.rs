//! Session with sequential requests on a connection.
//!
//! A connection that cannot carry another request (closed by the server, failed, or without keep-alive) is
//! replaced when the next request starts, within its response time. A request that the server refused to
//! process, as after GOAWAY, is repeated on another connection, also within its response time.

use super::client::Client;
use super::exchange::{Exchange, Operations, State};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::session::{Context, NextAction, Reconnect, Session, Step};
use loadcell_protocols::http::{Http, ResponseEvent};

pub struct HttpSession<H> {
    http: H,
    client: Client,
    operations: Operations,
    exchange: Exchange,
    /// The connection can carry a request.
    usable: bool,
    /// Start of the connect for the current request.
    connecting: Nanos,
    /// Set when the response is complete: whether the connection can be reused.
    ended: Option<bool>,
    /// Reason of the protocol for the end of the connection.
    why: Option<Failure>,
}

impl<H: Http> HttpSession<H> {
    pub fn new(client: Client, operations: Operations) -> Self {
        Self {
            http: H::new(client.plan.os),
            operations,
            exchange: Exchange::new(&client.plan, operations),
            client,
            usable: false,
            connecting: 0,
            ended: None,
            why: None,
        }
    }

    #[inline]
    fn send(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) {
        self.http.request(&self.exchange.made.request(&self.client.plan, self.exchange.kind), out);
        self.exchange.sent(cx, at);
    }

    fn connect(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextAction {
        self.usable = false;
        self.connecting = at;
        cx.recorder.start(self.operations.connect, at);
        NextAction::Connect
    }

    /// The server has not processed the request: repeat it on another connection, up to the limit.
    #[cold]
    fn refused(&mut self, cx: &mut Context<'_>, at: Nanos) -> Result<NextAction, Failure> {
        if !self.exchange.refused(cx, at) {
            self.http.closed()?;
        }
        Ok(self.connect(cx, at))
    }
}

impl<H: Http> Session for HttpSession<H> {
    fn opened(&mut self, out: &mut Vec<u8>) -> NextAction {
        if self.client.plan.tls { NextAction::StartTls } else { self.secured(&[], out) }
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
                ResponseEvent::Part => self.exchange.on_response(cx, at),
                ResponseEvent::Refused => return Ok(Step { consumed, action: self.refused(cx, at)? }),
                ResponseEvent::Leaving => match &mut self.ended {
                    Some(again) => *again = false,
                    None => self.usable = false,
                },
                ResponseEvent::Status(status) => {
                    self.exchange.on_response(cx, at);
                    self.exchange.status = status;
                }
                ResponseEvent::Body(piece) => {
                    self.exchange.on_response(cx, at);
                    self.exchange.piece(&self.client.plan, piece);
                }
                ResponseEvent::Reset(code) => (self.ended, reset) = (Some(true), Some(code)),
                ResponseEvent::End { again } => self.ended = Some(again),
            }
        }
        // Only once all input is processed: surplus bytes after a response fail it.
        let action = match self.ended.take() {
            Some(again) => {
                self.usable = again;
                match reset {
                    None => self.exchange.done(cx, &self.client.plan, at),
                    Some(code) => self.exchange.failed(cx, at, &code.reset()),
                }
                NextAction::Idle
            }
            None => NextAction::Reply,
        };
        Ok(Step { consumed, action })
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        debug_assert_eq!(self.exchange.state, State::Over, "one request at a time");
        self.exchange.begin(cx, &mut self.client, intended, at);
        if self.usable && self.client.plan.keep_alive {
            self.send(cx, at, out);
            return NextAction::Reply;
        }
        self.connect(cx, at)
    }

    fn resume(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        cx.recorder.succeed(self.operations.connect, self.connecting, self.connecting, at);
        self.send(cx, at, out);
        NextAction::Reply
    }

    fn closed(&mut self, cx: &mut Context<'_>, at: Nanos, _: &mut Vec<u8>) -> Option<NextAction> {
        self.usable = false;
        match self.http.closed() {
            Ok(()) => {
                self.exchange.done(cx, &self.client.plan, at);
                Some(NextAction::Idle)
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
        let was = self.exchange.state;
        if was == State::Over {
            return Reconnect::OnDemand;
        }
        if was == State::Unsent {
            cx.recorder.fail_without_error(self.operations.connect, self.connecting, at);
        }
        self.exchange.failed(cx, at, why);
        // If connects fail, they are retried with back-off.
        if was == State::Unsent { Reconnect::Later } else { Reconnect::OnDemand }
    }
}
