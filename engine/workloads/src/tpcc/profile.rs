//! Common interface of the five transaction types.

use super::sql::Sql;
use super::terminal::Input;
use crate::sql::Next;
use loadcell_core::error::Failure;

/// A transaction type: its input, and the progress of its statements.
pub trait Profile {
    /// Draw the input of a new transaction, and reset to its start.
    fn draw(&mut self, input: &mut Input<'_>);

    /// Reset to the start with the same input.
    fn again(&mut self);

    /// Append the next statement.
    fn next(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next;

    /// A row of the last statement's response, if requested.
    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>);

    /// Number of rows returned or changed by the last statement, if requested.
    fn completed(&mut self, _rows: u64) {}
}

/// Failure when a required row is missing: the data is not as loaded.
#[cold]
pub fn missing(description: &str) -> Next {
    fail("no-row", format!("the database has no {description}: it is not as it was loaded"))
}

/// Failure when a response has unexpected contents.
#[cold]
pub fn unexpected(description: &str) -> Next {
    fail("unexpected-answer", format!("what the database has as {description} was not understood"))
}

fn fail(code: &str, message: String) -> Next {
    Next::Fail(Box::new(Failure { code: code.into(), message }))
}
