//! What a version of HTTP gives to the session that makes requests with it. A version is sans-I/O, as every protocol is.
//!
//! As far as this goes a connection carries one request at a time: `opened`, then again and again `request` and `next` until
//! `End`. What HTTP/2 does beyond that is in `streams`.

use serde::Deserialize;

use crate::http2::Code;
use crate::http2::hpack::encode as hpack;
use loadcell_core::error::Failure;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Version {
    #[default]
    #[serde(rename = "1.1")]
    One,
    #[serde(rename = "2")]
    Two,
}

impl Version {
    /// Its name when TLS is agreed upon (ALPN, RFC 7301).
    pub fn alpn(self) -> &'static str {
        match self {
            Self::One => "http/1.1",
            Self::Two => "h2",
        }
    }
}

/// How much of a peer's words is listened to before it is held for an attack on the client's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of all header fields of a response together, trailers included.
    pub header_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { header_bytes: 64 * 1024 }
    }
}

/// The header fields of a request, but for those that tell of its body. Made once where nothing in them changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Host and port, as the peer is to hear them.
    pub authority: String,
    /// Names in lower case, with their values; without `host`, `connection`, `content-length` and `transfer-encoding`.
    pub list: Vec<(String, Vec<u8>)>,
    /// The connection is to end with the response.
    pub last: bool,
    version: Version,
    /// The same as the version writes it: in HTTP/1.1 from `Host` on, in HTTP/2 from `:scheme` on.
    pub(crate) written: Vec<u8>,
}

impl Fields {
    pub fn new(
        version: Version,
        scheme: &'static str,
        authority: &str,
        list: Vec<(String, Vec<u8>)>,
        last: bool,
    ) -> Self {
        let mut fields =
            Self { scheme, authority: authority.into(), list, last, version, written: Vec::new() };
        fields.write();
        fields
    }

    /// To be called when a value in `list` has changed.
    pub fn write(&mut self) {
        self.written.clear();
        match self.version {
            Version::One => self.write_lines(),
            Version::Two => self.write_block(),
        }
    }

    fn write_block(&mut self) {
        let out = &mut self.written;
        hpack::field(out, b":scheme", self.scheme.as_bytes());
        hpack::field(out, b":authority", self.authority.as_bytes());
        for (name, value) in &self.list {
            hpack::field(out, name.as_bytes(), value);
        }
    }

    fn write_lines(&mut self) {
        self.written.extend_from_slice(b"Host: ");
        self.written.extend_from_slice(self.authority.as_bytes());
        self.written.extend_from_slice(b"\r\n");
        for (name, value) in &self.list {
            self.written.extend_from_slice(name.as_bytes());
            self.written.extend_from_slice(b": ");
            self.written.extend_from_slice(value);
            self.written.extend_from_slice(b"\r\n");
        }
        if self.last {
            self.written.extend_from_slice(b"Connection: close\r\n");
        }
    }
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub method: &'a str,
    /// Path and query.
    pub target: &'a [u8],
    pub fields: &'a Fields,
    pub body: Option<&'a [u8]>,
    /// What [`Http::written`] made of it, if it is always the same.
    pub written: Option<&'a [u8]>,
}

/// What the peer said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEvent<'i> {
    /// Nothing that concerns the request.
    Nothing,
    /// A part of the response that says nothing by itself.
    Part,
    /// The peer has not begun the request in progress, and will not: it can be made again on another connection.
    Refused,
    /// The peer has given up the request in progress, and why; the connection can carry another.
    Reset(Code),
    /// The connection can carry no other request.
    Leaving,
    /// The status of the response, whose header fields are complete.
    Status(u16),
    /// A piece of its body.
    Body(&'i [u8]),
    /// The response is complete. `again`: the connection can carry another request.
    End { again: bool },
}

/// One connection's side of a version of HTTP. Nothing is allocated for a request in the usual case.
pub trait Http {
    fn new(os: Limits) -> Self;

    /// All that `request` appends for a request, where that is the same on every connection and every time.
    fn written(_: &Request<'_>) -> Option<Vec<u8>> {
        None
    }

    /// The connection was made: whatever was before is forgotten, and what must be said first is appended to `out`.
    fn opened(&mut self, out: &mut Vec<u8>);

    /// Appends a request. Only called when no other is in progress.
    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>);

    /// The next thing that the peer says in `input`, with how many bytes it took; none when it is not whole yet, and is to
    /// be offered again with more behind it. What has to be answered to it is appended to `out`.
    ///
    /// An error's code is `protocol`, `length` or one of the version's own; the connection is of no more use then.
    fn next<'i>(
        &mut self,
        input: &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, ResponseEvent<'i>)>, Failure>;

    /// The peer has closed the connection. Whether that completes the response in progress, whose body lasts until then;
    /// else what is wrong with it, also where there is none.
    fn closed(&mut self) -> Result<(), Failure>;
}
