//! Session with concurrent requests on an HTTP/2 connection.
//!
//! When a request completes, the next one starts: as many as planned are in progress, or as many as the
//! server accepts if that is fewer. A connection that accepts no more is replaced once its requests are
//! complete; requests that the server refused to process are repeated on the next one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::client::Client;
use super::exchange::{Exchange, Operations, State};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::session::{Context, NextAction, Reconnect, Session, Step};
use loadcell_protocols::http::{Http, ResponseEvent};
use loadcell_protocols::http2::Http2;

/// Code of the remark that the server accepts fewer concurrent requests than planned.
pub const FEWER: &str = "streams";

pub struct StreamsSession {
    http: Http2,
    client: Client,
    operations: Operations,
    /// One per concurrent request, and the numbers of the idle ones.
    exchanges: Vec<Exchange>,
    free: Vec<u32>,
    /// Requests that wait for a connection, in order, and the start of the connect.
    unsent: VecDeque<u32>,
    connecting: Option<Nanos>,
    /// The server's latest limit of concurrent requests; the minimum over all sessions.
    limit: usize,
    fewest: Arc<AtomicUsize>,
    /// The connection accepts requests.
    usable: bool,
}

impl StreamsSession {
    pub fn new(client: Client, operations: Operations, fewest: Arc<AtomicUsize>) -> Self {
        let streams = client.plan.streams;
        Self {
            http: Http2::new(client.plan.os),
            operations,
            exchanges: (0..streams).map(|_| Exchange::new(&client.plan, operations)).collect(),
            client,
            free: (0..streams).rev().collect(),
            unsent: VecDeque::new(),
            connecting: None,
            limit: 1,
            fewest,
            usable: false,
        }
    }

    #[inline]
    fn in_progress(&self) -> usize {
        self.exchanges.len() - self.free.len()
    }

    /// Number of requests that can be started.
    #[inline]
    fn capacity(&self) -> usize {
        self.exchanges.len().min(self.limit).saturating_sub(self.in_progress())
    }

    fn begin_request(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) {
        let Some(number) = self.free.pop() else { return };
        self.exchanges[number as usize].begin(cx, &mut self.client, intended, at);
        if self.usable {
            self.send(cx, number, at, out);
        } else {
            self.unsent.push_back(number);
        }
    }

    #[inline]
    fn send(&mut self, cx: &mut Context<'_>, number: u32, at: Nanos, out: &mut Vec<u8>) {
        let exchange = &mut self.exchanges[number as usize];
        self.http.ask(&exchange.made.request(&self.client.plan, exchange.kind), number, out);
        exchange.sent(cx, at);
    }

