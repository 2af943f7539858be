//! One connection's conversation, as the reactor sees it: bytes in, bytes out, and whose turn it is.
//!
//! The reactor owns sockets, TLS and time; a session owns a protocol and a workload. Neither knows the other's inside,
//! so a session is tested with byte strings, and the reactor with an echo.

use std::os::fd::RawFd;

use crate::clock::Nanos;
use crate::error::Failure;
use crate::record::{Operation, Recorder};

/// What a session wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAction {
    /// Something was asked of the peer, or the handshake goes on: call `received` when bytes arrive.
    Reply,
    /// Nothing is in progress: call `begin` when the pacer says the next transaction is due.
    Idle,
    /// Of several transactions at once some are in progress, and more can be begun: call `begin` now if any may be. Only in a
    /// closed loop.
    CanStartMore,
    /// It waits by its own choice, in the middle of a transaction: call `resume` at this instant.
    Pause(Nanos),
    /// It waits for something outside of the conversation: call `resume` when this descriptor can be read. It stays open
    /// until then, or until the connection is lost.
    AwaitReadable(RawFd),
    /// The peer agreed to TLS, or knows of it without being asked: make it, then call `secured`.
    StartTls,
    /// The transaction that was begun needs a connection of its own, or has none: make one in the place of what there is, then
    /// call `resume`. Only within a transaction: the time it takes is the transaction's.
    Connect,
    /// The conversation is over: flush and close.
    Close,
}

/// How far a session got with what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes of the input that are done with; the rest is offered again, with more behind it.
    pub consumed: usize,
    pub action: NextAction,
}

/// When to connect again after a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconnect {
    /// After the usual back-off.
    Later,
    /// At once: the peer wants to be spoken to in another way (with or without TLS), and the session will.
    Now,
    /// When a transaction wants it (`NextAction::Connect`): until then the client continues as if it had one.
    OnDemand,
}

/// What a session may use while it works.
pub struct Context<'a> {
    pub recorder: &'a mut Recorder,
}

/// One connection's conversation. Everything to be sent is appended to `out`; the reactor writes it at once.
pub trait Session {
    /// Several transactions are in progress at once, each begun at its own time: the session knows which of them takes too long.
    const MULTIPLEXED: bool = false;

    /// The transport is connected.
    fn opened(&mut self, out: &mut Vec<u8>) -> NextAction;

    /// TLS is up; `server_end_point` is the hash for `tls-server-end-point` channel binding (RFC 5929), empty if none.
    fn secured(&mut self, server_end_point: &[u8], out: &mut Vec<u8>) -> NextAction;

    /// Bytes arrived at `at`. Called once per read; handles as many whole messages as there are.
    /// An error means that this connection is of no more use: the reactor calls `lost` and closes it.
    fn received(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, Failure>;

    /// The next transaction, which should have started at `intended` and is started at `at` (>= `intended`).
    /// Only called when it wants a `NextAction::Idle`; wants one again when the transaction was done without asking anything.
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction;

    /// The pause it wanted, or what it waited for, is over; the connection it wanted is there. Not called when the connection
    /// was lost meanwhile.
    fn resume(&mut self, _cx: &mut Context<'_>, _at: Nanos, _out: &mut Vec<u8>) -> NextAction {
        NextAction::Reply
    }

    /// How long its client, free since `free`, rests before its next transaction by its own choice (a person who thinks and
    /// types). Called once for each transaction, before it is begun.
    fn think_time(&mut self, _free: Nanos) -> Nanos {
        0
    }

    /// The peer has closed the connection within a transaction: what to do next where that is the end of its answer; none where
    /// it is a loss.
    fn closed(&mut self, _cx: &mut Context<'_>, _at: Nanos, _out: &mut Vec<u8>) -> Option<NextAction> {
        None
    }

    /// Of several transactions at once, those that were begun at `limit` or before have failed: they took too long, as `why` says.
    /// What it wants now, and when the oldest of the others was begun.
    fn expire_requests(
        &mut self,
        _cx: &mut Context<'_>,
        _at: Nanos,
        _limit: Nanos,
        _why: &Failure,
        _out: &mut Vec<u8>,
    ) -> (NextAction, Option<Nanos>) {
        (NextAction::Reply, None)
    }

    /// The code of a failure for an error of the operating system, where these sessions have a name of their own for it.
    fn error_code(_errno: i32) -> Option<&'static str> {
        None
    }

    /// The connection is gone (or given up, or could not be made): what was in progress has failed. The session starts
    /// afresh at `opened`; the answer says when.
    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Reconnect;

    /// A polite last word, when the load is over and nothing is in progress.
    fn goodbye(&mut self, out: &mut Vec<u8>);
}

/// Makes the sessions of one load; shared by all threads.
pub trait SessionFactory: Send + Sync {
    type Session: Session;

    /// What the sessions count and time. An `OpId` is an index into this list; number 0 is the transaction.
    fn operations(&self) -> &[Operation];

    /// A session for client number `client` (0..clients), with its own stream of random numbers.
    fn session(&self, client: u32) -> Self::Session;

    /// What a reader of the figures must know, when the load is over.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// A remark by its name, with the figures that belong to it.
pub type Remark = (&'static str, serde_json::Value);
