//! Loads data into a target, fast and in parallel: tables are made, rows are copied by several connections at once
//! (one big table by all of them), then indexes are built, tables vacuumed, and foreign keys checked.
//!
//! Blocking, with a thread a connection, on the same sans-I/O protocol as the load itself. What is loaded depends on the
//! data set only, never on how many workers loaded it or in which order.

mod loader;
mod parallel;
mod sql_connection;

use std::ops::Range;

pub use loader::{Prepared, load};
pub use parallel::{Progress, parallel_for};

/// A table, as SQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub create: String,
    /// `COPY ... FROM STDIN` in text format, or `LOAD DATA LOCAL INFILE`, which reads the same.
    pub copy: String,
    pub rows: u64,
    /// What rows are made by: one by one, or several that belong together (an order's lines) as one unit.
    pub units: u64,
    /// About how many bytes a unit is: what its making and loading costs.
    pub unit_bytes: u64,
    /// Fill it on the server's side, where that is wanted; several at once.
    pub inserts: Vec<String>,
    /// Made when all rows are there; several at once, also of one table.
    pub indexes: Vec<String>,
    /// What makes keys of indexes, when all are there; in order.
    pub keys: Vec<String>,
    /// What gathers statistics and cleans up, when every table has its keys; in order.
    pub finish: Vec<String>,
    /// Foreign keys, made last: with the statistics their checks are planned well. Several at once, also of one table.
    pub references: Vec<String>,
}

/// What is to be loaded.
pub trait Data: Sync {
    fn tables(&self) -> &[Table];

    /// Into how many parts each worker's share of the rows is cut: more than one where they do not cost the same, so that
    /// whoever is done early takes another.
    fn cuts(&self) -> u64 {
        1
    }

    /// Appends the rows of a table's units (counted from 0), in COPY's text format (which LOAD DATA reads, too), and says how many rows that were. The
    /// same rows for the same units, always.
    fn rows(&self, table: usize, units: Range<u64>, out: &mut Vec<u8>) -> u64;
}
