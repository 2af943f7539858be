//! The part of a request that the server does not accept yet: all of it while the concurrency limit is
//! reached, otherwise the body beyond the windows.

use super::frame;
use super::stream::Stream;

#[derive(Debug, Default)]
pub struct Unsent {
    /// Header block of a request that is not started; its body is complete then.
    pub head: Vec<u8>,
    body: Vec<u8>,
    /// Bytes of the body already sent.
    sent: usize,
}

impl Unsent {
    pub fn is_held(&self) -> bool {
        !self.head.is_empty()
    }

    /// True if part of a started request is unsent.
    pub fn is_begun(&self) -> bool {
        self.sent < self.body.len()
    }

    pub fn keep(&mut self, body: &[u8]) {
        self.body.extend_from_slice(body);
    }
}

/// Append as much of the remaining body as the windows allow. `allowance` is the connection's window.
pub fn push(stream: &mut Stream, allowance: &mut i64, longest_frame: usize, out: &mut Vec<u8>) {
    let body = std::mem::take(&mut stream.unsent.body);
    stream.unsent.sent += send(&body[stream.unsent.sent..], stream, allowance, longest_frame, out);
    if stream.unsent.sent < body.len() {
        stream.unsent.body = body;
    } else {
        stream.unsent.sent = 0;
    }
}

/// Append as much of `body` as the windows allow. Returns the bytes appended.
#[inline]
pub fn send(
    body: &[u8],
    stream: &mut Stream,
    allowance: &mut i64,
    longest_frame: usize,
    out: &mut Vec<u8>,
) -> usize {
    let mut sent = 0;
    while sent < body.len() {
        let remaining = body.len() - sent;
        let allowed = usize::try_from((*allowance).min(stream.allowance)).unwrap_or(0);
        let size = remaining.min(allowed).min(longest_frame);
        if size == 0 {
            break;
        }
        let flags = if size == remaining { frame::END_STREAM } else { 0 };
        frame::head(out, size, frame::DATA, flags, stream.id);
        out.extend_from_slice(&body[sent..sent + size]);
        sent += size;
        stream.allowance -= size as i64;
        *allowance -= size as i64;
    }
    sent
}
