//! Key-value clients, independent of store and protocol: choice of operations, keys and values, and
//! verification of answers. Performs no I/O.

pub mod client;
#[cfg(test)]
mod client_tests;
pub mod command;
pub mod distribution;
pub mod key_allocator;
pub mod keys;
pub mod options;
pub mod values;
pub mod versions;
pub mod zipf;

pub use client::{Client, Clients, Data, KvOperation, OpKind};
pub use options::Options;
pub use values::IntegrityError;
