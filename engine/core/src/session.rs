//! One connection's conversation, as the reactor sees it: bytes in, bytes out, and the next action.
//!
//! The reactor owns sockets, TLS and time; a session owns a protocol and a workload. Neither knows the
//! other's inside, so a session is tested with byte strings, and the reactor with an echo.

use std::os::fd::RawFd;

use crate::clock::Nanos;
use crate::error::Failure;
use crate::record::{Operation, Recorder};

/// Next action that a session asks of the reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAction {
    /// A reply is expected, to a request or within the handshake: call `received` when bytes arrive.
    Reply,
    /// Nothing is in progress: call `begin` when the pacer says the next transaction is due.
    Idle,
    /// Some transactions are in progress and more can start: call `begin` now if any may. Only in a closed
    /// loop.
    CanStartMore,
    /// The session pauses within a transaction: call `resume` at this instant.
    Pause(Nanos),
    /// The session waits for an external event: call `resume` when this descriptor is readable. It stays open
    /// until then, or until the connection is lost.
    AwaitReadable(RawFd),
    /// The peer agreed to TLS, or expects it: perform the TLS handshake, then call `secured`.
    StartTls,
    /// The current transaction needs a new connection: replace the present one, if any, then call `resume`.
    /// Only within a transaction, whose time includes that of connecting.
    Connect,
}

/// Result of processing input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes consumed; the remaining ones are offered again, followed by new ones.
    pub consumed: usize,
    pub action: NextAction,
}

/// When to connect again after a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconnect {
    /// After the usual back-off.
    Later,
    /// At once: the session will use another variant of the protocol (with or without TLS).
    Now,
    /// When a transaction asks for it (`NextAction::Connect`): until then the client continues as if
    /// connected.
    OnDemand,
}

/// Thread state available to a session.
pub struct Context<'a> {
    pub recorder: &'a mut Recorder,
}

/// One connection's conversation. Everything to be sent is appended to `out`; the reactor writes it at once.
pub trait Session {
    /// True if several transactions are in progress at once: then the session itself knows their start times.
    const MULTIPLEXED: bool = false;

    /// The transport is connected.
    fn opened(&mut self, out: &mut Vec<u8>) -> NextAction;

    /// TLS is up; `server_end_point` is the hash for `tls-server-end-point` channel binding (RFC 5929), empty
    /// if none.
    fn secured(&mut self, server_end_point: &[u8], out: &mut Vec<u8>) -> NextAction;

    /// Bytes arrived at `at`. Called once per read; handles as many whole messages as there are.
    /// After an error the reactor calls `lost` and closes the connection.
    fn received(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, Failure>;

    /// The next transaction, which should have started at `intended` and is started at `at` (>= `intended`).
    /// Called only after `NextAction::Idle`; returns it again if the transaction completed without a request.
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction;

    /// The pause is over, the awaited descriptor is readable, or the new connection is ready. Not called if
    /// the connection was lost meanwhile.
    fn resume(&mut self, _cx: &mut Context<'_>, _at: Nanos, _out: &mut Vec<u8>) -> NextAction {
        NextAction::Reply
    }

    /// Think time of the client, idle since `free`, before its next transaction. Called once per transaction,
    /// before it starts.
    fn think_time(&mut self, _free: Nanos) -> Nanos {
        0
    }

    /// Start of the request that the time limit of the load applies to, where it is a part of the
    /// transaction; the end of time while no reply is awaited. By default the limit applies to the
    /// transaction.
    fn timed_since(&self) -> Option<Nanos> {
        None
    }

    /// The peer has closed the connection within a transaction. Returns the next action if that ends its
    /// answer; none if it is a loss.
    fn closed(&mut self, _cx: &mut Context<'_>, _at: Nanos, _out: &mut Vec<u8>) -> Option<NextAction> {
        None
    }

    /// Fails every request started at or before `limit`, with the error `why`. Returns the next action and
    /// the start time of the oldest remaining request.
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

    /// Error code of these sessions for an error number of the operating system; none for the general one.
    fn error_code(_errno: i32) -> Option<&'static str> {
        None
    }

    /// The connection is lost, abandoned, or could not be made: transactions in progress have failed. The
    /// session restarts at `opened`. Returns when to reconnect.
    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Reconnect;

    /// Writes the protocol's closing message, at the end of the load, when nothing is in progress. None by
    /// default: closing the connection is the orderly end.
    fn goodbye(&mut self, _out: &mut Vec<u8>) {}
}

/// Factory of the sessions of one load; shared by all threads.
pub trait SessionFactory: Send + Sync {
    type Session: Session;

    /// Operations that the sessions count and time. An `OpId` is an index into this list; number 0 is the
    /// transaction.
    fn operations(&self) -> &[Operation];

    /// A session for client number `client` (0..clients), with its own stream of random numbers.
    fn session(&self, client: u32) -> Self::Session;

    /// Remarks on the results, once the load is over.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// Name of a remark, with its values.
pub type Remark = (&'static str, serde_json::Value);
