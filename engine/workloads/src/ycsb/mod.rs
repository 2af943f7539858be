//! YCSB's core workload (Cooper et al., *Benchmarking Cloud Serving Systems with YCSB*, 2010): records of some fields under
//! a key, read, updated, inserted and scanned.
//!
//! What is asked for is decided in `client`, whatever the store is; how it is said is the store's business: `sql` for
//! databases.

mod client;
#[cfg(test)]
mod client_tests;
mod data;
mod options;
mod sql;

pub use client::{Act, Client, Clients, Request};
pub use data::{DataSet, Records};
pub use options::{Options, Proportions};
pub use sql::Ycsb;
