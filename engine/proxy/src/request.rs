//! Framing of HTTP/1.1 requests: where each begins and ends (RFC 9112).

use memchr::memmem;

/// Longest header of a request that is followed; a longer one is passed on unseen.
pub const MAX_HEADER: usize = 64 * 1024;

/// Properties of a request that an answer to it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// HEAD: the response has no body.
    pub bodiless: bool,
    /// The connection is to stay open.
    pub keeps_alive: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub waits: bool,
    pub body: Body,
}

/// Framing of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    Bytes(u64),
    Chunked,
}

/// Length of the header at the start of `input`, the empty line included.
pub fn header_length(input: &[u8]) -> Option<usize> {
    memmem::find(input, b"\r\n\r\n").map(|at| at + 4)
}

/// Read a header; `None` if it is none of HTTP/1.1, or the connection changes to another protocol.
pub fn read(header: &[u8]) -> Option<Request> {
    let text = header.strip_suffix(b"\r\n\r\n")?;
    let mut lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut words = lines.next()?.splitn(3, |&byte| byte == b' ');
    let (method, _, version) = (words.next()?, words.next()?, words.next()?);
    if method == b"CONNECT" || !method.iter().all(u8::is_ascii_uppercase) || method.is_empty() {
        return None;
    }
    let mut request = Request {
        bodiless: method == b"HEAD",
        keeps_alive: match version {
            b"HTTP/1.1" => true,
            b"HTTP/1.0" => false,
            _ => return None,
        },
        waits: false,
        body: Body::Bytes(0),
    };
    for line in lines {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if is("content-length") && request.body != Body::Chunked {
            request.body = Body::Bytes(std::str::from_utf8(value).ok()?.parse().ok()?);
        } else if is("transfer-encoding") {
            request.body = Body::Chunked;
        } else if is("expect") {
            request.waits = true;
        } else if is("upgrade") {
            return None;
        } else if is("connection") {
            for word in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                if word.eq_ignore_ascii_case(b"close") {
                    request.keeps_alive = false;
                } else if word.eq_ignore_ascii_case(b"keep-alive") {
                    request.keeps_alive = true;
                }
            }
        }
    }
    Some(request)
}

/// Remaining part of a body in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    Bytes(u64),
    /// The line with a chunk's size: its digits so far, and whether they have ended.
    Size(u64, bool),
    /// Bytes of a chunk, its line end included.
    Chunk(u64),
    /// A line of the trailers: whether it has any bytes.
    Trailer(bool),
}

impl From<Body> for Remaining {
    fn from(body: Body) -> Self {
        match body {
            Body::Bytes(count) => Self::Bytes(count),
            Body::Chunked => Self::Size(0, false),
        }
    }
}

impl Remaining {
    /// True if the body is complete.
    pub fn is_over(self) -> bool {
        self == Self::Bytes(0)
    }

    /// Number of bytes at the start of `input` that belong to the body; `None` if its framing is broken.
    pub fn take(&mut self, input: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < input.len() && !self.is_over() {
            let here = input.len() - at;
            match self {
                Self::Bytes(count) => {
                    let size = here.min(usize::try_from(*count).unwrap_or(usize::MAX));
                    *count -= size as u64;
                    at += size;
                }
                Self::Chunk(count) => {
                    let size = here.min(usize::try_from(*count).unwrap_or(usize::MAX));
                    *count -= size as u64;
                    at += size;
                    if *count == 0 {
                        *self = Self::Size(0, false);
                    }
                }
                Self::Size(size, ended) => {
                    match (input[at] as char).to_digit(16) {
                        _ if input[at] == b'\n' => {
                            *self = if *size == 0 { Self::Trailer(false) } else { Self::Chunk(*size + 2) };
                        }
                        Some(digit) if !*ended => *size = size.checked_mul(16)? + u64::from(digit),
                        _ => *ended = true,
                    }
                    at += 1;
                }
                Self::Trailer(has_bytes) => {
                    match input[at] {
                        b'\n' if !*has_bytes => *self = Self::Bytes(0),
                        b'\n' => *has_bytes = false,
                        b'\r' => {}
                        _ => *has_bytes = true,
                    }
                    at += 1;
                }
            }
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Option<Request> {
        let header = format!("{text}\r\n\r\n");
        assert_eq!(header_length(format!("{header}rest").as_bytes()), Some(header.len()));
        read(header.as_bytes())
    }

    #[test]
    fn a_header_tells_the_framing_and_the_connections_end() {
        let plain = Request { bodiless: false, keeps_alive: true, waits: false, body: Body::Bytes(0) };
        assert_eq!(header("GET /a HTTP/1.1\r\nHost: b"), Some(plain));
        assert_eq!(header("HEAD / HTTP/1.1"), Some(Request { bodiless: true, ..plain }));
        assert_eq!(
            header("POST / HTTP/1.1\r\ncontent-length: 12\r\nConnection: x, Close\r\nExpect: 100-continue"),
            Some(Request { keeps_alive: false, waits: true, body: Body::Bytes(12), ..plain })
        );
        assert_eq!(
            header(
                "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: keep-alive"
            ),
            Some(Request { body: Body::Chunked, ..plain })
        );
        for other in
            ["PRI * HTTP/2.0", "GET /", "get / HTTP/1.1", "GET / HTTP/1.1\r\nUpgrade: h2c", "\x16\x03"]
        {
            assert_eq!(header(other), None, "{other}");
        }
    }

    #[test]
    fn a_body_ends_where_its_framing_says_however_it_is_cut() {
        let chunked = b"4;x=1\r\nabcd\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: 1\r\n\r\n";
        for (body, text) in [(Body::Chunked, &chunked[..]), (Body::Bytes(10), b"0123456789")] {
            let more = [text, b"GET / "].concat();
            for size in 1..=more.len() {
                let (mut remaining, mut taken) = (Remaining::from(body), 0);
                for piece in more.chunks(size) {
                    taken += remaining.take(piece).unwrap();
                    if remaining.is_over() {
                        break;
                    }
                }
                assert_eq!(taken, text.len(), "in pieces of {size}");
            }
        }
        assert_eq!(Remaining::Size(0, false).take(&[b'f'; 17]), None);
    }
}
