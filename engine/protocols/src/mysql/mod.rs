//! Client/server protocol of MySQL and MariaDB, version 10 (MySQL internals manual, chapter "Client/Server
//! Protocol"; MariaDB knowledge base, "Clientapi Protocol").
//!
//! Sans-I/O. `Handshake` opens a connection; `Statement` holds a request encoded in advance; `packet` splits
//! the input into packets; `Mysql` decodes them.

pub mod auth;
mod binary;
mod connection;
#[cfg(test)]
mod connection_tests;
pub mod encode;
mod error;
mod handshake;
#[cfg(test)]
mod handshake_tests;
pub mod packet;
mod statement;

pub use connection::Mysql;
pub use statement::{Request, Statement};
