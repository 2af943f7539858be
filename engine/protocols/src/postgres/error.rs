//! ErrorResponse messages.

use std::fmt;

use super::frame::Reader;
use crate::error_text;
use loadcell_core::error::Failure;

/// The relevant fields of an ErrorResponse or NoticeResponse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// `ERROR`, `FATAL` or `PANIC`, untranslated (servers before 9.6: translated).
    pub severity: String,
    /// SQLSTATE.
    pub code: String,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

impl ServerError {
    /// Parse the body of the message. Missing fields stay empty, so that an unusual error is not lost.
    pub fn parse(body: &[u8]) -> Self {
        let mut error = Self::default();
        let mut reader = Reader(body);
        while let Some(field) = reader.byte().filter(|&field| field != 0) {
            let Some(value) = reader.text() else { break };
            let value = error_text(value);
            match field {
                b'S' if error.severity.is_empty() => error.severity = value,
                b'V' => error.severity = value,
                b'C' => error.code = value,
                b'M' => error.message = value,
                b'D' => error.detail = Some(value),
                b'H' => error.hint = Some(value),
                _ => {}
            }
        }
        if error.code.len() != 5 || !error.code.bytes().all(|b| b.is_ascii_alphanumeric()) {
            error.code = "XX000".into(); // internal_error: the nearest SQLSTATE to none at all
        }
        error
    }

    /// True if the server closes the connection after it.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        match &self.detail {
            Some(detail) => write!(f, " ({detail})"),
            None => Ok(()),
        }
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        Self { message: error.to_string(), code: error.code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_text_is_cut() {
        let body = [b"SERROR\0C22003\0M".as_slice(), &vec![b'x'; 1 << 20], b"\0\0"].concat();
        let error = ServerError::parse(&body);
        assert_eq!((error.code.as_str(), error.message.len()), ("22003", 8 << 10));
    }

    #[test]
    fn relevant_fields_are_extracted() {
        let body = b"SFEHLER\0VERROR\0C40001\0Mcould not serialize access\0\
              DReason code: x.\0HRetry.\0Fpredicate.c\0L4\0\0";
        let error = ServerError::parse(body);
        assert_eq!((error.severity.as_str(), error.code.as_str()), ("ERROR", "40001"));
        assert_eq!(error.hint.as_deref(), Some("Retry."));
        assert_eq!(error.to_string(), "could not serialize access (Reason code: x.)");
        assert!(!error.is_fatal());
        assert_eq!(Failure::from(error).code, "40001");
    }

    #[test]
    fn fatal_is_recognised_with_and_without_the_untranslated_field() {
        assert!(ServerError::parse(b"SFATAL\0C57P01\0Mbye\0\0").is_fatal());
        assert!(ServerError::parse(b"SFATAL\0VFATAL\0C57P01\0\0").is_fatal());
        assert!(ServerError::parse(b"VPANIC\0\0").is_fatal());
    }

    #[test]
    fn truncated_error_is_parsed() {
        let complete = b"SERROR\0VERROR\0C22003\0Minteger out of range\0\0";
        for end in 0..complete.len() {
            let error = ServerError::parse(&complete[..end]);
            assert!(error.code == "22003" || error.code == "XX000", "{error:?}");
        }
        assert_eq!(ServerError::parse(b"Cab\xff12\0\0").code, "XX000");
    }
}
