//! Clients whose operations are calls in this process, without connection or protocol: one thread each.
//!
//! A [`BlockingClient`] selects, executes and records operations: an embedded store's transactions, or a
//! probe of the machine. [`BlockingLoop`] decides when, and accounts for time.

mod blocking_loop;
mod factory;
pub mod fault;
#[cfg(test)]
mod tests;

pub use blocking_loop::{BlockingClient, BlockingLoop};
pub use factory::{BlockingClientFactory, BlockingLoad};
pub use fault::Fault;
