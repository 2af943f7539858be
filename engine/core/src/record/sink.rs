//! Output of a recorder: statistics of intervals, and errors as they happen.

use std::sync::mpsc::Receiver;

use super::{IntervalStats, Span, Timeline};
use crate::clock::Nanos;

/// Code of the event that a connection is up again.
pub const RECONNECTED: &str = "reconnected";

/// Most codes of errors that are reported; errors of further codes are only counted.
const MAX_CODES: usize = 32;

/// An error or a reconnect, reported while the load runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorEvent {
    pub at: Nanos,
    pub client: u32,
    pub code: String,
    pub message: String,
}

/// Output of a recorder.
pub enum Published {
    Interval(Box<IntervalStats>),
    Error(ErrorEvent),
    /// The timeline of the whole load, at its end.
    Timeline(Box<Timeline>),
}

/// Receiver of a recorder's output, and source of cleared intervals for reuse.
pub struct Sink {
    pub send: Box<dyn FnMut(Published) + Send>,
    pub free_list: Receiver<Box<IntervalStats>>,
}

/// Limits reports of errors to one per code and interval.
#[derive(Default)]
pub(super) struct ErrorThrottle {
    /// Codes with the interval of their last report.
    reported: Vec<(String, Span)>,
}

impl ErrorThrottle {
    /// Returns true if an error of this code is to be reported in the interval `span`.
    pub fn admit(&mut self, code: &str, span: Span) -> bool {
        let is_full = self.reported.len() >= MAX_CODES;
        match self.reported.iter_mut().find(|(reported, _)| reported == code) {
            Some((_, last)) => std::mem::replace(last, span) != span,
            None if !is_full => {
                self.reported.push((code.into(), span));
                true
            }
            None => false,
        }
    }
}
