//! Fast parallel data loading: creates tables, copies rows over several connections (which share a big
//! table), then builds indexes, vacuums, and adds foreign keys.
//!
//! Blocking, with a thread per connection, on the sans-I/O protocols of the load itself. The data depends
//! only on the data set, not on the number of workers or their timing.

mod inserts;
mod loader;
#[cfg(test)]
mod loader_tests;
mod loading_connection;
mod parallel;
mod retry;
mod sql_connection;

use std::ops::Range;

pub use loader::{Prepared, load};
pub use parallel::{Progress, parallel_for};

/// A table in SQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub create: String,
    /// `COPY ... FROM STDIN` in text format, or `LOAD DATA LOCAL INFILE`, which accepts the same format.
    pub copy: String,
    pub rows: u64,
    /// Number of units of generation: single rows, or groups of related rows such as the lines of an order.
    pub units: u64,
    /// Approximate size of a unit in bytes, as a measure of its cost.
    pub unit_bytes: u64,
    /// Statements that fill the table on the server instead; executed in parallel.
    pub inserts: Vec<String>,
    /// Executed after all rows are loaded; in parallel, also for one table.
    pub indexes: Vec<String>,
    /// Statements that turn indexes into keys; in order, after all indexes exist.
    pub keys: Vec<String>,
    /// Statements for statistics and cleanup; in order, after all keys of all tables exist.
    pub finish: Vec<String>,
    /// Foreign keys, last, as their checks need statistics for good plans. In parallel, also for one table.
    pub references: Vec<String>,
}

/// Data to load.
pub trait Data: Sync {
    fn tables(&self) -> &[Table];

    /// Number of parts into which each worker's share is split: more than one if the cost of rows varies, to
    /// balance the workers.
    fn cuts(&self) -> u64 {
        1
    }

    /// Append the rows of a table's units (numbered from 0) in COPY's text format, which LOAD DATA accepts
    /// too. Returns the number of rows. Deterministic.
    fn rows(&self, table: usize, units: Range<u64>, out: &mut Vec<u8>) -> u64;
}
