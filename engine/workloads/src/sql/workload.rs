//! A workload over SQL: the transactions of its clients, statement by statement.

use std::os::fd::RawFd;

use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{Kind, OpId, Operation};

/// A request that was put into the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentRequest {
    pub op: OpId,
    pub kind: Kind,
    /// How many statements it is made of: more than one when they are sent, and answered, together.
    pub statements: u32,
    /// Whether the client wants to hear the answer: `columns`, `row` and `completed` are called for no other.
    pub wants_rows: bool,
}

impl SentRequest {
    /// One statement whose answer matters only in that it comes.
    pub const fn new(op: OpId, kind: Kind) -> Self {
        Self { op, kind, statements: 1, wants_rows: false }
    }

    /// The same, but the client wants to hear the answer.
    pub const fn with_rows(self) -> Self {
        Self { wants_rows: true, ..self }
    }

    /// The same, but as so many statements at once.
    pub const fn times(self, statements: u32) -> Self {
        Self { statements, ..self }
    }
}

/// What comes next in a transaction.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A request was appended to the output.
    Ask(SentRequest),
    /// Nothing: it is done, with success; and the operation of its outcome, where some are counted apart.
    Done(Option<OpId>),
    /// Nothing for so long: it waits by its own choice, within the transaction; nothing was appended.
    Pause(Nanos),
    /// Nothing until this descriptor can be read: it waits for something outside of the conversation, which counts as an
    /// operation of its own; nothing was appended. [`Transactions::returned`] tells how that went.
    Until(RawFd, OpId),
    /// It cannot go on, for a reason that is not the server's; nothing was appended. What it did is rolled back.
    Fail(Box<Failure>),
}

/// One client's transactions over SQL, statement by statement. Each request is whole: with PostgreSQL, it ends with what
/// makes the server answer `ReadyForQuery`.
pub trait Transactions {
    /// What makes prepared statements known to a new connection: `Statement::parse` of each, in order; may be empty. (With
    /// MySQL's protocol it may hold whole requests, too, for what else is to be done once a connection.)
    fn parse(&self) -> &[u8];

    /// How long the client rests before its next transaction, by its own choice; `elapsed` is the time since the start of
    /// its last one, if it had one. Called once for each transaction, before `begin`.
    fn think_time(&mut self, _elapsed: Option<Nanos>) -> Nanos {
        0
    }

    /// Chooses the next transaction; the operation of its type, where transactions are counted by type, too.
    fn begin(&mut self) -> Option<OpId>;

    /// Goes back to the start of the chosen transaction, with the same random numbers.
    fn again(&mut self);

    /// What it waited for outside of the conversation is over: whether it went well.
    fn returned(&mut self) -> Result<(), Box<Failure>> {
        Ok(())
    }

    /// Appends the next request. Called when the last one was answered without an error, and after a pause.
    fn next(&mut self, out: &mut Vec<u8>) -> Next;

    /// The names of the columns of the rows that follow, where the request asked for them.
    fn columns<'r>(&mut self, _names: &mut impl Iterator<Item = &'r [u8]>) {}

    /// A row of the answer to a request that is `with_rows`: the text of each column, none for NULL.
    fn row<'r>(&mut self, _columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {}

    /// A statement of a request that is `with_rows` is complete: how many rows it gave or changed.
    fn completed(&mut self, _rows: u64) {}
}

/// What a workload's clients share.
pub trait Workload: Send + Sync {
    type Client: Transactions + Send;

    /// The transaction first.
    fn operations(&self) -> &[Operation];

    /// Client number `client`, with its own random numbers.
    fn client(&self, client: u32) -> Self::Client;
}
