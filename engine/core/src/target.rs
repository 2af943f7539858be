//! Target of a load: its address and its protocol.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// Address, protocol and credentials of a target.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub protocol: Protocol,
    pub host: Option<String>,
    /// Default: that of the protocol.
    pub port: Option<u16>,
    /// The path of a Unix socket; takes precedence over `host`.
    pub socket: Option<PathBuf>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    pub sslmode: SslMode,
    pub sslrootcert: Option<PathBuf>,
    /// The name that TLS asks for and verifies, where it is not `host`.
    pub tls_name: Option<String>,
    /// Host and port that requests of HTTP name, where they are not `host` and `port`.
    pub authority: Option<String>,
    pub application_name: Option<String>,
    pub options: Option<String>,
    /// Version of RESP; by default the newest that the server supports.
    pub resp: Option<u8>,
    pub connect_timeout_ns: Nanos,
    /// Embedded store: its engine and directory, as the crate `embedded` reads them.
    pub store: Option<serde_json::Value>,
    /// Directory of files, as the crate `files` reads it.
    pub files: Option<serde_json::Value>,
    /// Directory for files of a host's probes; it exists.
    pub directory: Option<PathBuf>,
    /// Peer of a host's network probes, `HOST:PORT`; by default this process.
    pub peer: Option<String>,
}

impl Target {
    pub fn port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.protocol.port())
    }

    /// The Unix socket to use, if one is named: as a file, as PostgreSQL's directory of sockets, or as such a
    /// host.
    pub fn socket_path(&self) -> Option<PathBuf> {
        let host = self.host.as_deref().filter(|host| host.starts_with('/')).map(Path::new);
        let path = self.socket.as_deref().or(host)?;
        Some(if path.is_dir() { path.join(format!(".s.PGSQL.{}", self.port())) } else { path.to_path_buf() })
    }
}

/// Protocol of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Postgres,
    Mysql,
    /// None: an embedded store is called in this process.
    Store,
    /// Redis, Valkey and compatible servers.
    Resp,
    Http,
    /// None: files in a directory are used by calls of the operating system.
    Files,
    /// None: the machine itself is measured.
    Host,
    /// None: functions of another language are called.
    Calls,
    /// Records over a byte stream, with answers by their number or none.
    Stream,
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
            Self::Files | Self::Host | Self::Calls | Self::Stream => 0,
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
            Self::Files | Self::Host | Self::Calls | Self::Stream => None,
        }
    }
}

/// SQL dialect of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    Mysql,
}
