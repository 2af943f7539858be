//! Frontend/backend protocol of PostgreSQL, version 3 (PostgreSQL documentation, chapter "Frontend/Backend
//! Protocol").
//!
//! Sans-I/O. `Handshake` opens a connection; `Statement` holds a request encoded in advance; `frame` splits
//! the input into messages; `Postgres` decodes them.

mod auth;
mod connection;
pub mod encode;
mod error;
pub mod frame;
mod handshake;
mod statement;

pub use connection::Postgres;
pub use statement::{Request, Statement};
