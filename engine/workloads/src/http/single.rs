//! Transactions of one request each.

use super::client::Client;
use super::exchange::{Exchange, Operations, State};
use super::session::{NextStep, Work};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::session::Context;
use loadcell_protocols::http::{Limits, Request, WatchedFields};

pub struct SingleRequests {
    client: Client,
    operations: Operations,
    exchange: Exchange,
}

impl SingleRequests {
    pub fn new(client: Client, operations: Operations) -> Self {
        Self { exchange: Exchange::new(&client.plan, operations), operations, client }
    }
}

impl Work for SingleRequests {
    fn os(&self) -> Limits {
        self.client.plan.os
    }

    #[inline]
    fn tls(&self) -> bool {
        self.client.plan.tls
    }

    #[inline]
    fn keep_alive(&self) -> bool {
        self.client.plan.keep_alive
    }

    #[inline]
    fn operations(&self) -> Operations {
        self.operations
    }

    #[inline]
    fn state(&self) -> State {
        self.exchange.state
    }

    #[inline]
    fn request(&self) -> Request<'_> {
        self.exchange.made.request(&self.client.plan, self.exchange.kind)
    }

    #[inline(always)]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos) -> NextStep {
        self.exchange.begin(cx, &mut self.client, intended, at);
        NextStep::Send
    }

    #[inline(always)]
    fn sent(&mut self, cx: &mut Context<'_>, at: Nanos) {
        self.exchange.sent(cx, at);
    }

    #[inline]
    fn on_response(&mut self, cx: &mut Context<'_>, at: Nanos) {
        self.exchange.on_response(cx, at);
    }

    #[inline]
    fn on_status(&mut self, status: u16, _: &WatchedFields, _: Nanos) {
        self.exchange.status = status;
    }

    #[inline]
    fn piece(&mut self, piece: &[u8]) {
        self.exchange.piece(&self.client.plan, piece);
    }

    #[inline(always)]
    fn done(&mut self, cx: &mut Context<'_>, at: Nanos) -> NextStep {
        self.exchange.done(cx, &self.client.plan, at);
        NextStep::Over
    }

    #[cold]
    fn failed(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> NextStep {
        self.exchange.failed(cx, at, why);
        NextStep::Over
    }

    #[cold]
    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) {
        self.exchange.failed(cx, at, why);
    }

    #[cold]
    fn refused(&mut self, cx: &mut Context<'_>, at: Nanos) -> bool {
        self.exchange.refused(cx, at)
    }
}
