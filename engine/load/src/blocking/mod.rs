//! Work that is done by calls in this process: no connection and no protocol, and a thread a client that calls.
//!
//! What a thread does is a [`Task`]: it chooses, carries out, and puts into the record. When it does so, and what is kept of
//! time, is the [`Worker`]'s, whatever the task: an embedded store's transactions, or a probe of the machine itself.

mod blocking_loop;
pub mod fault;
#[cfg(test)]
mod tests;
mod threads;

pub use blocking_loop::{Settings, Task, Worker};
pub use fault::Fault;
pub use threads::{Direct, Tasks};
