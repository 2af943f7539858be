//! Wire protocols. Each encodes requests and decodes replies; none performs I/O.

mod config;
pub mod digits;
pub mod http;
pub mod http1;
pub mod http2;
pub mod mysql;
pub mod postgres;
pub mod resp;
mod sql_protocol;
mod statement;

use config::Encryption;

pub use config::Config;
pub use sql_protocol::{
    Cancel, Columns, Event, Malformed, Message, Names, Next, Progress, SqlProtocol, StatementKind,
};
pub use statement::{Mode, Part, Request, Statement, Value};

/// Limit of a part of an error in bytes: no server sends as much, and people read it.
const LONGEST_ERROR_TEXT: usize = 8 << 10;

/// Text of a server's error.
pub(crate) fn error_text(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(LONGEST_ERROR_TEXT)]).into_owned()
}
