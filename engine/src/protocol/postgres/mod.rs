//! PostgreSQL's frontend/backend protocol, version 3 (PostgreSQL documentation, chapter "Frontend/Backend Protocol").
//!
//! Sans-I/O: bytes in, bytes out. `Handshake` brings a connection to where it takes queries; `Statement` turns a
//! statement into request bytes that are built once; `frame` cuts the replies; `Postgres` says what they mean.

mod advice;
mod auth;
mod connection;
pub mod encode;
mod error;
pub mod frame;
mod handshake;
mod statement;

pub use advice::advice;
pub use connection::Postgres;
pub use error::ServerError;
pub use statement::{Request, Statement};
