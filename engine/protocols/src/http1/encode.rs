//! Request encoding.

use crate::digits;
use crate::http::Request;

/// Methods whose requests carry `content-length: 0` when they have no body (RFC 9110, 8.6).
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

#[inline]
pub fn write(request: &Request<'_>, out: &mut Vec<u8>) {
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
