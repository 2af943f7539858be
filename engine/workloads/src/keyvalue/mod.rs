//! What a client of a key-value store does, whatever the store is and however it is talked to: which keys, how often,
//! with what values, and whether what comes back is right. No input and output here.

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

pub use client::{Client, Clients, Data, KvOperation, OpKind, operations};
pub use options::Options;
pub use values::IntegrityError;
