//! sysbench's OLTP workloads: same tables, statements, mixes and distributions as sysbench 1.0, so that figures compare.

mod client;
mod data;
mod options;
mod script;
mod shape;
mod text;

pub use client::{Client, Sysbench};
pub use data::DataSet;
pub use options::Options;
pub use script::Script;
