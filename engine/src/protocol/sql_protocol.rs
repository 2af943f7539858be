//! One connection of an SQL database, as sessions and loaders see it: what is asked, and what the server says.
//!
//! Sans-I/O: bytes in, bytes out. What differs between databases is behind this trait; what a transaction is, when it has
//! failed and what is recorded of it is not.

use std::sync::Arc;

use super::{Config, Dialect};
use crate::session::{Failure, Reconnect};

/// Bytes that are not the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self { code: "protocol".into(), message: malformed.0 }
    }
}

/// What comes next while a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes must arrive.
    More,
    /// TLS must be made, then `secured` called.
    Secure,
    /// The server takes queries.
    Ready,
}

/// The names of the columns of rows that follow.
pub type Names<'a> = std::vec::IntoIter<&'a [u8]>;

/// The columns of a row as text, none for NULL.
pub trait Columns<'a>: Iterator<Item = Option<&'a [u8]>> {
    /// Whether the row was whole, looked at or not.
    fn end(self) -> Result<(), Malformed>;
}

/// What a completed statement was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// It may have changed rows: INSERT, UPDATE, DELETE and the like.
    Change,
    Rollback,
    Other,
}

/// One thing that the server says.
#[derive(Debug)]
pub enum Said<'a, C> {
    /// A part of an answer that nobody asked to hear, or a remark.
    Nothing,
    /// Names of the columns, where the answer is heard.
    Names(Names<'a>),
    /// A row, where the answer is heard.
    Row(C),
    Event(Event),
}

/// What changes where the conversation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It waits for rows to load.
    Send,
    /// One statement is done, which gave, found or changed so many rows; `changed` are those that are not as they were.
    Completed { rows: u64, changed: u64, what: StatementKind },
    /// No. The answer goes on to its end; a fatal no ends the connection.
    Refused { why: Failure, fatal: bool },
    /// All that was asked is answered; `open` says that a transaction block is open.
    Ready { open: bool },
}

/// A thing that the server says, and how many bytes of the input it took; none when it is not whole yet.
pub type Next<'a, C> = Option<(usize, Said<'a, C>)>;

/// How to have the server end what it does for a connection: on another one.
#[derive(Debug, PartialEq, Eq)]
pub enum Cancel {
    /// The first and only message of a connection, instead of an introduction.
    Message(Vec<u8>),
    /// A statement.
    Query(String),
}

/// One connection's protocol; kept by its session, and used anew for every reconnection.
pub trait SqlProtocol: Sized + Send {
    type Columns<'a>: Columns<'a>
    where
        Self: 'a;

    /// The SQL that is spoken over it.
    const DIALECT: Dialect;

    /// The polite last word.
    const GOODBYE: &'static [u8];

    fn new(config: Arc<Config>) -> Self;

    /// The transport is connected.
    fn opened(&mut self, out: &mut Vec<u8>);

    /// TLS is up; `server_end_point` is for channel binding.
    fn secured(&mut self, server_end_point: &[u8], out: &mut Vec<u8>);

    /// Bytes arrived while the connection is opened: how many of them are done with, and what comes next.
    fn open(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress), Failure>;

    /// The connection could not be opened, or broke.
    fn lost(&mut self, why: &Failure) -> Reconnect;

    /// Sends what makes prepared statements known, `Statement::parse` of each joined, and what else is to be done once a
    /// connection.
    fn prepare(&mut self, parse: &[u8], out: &mut Vec<u8>);

    /// Appends a statement as text; to be told of by `asked`.
    fn query(out: &mut Vec<u8>, sql: &str);

    /// `request` is about to be sent; what is still missing in it is filled in. `heard`: names and rows of its answer are
    /// wanted.
    fn asked(&mut self, request: &mut [u8], heard: bool);

    /// The next thing that the server says, and how many bytes of the input that took; none when it is not whole yet.
    fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<Next<'a, Self::Columns<'a>>, Failure>;

    /// Appends some rows, which `fill` writes in COPY's text format, when the server waits for them; any cut will do.
    fn rows(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>));

    /// No more rows.
    fn rows_end(&mut self, out: &mut Vec<u8>);

    /// How to have the server stop.
    fn cancel(&self) -> Cancel;
}
