//! What to say: each workload decides the operations, their mix and their data.

pub mod pgbench;
pub mod sysbench;

use crate::record::{Kind, OpId, Operation};

/// A statement that was put into the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub op: OpId,
    pub kind: Kind,
}

/// One client's transactions over SQL, statement by statement. Each statement's request ends with the message that makes
/// the server answer `ReadyForQuery`.
pub trait Transactions {
    /// Messages that make prepared statements known to a new connection, without the `Sync` behind them; may be empty.
    fn parse(&self) -> &[u8];

    /// Chooses the next transaction.
    fn begin(&mut self);

    /// Goes back to the start of the chosen transaction, with the same random numbers.
    fn again(&mut self);

    /// Appends the next statement's request; none when the transaction has no more.
    fn next(&mut self, out: &mut Vec<u8>) -> Option<Asked>;
}

/// What a workload's clients share.
pub trait Workload: Send + Sync {
    type Client: Transactions + Send;

    /// The transaction first.
    fn operations(&self) -> &[Operation];

    /// Client number `client`, with its own random numbers.
    fn client(&self, client: u32) -> Self::Client;
}
