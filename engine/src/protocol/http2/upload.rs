//! What the server does not take yet of a request: all of it while it takes no more requests at once, and what of its body is
//! beyond the windows.

use super::frame;
use super::stream::Stream;

#[derive(Debug, Default)]
pub struct Unsent {
    /// The head of a request that is not begun; its body is whole then.
    pub head: Vec<u8>,
    body: Vec<u8>,
    /// How much of it is sent.
    sent: usize,
}

impl Unsent {
    pub fn is_held(&self) -> bool {
        !self.head.is_empty()
    }

    /// Whether something is left of a request that was begun.
    pub fn is_begun(&self) -> bool {
        self.sent < self.body.len()
    }

    pub fn keep(&mut self, body: &[u8]) {
        self.body.extend_from_slice(body);
    }
}

/// Appends as much of what is left of a request's body as the server takes. `allowance` is the connection's.
pub fn push(stream: &mut Stream, allowance: &mut i64, longest_frame: usize, out: &mut Vec<u8>) {
    let body = std::mem::take(&mut stream.unsent.body);
    stream.unsent.sent += send(&body[stream.unsent.sent..], stream, allowance, longest_frame, out);
    if stream.unsent.sent < body.len() {
        stream.unsent.body = body;
    } else {
        stream.unsent.sent = 0;
    }
}

/// Appends as much of `body`, the rest of a request's, as the server takes; how much that was.
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
        let left = body.len() - sent;
        let allowed = usize::try_from((*allowance).min(stream.allowance)).unwrap_or(0);
        let size = left.min(allowed).min(longest_frame);
        if size == 0 {
            break;
        }
        let flags = if size == left { frame::END_STREAM } else { 0 };
        frame::head(out, size, frame::DATA, flags, stream.id);
        out.extend_from_slice(&body[sent..sent + size]);
        sent += size;
        stream.allowance -= size as i64;
        *allowance -= size as i64;
    }
    sent
}
