//! sysbench's OLTP workloads, with the tables, statements, mixes and distributions of sysbench 1.0, for
//! comparable results.

mod client;
mod data;
mod options;
mod script;
mod shape;
mod text;

pub use client::Sysbench;
pub use data::DataSet;
pub use options::Options;