    fn connect(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextAction {
        self.connecting = Some(at);
        cx.recorder.start(self.operations.connect, at);
        NextAction::Connect
    }

    #[cold]
    fn fail(&mut self, cx: &mut Context<'_>, number: u32, at: Nanos, why: &Failure) {
        self.exchanges[number as usize].failed(cx, at, why);
        self.free.push(number);
    }

    /// The server has not processed a request.
    #[cold]
    fn refused(&mut self, cx: &mut Context<'_>, number: u32, at: Nanos) {
        if self.exchanges[number as usize].refused(cx, at) {
            self.unsent.push_front(number); // The last of several is reported first.
        } else {
            let why = self.http.why_closed();
            self.fail(cx, number, at, &why);
        }
    }

    /// Action for the current state.
    #[inline]
    fn action(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextAction {
        self.usable = self.usable && self.http.takes(self.exchanges.len());
        if self.usable
            && let Some(limit) = self.http.taken_at_once()
            && limit != self.limit
        {
            self.on_limit(cx, at, limit);
        }
        let in_progress = self.in_progress();
        if in_progress == 0 {
            NextAction::Idle
        } else if self.connecting.is_some() {
            NextAction::Reply
        } else if in_progress == self.unsent.len() {
            self.connect(cx, at)
        } else if self.usable && self.capacity() > 0 {
            NextAction::CanStartMore
        } else {
            NextAction::Reply
        }
    }

    #[cold]
    fn on_limit(&mut self, cx: &mut Context<'_>, at: Nanos, limit: usize) {
        self.limit = limit;
        let wanted = self.exchanges.len();
        if limit < wanted {
            let message = format!(
                "the server takes {limit} requests at once on a connection: fewer than `streams: {wanted}`"
            );
            cx.recorder.report_error(at, FEWER, &message);
            self.fewest.fetch_min(limit, Relaxed);
        }
    }

    /// Numbers of the requests in progress for which `condition` holds.
    fn matching(&self, condition: impl Fn(&Exchange) -> bool) -> Vec<u32> {
        let meant = |exchange: &Exchange| exchange.state != State::Over && condition(exchange);
        (0..).zip(&self.exchanges).filter(|(_, exchange)| meant(exchange)).map(|(number, _)| number).collect()
    }
}

impl Session for StreamsSession {
    const MULTIPLEXED: bool = true;

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
        let mut consumed = 0;
        while let Some((size, event)) = self.http.next(&input[consumed..], out)? {
            consumed += size;
            let number = self.http.about();
            let exchange = &mut self.exchanges[number as usize];
            match event {
                ResponseEvent::Nothing => {}
                ResponseEvent::Part => exchange.on_response(cx, at),
                ResponseEvent::Status(status) => {
                    exchange.on_response(cx, at);
                    exchange.status = status;
                }
                ResponseEvent::Body(piece) => {
                    exchange.on_response(cx, at);
                    exchange.piece(&self.client.plan, piece);
                }
                ResponseEvent::End { .. } => {
                    exchange.done(cx, &self.client.plan, at);
                    self.free.push(number);
                }
                ResponseEvent::Reset(code) => self.fail(cx, number, at, &code.reset()),
                ResponseEvent::Refused => self.refused(cx, number, at),
                ResponseEvent::Leaving => self.usable = false,
            }
        }
        Ok(Step { consumed, action: self.action(cx, at) })
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        let most = self.capacity().max(1); // If the server accepts none, one request waits.
        for _ in 0..cx.recorder.reserve(most as u64) {
            self.begin_request(cx, intended, at, out);
        }
        if self.usable { NextAction::Reply } else { self.connect(cx, at) }
    }

    fn resume(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        if let Some(since) = self.connecting.take() {
            cx.recorder.succeed(self.operations.connect, since, since, at);
        }
        while let Some(number) = self.unsent.pop_front() {
            self.send(cx, number, at, out);
        }
        self.action(cx, at)
    }

    fn expire_requests(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        limit: Nanos,
        why: &Failure,
        out: &mut Vec<u8>,
    ) -> (NextAction, Option<Nanos>) {
        for number in self.matching(|exchange| exchange.begun <= limit) {
            self.http.cancel(number, out);
            self.unsent.retain(|&unsent| unsent != number);
            self.fail(cx, number, at, why);
        }
        let begun = self.matching(|_| true).into_iter().map(|number| self.exchanges[number as usize].begun);
        let oldest = begun.min();
        (self.action(cx, at), oldest)
    }

    /// Requests already started fail; the others are repeated.
    fn closed(&mut self, cx: &mut Context<'_>, at: Nanos, _: &mut Vec<u8>) -> Option<NextAction> {
        self.usable = false;
        for number in self.matching(|exchange| exchange.state != State::Unsent) {
            let why = self.http.unanswered(number);
            self.fail(cx, number, at, &why);
        }
        Some(self.action(cx, at))
    }

    fn error_code(errno: i32) -> Option<&'static str> {
        super::error_code(errno)
    }

    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Reconnect {
        self.usable = false;
        self.unsent.clear();
        for number in self.matching(|_| true) {
            self.fail(cx, number, at, why);
        }
        // If connects fail, they are retried with back-off.
        let Some(since) = self.connecting.take() else { return Reconnect::OnDemand };
        cx.recorder.fail_without_error(self.operations.connect, since, at);
        Reconnect::Later
    }
}
