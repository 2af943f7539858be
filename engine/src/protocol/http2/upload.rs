//! What the server does not take yet of a request.

use super::frame;
use super::settings::FIRST_WINDOW;
use super::stream::{Stream, within};
use crate::protocol::Malformed;

pub struct Upload {
    /// A head that waits until the server lets any request be made.
    pub held: Vec<u8>,
    /// The body, and how much of it is sent.
    pub body: Vec<u8>,
    sent: usize,
    /// How much of bodies may be sent on the connection.
    allowance: i64,
}

impl Default for Upload {
    fn default() -> Self {
        Self { held: Vec::new(), body: Vec::new(), sent: 0, allowance: FIRST_WINDOW.into() }
    }
}

impl Upload {
    /// More may be sent on the connection.
    pub fn allow(&mut self, increment: u32) -> Result<(), Malformed> {
        self.allowance += i64::from(increment);
        within(self.allowance)
    }

    /// Appends as much of the body as the server takes.
    #[inline]
    pub fn push(&mut self, stream: &mut Stream, longest_frame: usize, out: &mut Vec<u8>) {
        if !self.held.is_empty() {
            return;
        }
        while self.sent < self.body.len() {
            let left = self.body.len() - self.sent;
            let allowed = usize::try_from(self.allowance.min(stream.allowance)).unwrap_or(0);
            let size = left.min(allowed).min(longest_frame);
            if size == 0 {
                return;
            }
            let flags = if size == left { frame::END_STREAM } else { 0 };
            frame::head(out, size, frame::DATA, flags, stream.id);
            out.extend_from_slice(&self.body[self.sent..self.sent + size]);
            self.sent += size;
            stream.allowance -= size as i64;
            self.allowance -= size as i64;
        }
        self.drop_rest();
    }

    /// Forgets what was not sent; whether there was any.
    pub fn drop_rest(&mut self) -> bool {
        self.sent = 0;
        let any = !self.body.is_empty() || !self.held.is_empty();
        self.body.clear();
        self.held.clear();
        any
    }
}
