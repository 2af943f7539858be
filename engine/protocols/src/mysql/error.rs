//! Error packets.

use std::fmt;

use super::packet::Reader;
use crate::error_text;
use loadcell_core::error::Failure;

/// SQLSTATEs without information (general error; syntax error or access rule): the error number is used
/// instead.
const VAGUE: [&str; 2] = ["HY000", "42000"];
/// Errors after which the server closes the connection, besides class 08: `ER_CONNECTION_KILLED` (MariaDB),
/// `ER_SESSION_WAS_KILLED` and `ER_CLIENT_INTERACTION_TIMEOUT` (MySQL).
const LAST_WORDS: [u16; 3] = [1927, 3169, 4031];
/// `ER_CON_COUNT_ERROR` is sent before capabilities are exchanged, so without a SQLSTATE.
const TOO_MANY_CONNECTIONS: u16 = 1040;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// Error number of MySQL and MariaDB: 1213 for a deadlock.
    pub number: u16,
    pub sqlstate: String,
    pub message: String,
}

impl ServerError {
    /// Parse the payload with its first byte. Missing parts stay empty, so that an unusual error is not lost.
    pub fn parse(body: &[u8]) -> Self {
        let mut reader = Reader(body.get(1..).unwrap_or_default());
        let number = reader.u16().unwrap_or_default();
        let state = reader.0.strip_prefix(b"#").and_then(|text| text.split_at_checked(5));
        let (state, message) = state.unwrap_or((b"", reader.0));
        let has_state = state.len() == 5 && state.iter().all(u8::is_ascii_alphanumeric);
        let sqlstate = match number {
            _ if has_state => String::from_utf8_lossy(state).into_owned(),
            TOO_MANY_CONNECTIONS => "08004".into(),
            _ => "HY000".into(), // general error
        };
        Self { number, sqlstate, message: error_text(message) }
    }

    /// Code under which it is counted: the SQLSTATE, or the error number where the SQLSTATE is not specific.
    pub fn code(&self) -> String {
        if VAGUE.contains(&self.sqlstate.as_str()) { self.number.to_string() } else { self.sqlstate.clone() }
    }

    /// True if the server closes the connection after it.
    pub fn is_fatal(&self) -> bool {
        self.sqlstate.starts_with("08") || LAST_WORDS.contains(&self.number)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (error {})", self.message, self.number)
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        Self { message: error.to_string(), code: error.code() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_text_is_cut() {
        let body = [b"\xff\x28\x04#42000".as_slice(), &vec![b'x'; 1 << 20]].concat();
        assert_eq!(ServerError::parse(&body).message.len(), 8 << 10);
    }

    #[test]
    fn unspecific_sqlstate_is_replaced_by_the_number() {
        let deadlock = ServerError::parse(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!((deadlock.number, deadlock.code().as_str()), (1213, "40001"));
        assert_eq!(deadlock.to_string(), "Deadlock found (error 1213)");
        assert!(!deadlock.is_fatal());
        assert_eq!(ServerError::parse(b"\xff\xb5\x04#HY000Lock wait timeout").code(), "1205");
        assert_eq!(ServerError::parse(b"\xff\xb5\x05#42000max_prepared_stmt_count").code(), "1461");
    }

    #[test]
    fn error_without_sqlstate_is_parsed() {
        let full = ServerError::parse(b"\xff\x10\x04Too many connections");
        assert_eq!((full.code().as_str(), full.message.as_str()), ("08004", "Too many connections"));
        assert!(full.is_fatal());
        assert_eq!(ServerError::parse(b"\xff\x69\x04Host is blocked").code(), "1129");
        for torn in [&b""[..], b"\xff", b"\xff\x01", b"\xff\xbd\x04#40", b"\xff\xbd\x04#4\xff0\0x"] {
            assert_eq!(ServerError::parse(torn).sqlstate, "HY000");
        }
    }

    #[test]
    fn fatal_errors_are_recognised() {
        assert!(ServerError::parse(b"\xff\x1d\x04#08S01Server shutdown in progress").is_fatal());
        assert!(ServerError::parse(b"\xff\x87\x07#70100Connection was killed").is_fatal());
        assert!(!ServerError::parse(b"\xff\x25\x05#70100Query execution was interrupted").is_fatal());
    }
}
