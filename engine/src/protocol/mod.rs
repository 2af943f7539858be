//! How to talk: each protocol turns requests into bytes and bytes into completions, and never sees a socket.

mod config;
pub mod digits;
pub mod mysql;
pub mod postgres;
mod statement;
mod wire;

use serde::{Deserialize, Serialize};

pub use config::Config;
pub use statement::{Mode, Part, Request, Statement};
pub use wire::{Cancel, Columns, Event, Malformed, Names, Next, Progress, Said, What, Wire};

/// What a target speaks; with it comes the dialect of its SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Postgres,
    Mysql,
}

impl Protocol {
    /// Where its servers listen unless told otherwise.
    pub fn port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::Mysql => 3306,
        }
    }

    /// What a person can do about an error of this code; empty where nothing general helps.
    pub fn advice(self) -> fn(&str) -> &'static str {
        match self {
            Self::Postgres => postgres::advice,
            Self::Mysql => mysql::advice,
        }
    }
}
