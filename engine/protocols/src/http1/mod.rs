//! HTTP/1.1 client protocol (RFC 9110, RFC 9112).

mod decode;
#[cfg(test)]
mod tests;

pub use decode::Decoder;

use crate::digits;
use crate::http::{Http, Limits, Request, ResponseEvent, WatchedFields};
use loadcell_core::error::Failure;

/// Protocol state of one connection.
pub struct Http1 {
    decoder: Decoder,
}

impl Http for Http1 {
    fn new(os: Limits) -> Self {
        Self { decoder: Decoder::new(os) }
    }

    fn watch(&mut self, fields: WatchedFields) {
        self.decoder.watched = fields;
    }

    fn watched(&self) -> &WatchedFields {
        &self.decoder.watched
    }

    fn written(request: &Request<'_>) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        write(request, &mut out);
        Some(out)
    }

    fn opened(&mut self, _: &mut Vec<u8>) {
        self.decoder.reset();
    }

    #[inline(always)]
    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        write(request, out);
        self.decoder.expect(request.method == "HEAD");
    }

    #[inline(always)]
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

/// Methods whose requests carry `content-length: 0` when they have no body (RFC 9110, 8.6).
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// Append an encoded request.
#[inline(always)]
fn write(request: &Request<'_>, out: &mut Vec<u8>) {
    let Request { method, target, fields, body, written } = request;
    if let Some(written) = written {
        return out.extend_from_slice(written);
    }
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    out.extend_from_slice(&fields.written);
    if body.is_some() || WITH_BODY.contains(method) {
        out.extend_from_slice(b"Content-Length: ");
        digits::decimal(out, body.map_or(0, <[u8]>::len) as u64);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    if let Some(body) = body {
        out.extend_from_slice(body);
    }
}
