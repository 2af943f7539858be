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

pub use config::Config;
pub use sql_protocol::{
    Cancel, Columns, Event, Malformed, Message, Names, Next, Progress, SqlProtocol, StatementKind,
};
pub use statement::{Mode, Part, Request, Statement};
