//! Connection of a data load: set up for loading, and replaced when the server rolls back its transaction.
//!
//! Every statement is one transaction, so repeating the statement repeats the transaction.

use serde_json::json;

use super::retry;
use super::sql_connection::{ConnectOptions, SqlConnection};
use loadcell_core::error::{LoadError, LoadStep};
use loadcell_core::target::Dialect;
use loadcell_protocols::SqlProtocol;

/// With `synchronous_commit = off`, VACUUM directly after loading would see commits that are not flushed yet,
/// and could not mark pages as all-visible; the subsequent load would pay for that.
const FLUSH_COMMITS: &str = "SET synchronous_commit = local";

/// Skip uniqueness and foreign key checks, as MySQL's own dumps do: generated rows satisfy both.
const TRUST_ROWS: &str = "SET SESSION unique_checks = 0, foreign_key_checks = 0";

/// First statement on each connection.
fn first(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => FLUSH_COMMITS,
        Dialect::Mysql => TRUST_ROWS,
    }
}

pub struct LoadingConnection<'a, P: SqlProtocol> {
    options: &'a ConnectOptions,
    connection: SqlConnection<'a, P>,
}

impl<'a, P: SqlProtocol> LoadingConnection<'a, P> {
    pub fn connect(options: &'a ConnectOptions) -> Result<Self, LoadError> {
        Ok(Self { options, connection: Self::prepared(options)? })
    }

    fn prepared(options: &'a ConnectOptions) -> Result<SqlConnection<'a, P>, LoadError> {
        let mut connection = SqlConnection::connect(options)?;
        connection.query(first(P::DIALECT), &LoadStep::new("engine.prepare-connection", json!({})))?;
        Ok(connection)
    }

    /// Run one statement. Returns the first value of its first row. `step` is that of its error.
    pub fn query(&mut self, sql: &str, step: &LoadStep) -> Result<Option<String>, LoadError> {
        self.transaction(|connection| connection.query(sql, step))
    }

    /// Run one transaction, which is repeated if the server rolls it back because of another one.
    pub fn transaction<T>(
        &mut self,
        mut work: impl FnMut(&mut SqlConnection<'a, P>) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        let Self { options, connection } = self;
        let mut rollback = String::new();
        let attempt = |earlier| {
            if earlier > 0 {
                *connection = Self::prepared(options).map_err(|error| error.after_rollback(&rollback))?;
            }
            // The connection may be in the middle of sending rows: a new one needs no recovery of its state.
            work(connection).inspect_err(|error| {
                connection.close();
                rollback.clone_from(&error.message);
            })
        };
        retry::repeat(attempt, |pause| retry::sleep(pause, &options.stop))
    }
}
