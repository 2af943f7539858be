//! Incremental decoder of HTTP/1.1 responses.
//!
//! | state | awaited |
//! | --- | --- |
//! | `Idle` | nothing: no request is in progress |
//! | `Status` | the status line |
//! | `Fields` | header fields, and the empty line after them |
//! | `Fixed` | the remaining bytes of a body of declared length |
//! | `ChunkSize`, `Chunk`, `ChunkEnd` | a chunk's length, its remaining bytes, the end of its line |
//! | `Trailers` | fields after the last chunk, and the empty line after them |
//! | `UntilClosed` | the rest of a body that ends with the connection |
//! | `Done` | nothing: the response is complete, `End` not yet returned |
//!
//! Input is consumed line by line, so only an unfinished line is scanned twice. Lines end with LF; a CR
//! before it is dropped (RFC 9112, 2.2). A header that equals the previous one byte for byte is not parsed
//! again: servers repeat their headers except when the second in `Date` changes.

use memchr::memchr;

use crate::http::{Limits, ResponseEvent, WatchedFields};
use loadcell_core::error::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Status,
    Fields,
    Fixed(u64),
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    UntilClosed,
    Done,
}

/// Properties of the body and the connection, from the header fields.
#[derive(Clone, Copy, Debug)]
struct Head {
    status: u16,
    length: Option<u64>,
    /// The last transfer coding is `chunked`. With any other coding the body lasts until the connection
    /// closes.
    chunked: bool,
    coded: bool,
    again: bool,
}

impl Head {
    const NONE: Self = Self { status: 0, length: None, chunked: false, coded: false, again: true };
}

/// A header received in one piece, and its parsed form.
struct CachedHeader {
    bytes: Vec<u8>,
    bodiless: bool,
    head: Head,
    then: State,
}

impl CachedHeader {
    /// Limit of a cached header in bytes; longer ones are parsed each time, as every connection holds one.
    const LONGEST: usize = 1024;

    const NONE: Self = Self { bytes: Vec::new(), bodiless: false, head: Head::NONE, then: State::Idle };
}

pub struct Decoder {
    state: State,
    os: Limits,
    head: Head,
    cached: CachedHeader,
    /// The request was HEAD.
    bodiless: bool,
    /// Some bytes of the response have arrived.
    begun: bool,
    /// Bytes of header fields received, and of the body.
    fields: usize,
    body: u64,
    /// Watched fields of the last header that was parsed; they are those of `cached`, too, if it has one.
    pub watched: WatchedFields,
}

impl Decoder {
    pub fn new(os: Limits) -> Self {
        let (state, head) = (State::Idle, Head::NONE);
        Self {
            state,
            os,
            head,
            cached: CachedHeader::NONE,
            bodiless: false,
            begun: false,
            fields: 0,
            body: 0,
            watched: WatchedFields::default(),
        }
    }

    /// Reset for a new connection.
    pub fn reset(&mut self) {
        let watched = std::mem::take(&mut self.watched);
        *self = Self { watched, ..Self::new(self.os) };
    }

    /// Expect the response to a request. `bodiless`: the request was HEAD, whose response declares a body but
    /// has none.
    #[inline]
    pub fn expect(&mut self, bodiless: bool) {
        (self.state, self.head, self.bodiless) = (State::Status, Head::NONE, bodiless);
        (self.begun, self.fields, self.body) = (false, 0, 0);
    }

