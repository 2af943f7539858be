//! One request and the progress of its response.

use super::code::Code;
use super::fields::Fields;
use super::frame::LARGEST;
use super::upload::Unsent;
use crate::Malformed;
use loadcell_core::error::Failure;

/// Error code of a response whose body does not have its declared length.
const LENGTH: &str = "length";

const NO_CONTENT: u16 = 204;
const NOT_MODIFIED: u16 = 304;

#[derive(Debug)]
pub struct Stream {
    pub id: u32,
    /// Identifier given by the caller.
    pub tag: u32,
    /// Its method is HEAD: the response declares a body that does not come.
    bodiless: bool,
    /// The header fields of the response have arrived (trailers may follow).
    pub answered: bool,
    /// Nothing more will arrive.
    pub ended: bool,
    /// Declared length of the body, if any, and bytes received.
    length: Option<u64>,
    received: u64,
    /// Bytes of the request body that may be sent, and bytes of the response not yet acknowledged by
    /// WINDOW_UPDATE.
    pub allowance: i64,
    pub unacknowledged: u32,
    /// Part of the request that the server does not accept yet. Allocates nothing where it accepts all at
    /// once.
    pub unsent: Unsent,
}

impl Stream {
    pub fn new(id: u32, tag: u32, bodiless: bool, window: u32) -> Self {
        Self {
            id,
            tag,
            bodiless,
            answered: false,
            ended: false,
            length: None,
            received: 0,
            allowance: window.into(),
            unacknowledged: 0,
            unsent: Unsent::default(),
        }
    }

    /// Process a complete header block. Returns the status, or `None` for an interim response or trailers.
    pub fn headed(&mut self, fields: &Fields, end: bool) -> Result<Option<u16>, Failure> {
        if self.answered {
            self.end()?;
            return Ok(None);
        }
        let Some(status) = fields.status else {
            return Err(Code::PROTOCOL_ERROR.because("the server sent a response without a status").into());
        };
        if status < 200 {
            let finding = "the server ended a response with an interim status";
            return if end { Err(Code::PROTOCOL_ERROR.because(finding).into()) } else { Ok(None) };
        }
        self.answered = true;
        self.length = if self.bodiless || matches!(status, NO_CONTENT | NOT_MODIFIED) {
            Some(0)
        } else {
            fields.length
        };
        if end {
            self.end()?;
        }
        Ok(Some(status))
    }

    /// Count received bytes of the body.
    pub fn received(&mut self, count: usize) -> Result<(), Failure> {
        self.received += count as u64;
        match self.length {
            Some(length) if self.received > length => Err(wrong_length(format!(
                "a body came that is longer than the {length} bytes that were promised"
            ))),
            _ => Ok(()),
        }
    }

    pub fn end(&mut self) -> Result<(), Failure> {
        self.ended = true;
        match self.length {
            Some(length) if self.received < length => {
                Err(wrong_length(format!("the body ended after {} of {length} bytes", self.received)))
            }
            _ => Ok(()),
        }
    }

    /// Failure when the connection ended before the response.
    pub fn cut_off(&self) -> Failure {
        if !self.answered {
            return wrong_length("the response ended within its header".into());
        }
        let promised = self.length.map_or_else(String::new, |length| format!(", which was to have {length}"));
        wrong_length(format!("the response ended after {} bytes of its body{promised}", self.received))
    }

    /// Change the send window by `increment`, which is negative if the server reduced it.
    pub fn allow(&mut self, increment: i64) -> Result<(), Malformed> {
        self.allowance += increment;
        within(self.allowance)
    }
}

/// Check that a window size is within its legal range.
pub fn within(window: i64) -> Result<(), Malformed> {
    if window <= i64::from(LARGEST) {
        return Ok(());
    }
    Err(Code::FLOW_CONTROL_ERROR
        .because(format!("the server let a window grow to {window}: the most is {LARGEST}")))
}

#[cold]
fn wrong_length(message: String) -> Failure {
    Failure { code: LENGTH.into(), message }
}
