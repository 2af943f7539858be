//! Redis and compatible servers: key-value clients over RESP, and data loading.

mod command;
mod connection;
mod factory;
mod handshake;
mod loader;
mod session;
#[cfg(test)]
mod session_tests;
mod ycsb;
#[cfg(test)]
mod ycsb_tests;

pub use factory::{Sessions, checked, sessions};
pub use loader::prepare;
pub use session::RedisSession;
pub use ycsb::{YcsbSession, ycsb};
