//! Wire protocols. Each encodes requests and decodes replies; none performs I/O.

mod config;
pub mod digits;
pub mod http1;
pub mod http2;
pub mod mysql;
pub mod postgres;
pub mod resp;
mod sql_protocol;
mod statement;

use serde::Deserialize;

pub use config::Config;
pub use sql_protocol::{
    Cancel, Columns, Event, Malformed, Message, Names, Next, Progress, SqlProtocol, StatementKind,
};
pub use statement::{Mode, Part, Request, Statement};

/// Protocol of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Postgres,
    Mysql,
    /// None: an embedded store is called in this process.
    Store,
    /// Redis, Valkey and compatible servers.
    Resp,
    Http,
    /// None: the machine itself is measured.
    Host,
    /// None: functions of another language are called.
    Calls,
}

impl Protocol {
    /// Default port.
    pub fn port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::Mysql => 3306,
            Self::Store => 0,
            Self::Resp => 6379,
            Self::Http => 80,
            Self::Host | Self::Calls => 0,
        }
    }

    /// SQL dialect; `None` where the protocol is not SQL.
    pub fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Postgres => Some(Dialect::Postgres),
            Self::Mysql => Some(Dialect::Mysql),
            Self::Store => None,
            Self::Resp => None,
            Self::Http => None,
            Self::Host | Self::Calls => None,
        }
    }

    /// Remedy for an error code; empty where no general advice exists.
    pub fn advice(self) -> fn(&str) -> &'static str {
        match self {
            Self::Postgres => postgres::advice,
            Self::Mysql => mysql::advice,
            Self::Store => crate::embedded::advice,
            Self::Resp => resp::advice,
            Self::Http => crate::http::advice,
            Self::Host => crate::probe::advice,
            Self::Calls => |_| "",
        }
    }
}

/// SQL dialect of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    Mysql,
}
