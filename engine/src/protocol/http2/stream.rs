//! One request, and its response as far as it has come.

use super::code::Code;
use super::fields::Fields;
use super::frame::LARGEST;
use super::upload::Unsent;
use crate::protocol::Malformed;
use crate::session::Failure;

/// The code of a response whose body is not as long as it promised.
const LENGTH: &str = "length";

const NO_CONTENT: u16 = 204;
const NOT_MODIFIED: u16 = 304;

#[derive(Debug)]
pub struct Stream {
    pub id: u32,
    /// What whoever asked calls it.
    pub tag: u32,
    /// Its method is HEAD: its response tells of a body that does not come.
    bodiless: bool,
    /// The header fields of the response have come, but for trailers.
    pub answered: bool,
    /// Nothing more comes of it.
    pub ended: bool,
    /// How long the body must be, if that is known, and how much of it came.
    length: Option<u64>,
    received: u64,
    /// How much of the request's body may be sent, and how much of the response's was not asked to be replaced by more.
    pub allowance: i64,
    pub owed: u32,
    /// What the server does not take yet of the request. Allocates nothing where it takes all at once.
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
            owed: 0,
            unsent: Unsent::default(),
        }
    }

    /// A header block has come whole. Its status; none where it was not the response's own: an interim one, or trailers.
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

    /// A part of the body has come.
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

    /// The connection ended before the response did.
    pub fn cut_off(&self) -> Failure {
        if !self.answered {
            return wrong_length("the response ended within its header".into());
        }
        let promised = self.length.map_or_else(String::new, |length| format!(", which was to have {length}"));
        wrong_length(format!("the response ended after {} bytes of its body{promised}", self.received))
    }

    /// More may be sent: `increment` can be negative where the server changes its mind.
    pub fn allow(&mut self, increment: i64) -> Result<(), Malformed> {
        self.allowance += increment;
        within(self.allowance)
    }
}

/// Whether a window has a size that there is.
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
