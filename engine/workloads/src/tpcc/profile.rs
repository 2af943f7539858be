//! What the five types of transaction have in common.

use super::sql::Sql;
use super::terminal::Input;
use crate::sql::Next;
use loadcell_core::error::Failure;

/// One type of transaction: its input, and how far its statements have got.
pub trait Profile {
    /// Draws the input of a new transaction, and stands at its start.
    fn draw(&mut self, input: &mut Input<'_>);

    /// Back to the start, with the same input.
    fn again(&mut self);

    /// Appends the next statement.
    fn next(&mut self, sql: &Sql, out: &mut Vec<u8>) -> Next;

    /// A row of the answer to the last statement, if that was to be heard.
    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>);

    /// How many rows the last statement gave or changed, if it was to be heard.
    fn completed(&mut self, rows: u64);
}

/// A row that must be there is not: the data are not what they should be.
#[cold]
pub fn missing(what: &str) -> Next {
    fail("no-row", format!("the database has no {what}: it is not as it was loaded"))
}

/// The server's answer holds something else than it should.
#[cold]
pub fn unexpected(what: &str) -> Next {
    fail("unexpected-answer", format!("what the database has as {what} was not understood"))
}

fn fail(code: &str, message: String) -> Next {
    Next::Fail(Box::new(Failure { code: code.into(), message }))
}
