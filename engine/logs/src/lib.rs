//! Finished outputs of other tools that have gigabytes: read a block at a time, counted and forgotten. What is given back is as
//! small for an hour as for a second; what could not be read is counted, and the first of it shown.

mod alike;
mod benchmarksql;
mod digits;
mod ledger;
mod lines;
mod pgbench_log;
mod reach;
mod seconds;
mod stretches;
#[cfg(test)]
mod tests;
mod times;
mod unread;

pub use benchmarksql::benchmarksql;
pub use lines::Unfinished;
pub use pgbench_log::pgbench_log;
pub use stretches::Stretches;
