//! Client behaviour: operations, their mix and their data, as sessions over the protocols.

pub mod dataload;
pub mod http;
pub mod keyvalue;
pub mod parameter;
pub mod pgbench;
pub mod redis;
pub mod sql;
pub mod statements;
pub mod sysbench;
pub mod tpcc;
pub mod ycsb;
