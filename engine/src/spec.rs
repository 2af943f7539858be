//! The specification of one load or one preparation, as it comes from outside (JSON), and what is wrong with it.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;

/// Something a user can do something about: what was found, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A SQLSTATE, or one of `spec`, `connection`, `timeout`, `protocol`, `tls`, `limit`.
    pub code: String,
    pub finding: String,
    pub advice: String,
}

impl Problem {
    pub fn new(code: impl Into<String>, finding: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { code: code.into(), finding: finding.into(), advice: advice.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.finding)?;
        if !self.advice.is_empty() {
            write!(f, ": {}", self.advice)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    Disable,
    Allow,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// Whom to talk to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub protocol: String,
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default = "postgres_port")]
    pub port: u16,
    /// The path of a Unix socket; takes precedence over `host`.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    pub user: String,
    #[serde(default)]
    pub password: Option<String>,
    pub database: String,
    #[serde(default)]
    pub sslmode: SslMode,
    #[serde(default)]
    pub sslrootcert: Option<PathBuf>,
    #[serde(default)]
    pub application_name: Option<String>,
    #[serde(default)]
    pub options: Option<String>,
    #[serde(default = "ten_seconds")]
    pub connect_timeout_ns: Nanos,
}

/// How hard, and for how long.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub clients: u32,
    #[serde(default = "one")]
    pub threads: u32,
    #[serde(default)]
    pub warmup_ns: Nanos,
    pub duration_ns: Nanos,
    #[serde(default = "one_second")]
    pub interval_ns: Nanos,
    /// How long transactions that are in progress at the end may take to finish.
    #[serde(default = "five_seconds")]
    pub drain_ns: Nanos,
    /// How long no connection at all may be had before the load is given up.
    #[serde(default = "ten_seconds")]
    pub lost_ns: Nanos,
    #[serde(default = "ten")]
    pub max_retries: u32,
    #[serde(default)]
    pub rate_per_s: Option<f64>,
}

/// One load, or one preparation of data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub version: u32,
    #[serde(default)]
    pub seed: u64,
    pub target: Target,
    /// `{"sysbench": {...}}`: the one key names the workload, which reads the rest itself.
    pub workload: serde_json::Value,
    pub load: Load,
}

fn postgres_port() -> u16 {
    5432
}
fn one() -> u32 {
    1
}
fn ten() -> u32 {
    10
}
fn one_second() -> Nanos {
    crate::clock::SECOND
}
fn five_seconds() -> Nanos {
    5 * crate::clock::SECOND
}
fn ten_seconds() -> Nanos {
    10 * crate::clock::SECOND
}
