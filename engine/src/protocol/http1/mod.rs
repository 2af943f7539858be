//! HTTP/1.1 (RFC 9110, RFC 9112), as a client speaks it.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::Decoder;

use crate::http::{Http, Limits, Request, Said};
use crate::session::Failure;

/// One connection.
pub struct Http1 {
    decoder: Decoder,
}

impl Http for Http1 {
    fn new(limits: Limits) -> Self {
        Self { decoder: Decoder::new(limits) }
    }

    fn written(request: &Request<'_>) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        encode::write(request, &mut out);
        Some(out)
    }

    fn opened(&mut self, _: &mut Vec<u8>) {
        self.decoder.reset();
    }

    #[inline]
    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        encode::write(request, out);
        self.decoder.expect(request.method == "HEAD");
    }

    #[inline]
    fn next<'i>(&mut self, input: &'i [u8], _: &mut Vec<u8>) -> Result<Option<(usize, Said<'i>)>, Failure> {
        self.decoder.next(input)
    }

    fn closed(&mut self) -> Result<(), Failure> {
        self.decoder.closed()
    }
}
