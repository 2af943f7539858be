//! HTTP/1.1 client protocol (RFC 9110, RFC 9112).

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::Decoder;

use crate::http::{Http, Limits, Request, ResponseEvent};
use loadcell_core::error::Failure;

/// Protocol state of one connection.
pub struct Http1 {
    decoder: Decoder,
}

impl Http for Http1 {
    fn new(os: Limits) -> Self {
        Self { decoder: Decoder::new(os) }
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
    fn next<'i>(
        &mut self,
        input: &'i [u8],
        _: &mut Vec<u8>,
    ) -> Result<Option<(usize, ResponseEvent<'i>)>, Failure> {
        self.decoder.next(input)
    }

    fn closed(&mut self) -> Result<(), Failure> {
        self.decoder.closed()
    }
}
