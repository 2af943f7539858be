//! Loads data into a target, fast and in parallel: tables are made, rows are copied by several connections at once
//! (one big table by all of them), then indexes are built and tables vacuumed.
//!
//! Blocking, with a thread a connection, on the same sans-I/O protocol as the load itself. What is loaded depends on the
//! data set only, never on how many workers loaded it or in which order.

mod client;
mod crew;
mod loader;

use std::ops::Range;

use serde_json::Value;

use crate::observe::Observer;
use crate::spec::{Problem, Spec};
use crate::workload::sysbench;

pub use loader::Prepared;

/// A table, as SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub create: String,
    /// `COPY ... FROM STDIN`, in text format.
    pub copy: String,
    pub rows: u64,
    /// Made when all rows are there; several at once, also of one table.
    pub indexes: Vec<String>,
    /// What follows when the table's indexes are there, in order.
    pub finish: Vec<String>,
}

/// What is to be loaded.
pub trait Data: Sync {
    fn tables(&self) -> &[Table];

    /// Appends the rows (counted from 0) of a table, in COPY's text format. The same rows for the same numbers, always.
    fn rows(&self, table: usize, rows: Range<u64>, out: &mut Vec<u8>);
}

/// Loads what the workload of `spec` needs.
pub fn prepare(spec: &Spec, observer: &mut dyn Observer) -> Result<Prepared, Problem> {
    match spec.workload() {
        ("sysbench", section) => prepare_sysbench(spec, section, observer),
        (name, _) => {
            let finding = format!("the engine cannot load data for the workload `{name}`");
            Err(Problem::new("spec", finding, "use `sysbench`"))
        }
    }
}

fn prepare_sysbench(spec: &Spec, section: &Value, observer: &mut dyn Observer) -> Result<Prepared, Problem> {
    let options = sysbench::Options::read(section)?;
    let data = sysbench::DataSet::new(&options, spec.seed);
    loader::load(&spec.target, &data, options.load_workers, observer)
}
