//! Sessions that carry SQL workloads: a workload's transactions over a database's protocol, and what is recorded of them.

mod factory;
mod session;
#[cfg(test)]
mod session_tests;
mod workload;

pub use factory::{Sessions, dialect, only_postgres, pgbench, sysbench, tpcc, ycsb};
pub use session::SqlSession;
pub use workload::{Asked, Next, Transactions, Workload};
