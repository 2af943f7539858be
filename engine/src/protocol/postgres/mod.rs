//! PostgreSQL's frontend/backend protocol, version 3 (PostgreSQL documentation, chapter "Frontend/Backend Protocol").
//!
//! Sans-I/O: bytes in, bytes out. `Handshake` brings a connection to where it takes queries; `Statement` turns a
//! statement into request bytes that are built once; `frame` cuts the replies.

mod advice;
mod auth;
pub mod encode;
mod error;
pub mod frame;
mod handshake;
mod statement;

pub use advice::advice;
pub use error::{Malformed, ServerError};
pub use handshake::{Config, Handshake, Progress};
pub use statement::{Mode, Part, Request, Statement};
