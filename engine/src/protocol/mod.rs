//! How to talk: each protocol turns requests into bytes and bytes into completions, and never sees a socket.

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
    Cancel, Columns, Event, Malformed, Names, Next, Progress, Said, SqlProtocol, StatementKind,
};
pub use statement::{Mode, Part, Request, Statement};

/// What a target speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Postgres,
    Mysql,
    /// Nothing: a store in this process is called.
    Store,
    /// Redis, Valkey and others.
    Resp,
    Http,
    /// Nothing: the machine itself is probed.
    Host,
    /// Nothing: somebody else's code is called.
    Calls,
}

impl Protocol {
    /// Where its servers listen unless told otherwise.
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

    /// The SQL that is spoken over it; none where it is not SQL.
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

    /// What a person can do about an error of this code; empty where nothing general helps.
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

/// The SQL that a database understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    Mysql,
}
