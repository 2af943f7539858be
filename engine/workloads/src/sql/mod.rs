//! Sessions of SQL workloads: run transactions over a database protocol and record them.

mod factory;
mod session;
#[cfg(test)]
mod session_tests;
mod workload;

pub use factory::{Sessions, dialect, only_postgres, pgbench, sysbench, tpcc, ycsb};
pub use session::{RetryPolicy, SqlSession};
pub use workload::{Next, SentRequest, Transactions, Workload};
