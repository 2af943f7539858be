//! The `network` section of a probe.

use serde::Deserialize;

use super::handshake::{Hello, Test};

/// Tests by netperf's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Rr,
    Crr,
    Stream,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub test: Kind,
    pub request_bytes: u32,
    pub response_bytes: u32,
    /// Size of a stream's writes in bytes.
    pub block_bytes: u32,
}

impl Options {
    pub fn hello(&self) -> Hello {
        let test = match self.test {
            Kind::Rr => Test::Rr,
            Kind::Crr => Test::Crr,
            Kind::Stream => Test::Stream,
        };
        Hello { test, request: self.request_bytes, response: self.response_bytes }
    }
}
