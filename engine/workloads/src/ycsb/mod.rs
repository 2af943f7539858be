//! YCSB's core workload (Cooper et al., *Benchmarking Cloud Serving Systems with YCSB*, 2010): records with
//! several fields under a key, read, updated, inserted and scanned.
//!
//! `client` chooses the operations independent of the store; `sql` is the binding for databases.

mod client;
#[cfg(test)]
mod client_tests;
mod data;
mod options;
mod sql;

pub use client::{Act, Client, Clients, Request};
pub use data::{DataSet, Records};
pub use options::Options;
pub use sql::Ycsb;
