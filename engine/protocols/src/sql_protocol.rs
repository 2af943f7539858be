//! Client protocol of an SQL database, as sessions and loaders use it.
//!
//! Sans-I/O. The trait hides the differences between databases. Transactions, failures and recording are
//! above it.

use std::sync::Arc;

use super::Config;
use loadcell_core::error::Failure;
use loadcell_core::session::Reconnect;
use loadcell_core::target::Dialect;

/// Protocol violation, with its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self { code: "protocol".into(), message: malformed.0 }
    }
}

/// Next step of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// Establish TLS, then call `secured`.
    Secure,
    /// The server accepts queries.
    Ready,
}

/// Column names of the rows that follow.
pub type Names<'a> = std::vec::IntoIter<&'a [u8]>;

/// Columns of a row as text; `None` for NULL.
pub trait Columns<'a>: Iterator<Item = Option<&'a [u8]>> {
    /// Check that the row was well-formed, including columns that were not read.
    fn end(self) -> Result<(), Malformed>;
}

/// Class of a completed statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// It may have changed rows: INSERT, UPDATE, DELETE and the like.
    Change,
    Rollback,
    Other,
}

/// One message of the server.
#[derive(Debug)]
pub enum Message<'a, C> {
    /// Part of a response that was not requested, or a notice.
    Nothing,
    /// Column names, if the response is read.
    Names(Names<'a>),
    /// A row, if the response is read.
    Row(C),
    Event(Event),
}

/// A message that changes the state of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server waits for rows to load.
    Send,
    /// A statement completed, with the rows returned, matched or changed; `changed` counts those modified.
    Completed { rows: u64, changed: u64, kind: StatementKind },
    /// An error. The response continues to its end; a fatal error ends the connection.
    Refused { why: Failure, fatal: bool },
    /// The response is complete; `open`: a transaction block is open.
    Ready { open: bool },
}

/// A message and the bytes consumed; `None` when more input is needed.
pub type Next<'a, C> = Option<(usize, Message<'a, C>)>;

/// Request that cancels the statement of another connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Cancel {
    /// The only message of a new connection, instead of a handshake.
    Message(Vec<u8>),
    /// A statement to execute.
    Query(String),
}

/// Protocol of one connection; owned by its session and reused for every reconnection.
pub trait SqlProtocol: Sized + Send {
    type Columns<'a>: Columns<'a>
    where
        Self: 'a;

    /// SQL dialect of the server.
    const DIALECT: Dialect;

    /// Message that announces an orderly end of the connection.
    const GOODBYE: &'static [u8];

    fn new(config: Arc<Config>) -> Self;

    /// The transport is connected.
    fn opened(&mut self, out: &mut Vec<u8>);

    /// TLS is established; `server_end_point` is for channel binding.
    fn secured(&mut self, server_end_point: &[u8], out: &mut Vec<u8>);

    /// Process bytes of the handshake. Returns the bytes consumed and the next step.
    fn open(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress), Failure>;

    /// The connection failed.
    fn lost(&mut self, why: &Failure) -> Reconnect;

    /// Send the requests that prepare statements (the concatenated `Statement::parse`), and other
    /// per-connection setup.
    fn prepare(&mut self, parse: &[u8], out: &mut Vec<u8>);

    /// Append a statement as text; announce it with `announce`.
    fn query(out: &mut Vec<u8>, sql: &str);

    /// Announce `request`, which is about to be sent, and complete it. `wants_rows`: names and rows of its
    /// response are wanted.
    fn announce(&mut self, request: &mut [u8], wants_rows: bool);

    /// Decode the next message. Returns it with the bytes consumed; `None` when more input is needed.
    fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<Next<'a, Self::Columns<'a>>, Failure>;

    /// Append rows, written by `fill` in COPY's text format, when the server waits for them; rows may be
    /// split anywhere.
    fn rows(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>));

    /// End the rows.
    fn rows_end(&mut self, out: &mut Vec<u8>);

    /// Request that cancels the current statement.
    fn cancel(&self) -> Cancel;
}
