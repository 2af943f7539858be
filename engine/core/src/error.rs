//! Errors: those that a user can act upon, and those of requests and connections.

use std::fmt;
use std::io;

use serde::Serialize;

use crate::os;

/// Code for an exhausted connection limit, which servers report with the generic `ERR`.
pub const MAX_CLIENTS: &str = "max-clients";

/// Something a user can do something about: what was found, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The server's own code, or one of `spec`, `connection`, `timeout`, `protocol`, `tls`, `limit`.
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

/// Why something did not work, classed by the server's own code where it gave one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// SQLSTATE, or one of loadcell's own: `connection`, `timeout`, `protocol`, `tls` ...
    pub code: String,
    pub message: String,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::TimedOut => "timeout",
            io::ErrorKind::InvalidData => "tls",
            _ => error.raw_os_error().and_then(os::local_exhaustion).unwrap_or("connection"),
        };
        // "Connection refused (os error 111)": the number is of no use to people.
        let text = error.to_string();
        let message = text.split(" (os error").next().unwrap_or_default().into();
        Self { code: code.into(), message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_exhaustion_has_its_own_codes() {
        let code = |errno| Failure::from(io::Error::from_raw_os_error(errno)).code;
        assert_eq!(
            (code(libc::EADDRNOTAVAIL).as_str(), code(libc::EMFILE).as_str()),
            ("ports", "descriptors")
        );
        assert_eq!(
            (code(libc::ECONNREFUSED).as_str(), code(libc::ETIMEDOUT).as_str()),
            ("connection", "timeout")
        );
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::InvalidData)).code, "tls");
        let refused = Failure::from(io::Error::from_raw_os_error(libc::ECONNREFUSED));
        assert_eq!(refused.message, "Connection refused");
    }
}