    /// Decode the next event of `input`, with the bytes consumed; `None` when more input is needed.
    #[inline(always)]
    pub fn next<'i>(&mut self, input: &'i [u8]) -> Result<Option<(usize, ResponseEvent<'i>)>, Failure> {
        match self.state {
            State::Done => {
                self.state = State::Idle;
                Ok(Some((0, ResponseEvent::End { again: self.head.again })))
            }
            _ if input.is_empty() => Ok(None),
            State::Status | State::Fields => {
                self.begun = true;
                match self.recognized(input) {
                    Some(event) => Ok(Some(event)),
                    None => self.lines(input),
                }
            }
            State::Fixed(remaining) => {
                let size = input.len().min(usize::try_from(remaining).unwrap_or(usize::MAX));
                let remaining = remaining - size as u64;
                self.body += size as u64;
                self.state = if remaining == 0 { State::Done } else { State::Fixed(remaining) };
                Ok(Some((size, ResponseEvent::Body(&input[..size]))))
            }
            _ => self.uncommon(input),
        }
    }

    /// Reuse the parsed header if `input` starts with the same bytes.
    #[inline]
    fn recognized<'i>(&mut self, input: &'i [u8]) -> Option<(usize, ResponseEvent<'i>)> {
        let cached = &self.cached;
        if self.state != State::Status || self.bodiless != cached.bodiless || cached.bytes.is_empty() {
            return None;
        }
        input.starts_with(&cached.bytes).then(|| {
            (self.state, self.head) = (cached.then, cached.head);
            (cached.bytes.len(), ResponseEvent::Status(cached.head.status))
        })
    }

    /// Cache the parsed final header if `bytes` is all of it.
    fn remember(&mut self, bytes: &[u8], complete: bool) {
        self.cached.bytes.clear();
        if complete && bytes.len() <= CachedHeader::LONGEST {
            self.cached.bytes.extend_from_slice(bytes);
            (self.cached.bodiless, self.cached.head, self.cached.then) =
                (self.bodiless, self.head, self.state);
        }
    }

    /// Parse all complete header lines.
    fn lines<'i>(&mut self, input: &'i [u8]) -> Result<Option<(usize, ResponseEvent<'i>)>, Failure> {
        let mut at = 0;
        while let Some(length) = memchr(b'\n', &input[at..]) {
            let line = without_cr(&input[at..at + length]);
            at += length + 1;
            self.count(length + 1)?;
            if self.state == State::Status {
                self.status(line)?;
                self.state = State::Fields;
            } else if line.is_empty() {
                let complete = self.fields == at;
                let event = self.end_of_fields()?;
                if matches!(event, ResponseEvent::Status(_)) {
                    self.remember(&input[..at], complete);
                }
                return Ok(Some((at, event)));
            } else {
                self.field(line)?;
            }
        }
        self.room_for(input.len() - at)?;
        Ok((at > 0).then_some((at, ResponseEvent::Part)))
    }

    fn status(&mut self, line: &[u8]) -> Result<(), Failure> {
        let bad = || malformed(format!("{} is no status line of HTTP/1", quoted(line)));
        let remaining = line.strip_prefix(b"HTTP/1.").ok_or_else(bad)?;
        let &[minor @ (b'0' | b'1'), b' ', a, b, c, ref reason @ ..] = remaining else { return Err(bad()) };
        if ![a, b, c].iter().all(u8::is_ascii_digit)
            || a == b'0'
            || reason.first().is_some_and(|&next| next != b' ')
        {
            return Err(bad());
        }
        let digit = |digit: u8| u16::from(digit - b'0');
        self.head.status = 100 * digit(a) + 10 * digit(b) + digit(c);
        self.watched.begin();
        self.head.again = minor == b'1';
        Ok(())
    }

    /// Parse one header field; only a few affect the message framing.
    #[inline]
    fn field(&mut self, line: &[u8]) -> Result<(), Failure> {
        let Some(colon) = memchr(b':', line) else {
            // Obsolete line folding: no field that matters here may use it (RFC 9112, 5.2).
            if matches!(line[0], b' ' | b'\t') {
                return Ok(());
            }
            return Err(malformed(format!("{} is no header field", quoted(line))));
        };
        let name = &line[..colon];
        self.watched.take(name, &line[colon + 1..]);
        match name.len() {
            0 => Err(malformed(format!("{} is a header field without a name", quoted(line)))),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for word in words(&line[colon + 1..]) {
                    if word.eq_ignore_ascii_case(b"close") {
                        self.head.again = false;
                    } else if word.eq_ignore_ascii_case(b"keep-alive") && self.head.status != 0 {
                        self.head.again = true;
                    }
                }
                Ok(())
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                for word in words(&line[colon + 1..]) {
                    let length = decimal(word)
                        .ok_or_else(|| malformed(format!("{} is no length of a body", quoted(word))))?;
                    if self.head.length.is_some_and(|other| other != length) {
                        return Err(malformed("it tells two lengths of one body".into()));
                    }
                    self.head.length = Some(length);
                }
                Ok(())
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                for word in words(&line[colon + 1..]) {
                    self.head.coded = true;
                    self.head.chunked = word.eq_ignore_ascii_case(b"chunked");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Determine the framing of the body (RFC 9112, 6.3).
    #[inline]
    fn end_of_fields<'i>(&mut self) -> Result<ResponseEvent<'i>, Failure> {
        let head = &mut self.head;
        self.state = match head.status {
            101 => return Err(malformed("it changed to another protocol, which nobody asked for".into())),
            100..200 => {
                self.cached.bytes.clear(); // Its watched fields are overwritten.
                self.expect(self.bodiless);
                return Ok(ResponseEvent::Part);
            }
            204 | 304 => State::Done,
            _ if self.bodiless => State::Done,
            _ if head.chunked => {
                head.again &= head.length.is_none(); // With both, an intermediary may see a different end.
                State::ChunkSize
            }
            _ if !head.coded && head.length == Some(0) => State::Done,
            _ if !head.coded && head.length.is_some() => State::Fixed(head.length.unwrap_or_default()),
            _ => {
                head.again = false;
                State::UntilClosed
            }
        };
        self.fields = 0;
        Ok(ResponseEvent::Status(head.status))
    }

    fn uncommon<'i>(&mut self, input: &'i [u8]) -> Result<Option<(usize, ResponseEvent<'i>)>, Failure> {
        match self.state {
            State::ChunkSize => {
                let Some((size, line)) = self.line(input)? else { return Ok(None) };
                self.fields = 0;
                self.state = match chunk_size(line) {
                    Some(0) => State::Trailers,
                    Some(size) => State::Chunk(size),
                    None => return Err(malformed(format!("{} is no size of a chunk", quoted(line)))),
                };
                Ok(Some((size, ResponseEvent::Part)))
            }
            State::Chunk(remaining) => {
                let size = input.len().min(usize::try_from(remaining).unwrap_or(usize::MAX));
                let remaining = remaining - size as u64;
                self.body += size as u64;
                self.state = if remaining == 0 { State::ChunkEnd } else { State::Chunk(remaining) };
                Ok(Some((size, ResponseEvent::Body(&input[..size]))))
            }
            State::ChunkEnd => {
                let size = match input {
                    [b'\n', ..] => 1,
                    [b'\r', b'\n', ..] => 2,
                    [b'\r'] => return Ok(None),
                    _ => return Err(malformed("a chunk is longer than its size".into())),
                };
                self.state = State::ChunkSize;
                Ok(Some((size, ResponseEvent::Part)))
            }
            State::Trailers => {
                let Some((size, line)) = self.line(input)? else { return Ok(None) };
                if line.is_empty() {
                    self.state = State::Done;
                }
                Ok(Some((size, ResponseEvent::Part)))
            }
            State::UntilClosed => {
                self.body += input.len() as u64;
                Ok(Some((input.len(), ResponseEvent::Body(input))))
            }
            _ => Err(Failure {
                code: "length".into(),
                message: "the server sent more than its response was to have".into(),
            }),
        }
    }

    /// One complete line without its terminator.
    fn line<'i>(&mut self, input: &'i [u8]) -> Result<Option<(usize, &'i [u8])>, Failure> {
        match memchr(b'\n', input) {
            Some(length) => {
                self.count(length + 1)?;
                Ok(Some((length + 1, without_cr(&input[..length]))))
            }
            None => {
                self.room_for(input.len())?;
                Ok(None)
            }
        }
    }

    #[inline]
    fn count(&mut self, bytes: usize) -> Result<(), Failure> {
        self.fields += bytes;
        self.room_for(0)
    }

    #[inline]
    fn room_for(&self, bytes: usize) -> Result<(), Failure> {
        if self.fields + bytes <= self.os.header_bytes {
            return Ok(());
        }
        Err(malformed(format!(
            "its header fields are longer than {} bytes; `header_limit` may be raised",
            self.os.header_bytes
        )))
    }

    /// The peer closed the connection. `Ok` if that completes the response, otherwise what is missing.
    pub fn closed(&mut self) -> Result<(), Failure> {
        let short = |message: String| Err(Failure { code: "length".into(), message });
        match self.state {
            State::UntilClosed | State::Done => {
                self.state = State::Idle;
                Ok(())
            }
            State::Idle | State::Status | State::Fields if !self.begun || self.state == State::Idle => {
                Err(Failure { code: "connection".into(), message: "the server closed the connection".into() })
            }
            State::Fixed(remaining) => short(format!(
                "the response ended after {} bytes of its body, which was to have {}",
                self.body,
                self.body + remaining
            )),
            State::Chunk(_) | State::ChunkEnd | State::ChunkSize | State::Trailers => short(format!(
                "the response ended after {} bytes of its body, before the last chunk",
                self.body
            )),
            _ => short("the response ended within its header".into()),
        }
    }
}

#[inline]
fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Elements of a comma-separated list, trimmed.
fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty())
}

fn decimal(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Parse a chunk size in hexadecimal; extensions after it are ignored.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let end = memchr(b';', line).unwrap_or(line.len());
    let digits = line[..end].trim_ascii_end();
    if !(1..=16).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(16)?;
        Some(number << 4 | u64::from(digit))
    })
}

#[cold]
fn malformed(message: String) -> Failure {
    Failure { code: "protocol".into(), message: format!("the server does not keep to HTTP: {message}") }
}

/// The start of the received bytes, escaped for messages.
fn quoted(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = bytes[..bytes.len().min(SHOWN)].escape_ascii();
    format!("\"{text}{}\"", if bytes.len() > SHOWN { "..." } else { "" })
}
