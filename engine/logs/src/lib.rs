//! Readers of gigabytes of finished output of other tools, block by block. The result is as small for an hour
//! as for a second; lines that cannot be parsed are counted, and the first of them shown.

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
