//! Interface of SQL workloads: the transactions of their clients, statement by statement.

use std::os::fd::RawFd;

use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{Kind, OpId, Operation};

/// A request appended to the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentRequest {
    pub op: OpId,
    pub kind: Kind,
    /// Number of statements, which are sent and answered together.
    pub statements: u32,
    /// The client reads the response: `columns`, `row` and `completed` are called for no other.
    pub wants_rows: bool,
}

impl SentRequest {
    /// One statement whose response is not read.
    pub const fn new(op: OpId, kind: Kind) -> Self {
        Self { op, kind, statements: 1, wants_rows: false }
    }

    /// The same, but the response is read.
    pub const fn with_rows(self) -> Self {
        Self { wants_rows: true, ..self }
    }

    /// The same with `statements` statements at once.
    pub const fn times(self, statements: u32) -> Self {
        Self { statements, ..self }
    }
}

/// Next step of a transaction.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A request was appended to the output.
    Ask(SentRequest),
    /// The transaction succeeded; with the operation of its outcome, if it has one. Nothing was appended.
    Done(Option<OpId>),
    /// Sleep within the transaction. Nothing was appended.
    Pause(Nanos),
    /// Wait until this descriptor is readable: an external wait, recorded as the given operation. Nothing was
    /// appended. [`Transactions::returned`] returns its result.
    Until(RawFd, OpId),
    /// The transaction fails on the client's side and is rolled back. Nothing was appended.
    Fail(Box<Failure>),
}

/// Transactions of one client over SQL, statement by statement. Each request is complete: with PostgreSQL, it
/// ends with a message that the server answers with `ReadyForQuery`.
pub trait Transactions {
    /// Requests that prepare the statements on a new connection: the concatenated `Statement::parse`, in
    /// order; may be empty. (With MySQL's protocol it may contain further requests for per-connection setup.)
    fn parse(&self) -> &[u8];

    /// Think time before the next transaction; `elapsed` is the time since the start of the previous one.
    /// Called once per transaction, before `begin`.
    fn think_time(&mut self, _elapsed: Option<Nanos>) -> Nanos {
        0
    }

    /// Choose the next transaction. Returns the operation of its type, if types are recorded.
    fn begin(&mut self) -> Option<OpId>;

    /// Restart the chosen transaction with the same random numbers.
    fn again(&mut self);

    /// Result of the external wait.
    fn returned(&mut self) -> Result<(), Box<Failure>> {
        Ok(())
    }

    /// Append the next request. Called after a successful response, and after a pause.
    fn next(&mut self, out: &mut Vec<u8>) -> Next;

    /// Column names of the following rows, if requested.
    fn columns<'r>(&mut self, _names: &mut impl Iterator<Item = &'r [u8]>) {}

    /// A row of a requested response: the text of each column, `None` for NULL.
    fn row<'r>(&mut self, _columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {}

    /// A statement of a requested response is complete, with the rows returned or changed.
    fn completed(&mut self, _rows: u64) {}
}

/// Shared state of a workload's clients.
pub trait Workload: Send + Sync {
    type Client: Transactions + Send;

    /// The transaction first.
    fn operations(&self) -> &[Operation];

    /// Client number `client`, with its own random numbers.
    fn client(&self, client: u32) -> Self::Client;
}
