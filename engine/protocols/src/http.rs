//! Interface between HTTP versions and sessions. Versions are sans-I/O, as every protocol.
//!
//! Through this trait a connection carries one request at a time: `opened`, then repeatedly `request` and
//! `next` until `End`. Concurrent requests of HTTP/2 are in `streams`.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;

use crate::http2::Code;
use crate::http2::hpack::encode as hpack;
use loadcell_core::error::Failure;

/// HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Version {
    #[serde(rename = "1.1")]
    One,
    #[serde(rename = "2")]
    Two,
}

impl Version {
    /// ALPN protocol name (RFC 7301).
    pub fn alpn(self) -> &'static str {
        match self {
            Self::One => "http/1.1",
            Self::Two => "h2",
        }
    }
}

/// Limits on data sent by a peer, against exhaustion of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Total size of a response's header fields in bytes, trailers included.
    pub header_bytes: usize,
}

/// Header fields of a request except those that describe its body. Built once unless they vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Host and port, as sent to the peer.
    pub authority: String,
    /// Names in lower case, with values; without `host`, `connection`, `content-length` and
    /// `transfer-encoding`.
    pub list: Vec<(String, Vec<u8>)>,
    /// The connection ends with the response.
    pub last: bool,
    version: Version,
    /// Encoded fields: in HTTP/1.1 from `Host` on, in HTTP/2 from `:scheme` on.
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

    /// Encode again, after a value in `list` has changed.
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

/// Header fields of responses that a session reads; all others are skipped.
#[derive(Clone, Debug, Default)]
pub struct WatchedFields {
    /// Names in lower case.
    names: Arc<[String]>,
    /// One bit per length of a name, the highest for all longer ones.
    lengths: u64,
    /// Fields of the last response: the number of the name, and the value's place in `text`.
    fields: Vec<(usize, Range<usize>)>,
    text: Vec<u8>,
}

impl WatchedFields {
    /// `names` are in lower case.
    pub fn new(names: Arc<[String]>) -> Self {
        let lengths = names.iter().fold(0, |bits, name| bits | Self::bit(name.len()));
        Self { names, lengths, ..Self::default() }
    }

    fn bit(length: usize) -> u64 {
        1 << length.min(63)
    }

    /// Starts the fields of another response.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.fields.clear();
        self.text.clear();
    }

    /// Stores a field if its name is watched.
    #[inline]
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) {
        if self.lengths & Self::bit(name.len()) != 0 {
            self.store(name, value);
        }
    }

    fn store(&mut self, name: &[u8], value: &[u8]) {
        let same = |watched: &String| watched.as_bytes().eq_ignore_ascii_case(name);
        if let Some(number) = self.names.iter().position(same) {
            let start = self.text.len();
            self.text.extend_from_slice(value.trim_ascii());
            self.fields.push((number, start..self.text.len()));
        }
    }

    /// True if the last response has none of them.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Values of the name with this number, in the order of the response.
    pub fn values(&self, number: usize) -> impl Iterator<Item = &[u8]> {
        let meant = self.fields.iter().filter(move |(name, _)| *name == number);
        meant.map(|(_, range)| &self.text[range.clone()])
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
    /// Result of [`Http::written`], if the request never varies.
    pub written: Option<&'a [u8]>,
}

/// Event of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEvent<'i> {
    /// Nothing that concerns the request.
    Nothing,
    /// Progress of the response without content.
    Part,
    /// The peer has not processed the request and will not: it can be repeated on another connection.
    Refused,
    /// The peer has reset the request, with this code; the connection remains usable.
    Reset(Code),
    /// The connection cannot carry another request.
    Leaving,
    /// Status of the response; its header fields are complete.
    Status(u16),
    /// A piece of its body.
    Body(&'i [u8]),
    /// The response is complete. `again`: the connection can carry another request.
    End { again: bool },
}

/// Client side of one connection in some HTTP version. Typical requests allocate nothing.
pub trait Http {
    fn new(os: Limits) -> Self;

    /// Store these header fields of each response from now on.
    fn watch(&mut self, fields: WatchedFields);

    /// Watched header fields of the response whose status was the last event.
    fn watched(&self) -> &WatchedFields;

    /// The complete encoding of a request, if it is identical on every connection.
    fn written(_: &Request<'_>) -> Option<Vec<u8>> {
        None
    }

    /// The connection is established: reset all state, and append the preface to `out`.
    fn opened(&mut self, out: &mut Vec<u8>);

    /// Append a request. Only called when no other is in progress.
    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>);

    /// Decode the next event of `input`, with the bytes consumed; `None` when more input is needed, to be
    /// offered again. Replies are appended to `out`.
    ///
    /// The code of an error is `protocol`, `length` or specific to the version; the connection is unusable
    /// then.
    fn next<'i>(
        &mut self,
        input: &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, ResponseEvent<'i>)>, Failure>;

    /// The peer closed the connection. `Ok` if that completes the current response; otherwise the failure,
    /// also when no response is in progress.
    fn closed(&mut self) -> Result<(), Failure>;
}
