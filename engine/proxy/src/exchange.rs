//! Requests and responses of one HTTP/1.1 connection, some of which the proxy answers itself.
//!
//! A connection may be in use when it is first looked at. Its framing is known from the next request that
//! follows bytes of the server, because clients of HTTP/1.1 send one request at a time as a rule. From there
//! on requests may also be sent ahead (pipelining). A connection that does not carry HTTP/1.1 is passed on.

use std::collections::VecDeque;

use super::request::{self, MAX_HEADER, Remaining, Request};
use loadcell_protocols::http::{Limits, ResponseEvent};
use loadcell_protocols::http1::Decoder;

/// Position in the stream of requests.
#[derive(Debug)]
enum Position {
    /// A request is in progress that began before; true once the server has sent bytes since.
    Unknown(bool),
    /// Between requests, or in a header, whose bytes so far are held back.
    Header(Vec<u8>),
    /// In the body of a request that the server gets.
    Passing(Remaining),
    /// In the body of a request that the proxy has answered.
    Swallowing(Remaining),
    /// Not followed any more.
    Passive,
}

/// A response that the client waits for.
#[derive(Debug)]
enum Awaited {
    /// The server's; true of a response without a body.
    Server(bool),
    /// The proxy's, with whether it ends the connection.
    Proxy(Vec<u8>, bool),
}

/// Bytes that a call passes on.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub to_server: Vec<u8>,
    pub to_client: Vec<u8>,
    /// Number of own answers.
    pub answered: u64,
    /// The connection ends after these bytes.
    pub ends: bool,
}

/// The HTTP/1.1 side of a connection.
pub struct Exchange {
    position: Position,
    awaited: VecDeque<Awaited>,
    decoder: Decoder,
    /// Bytes of the server that the decoder has not consumed.
    undecoded: Vec<u8>,
}

impl Exchange {
    /// `in_use`: bytes of the client were the last ones, so that a request may be in progress.
    pub fn new(in_use: bool) -> Self {
        Self {
            position: if in_use { Position::Unknown(false) } else { Position::Header(Vec::new()) },
            awaited: VecDeque::new(),
            decoder: Decoder::new(Limits { header_bytes: MAX_HEADER }),
            undecoded: Vec::new(),
        }
    }

    /// True if nothing is held back, so that the connection need not be followed any more.
    pub fn is_idle(&self) -> bool {
        let ours = |awaited: &Awaited| matches!(awaited, Awaited::Proxy(..));
        match &self.position {
            Position::Header(held) => held.is_empty() && !self.awaited.iter().any(ours),
            Position::Swallowing(_) => false,
            _ => !self.awaited.iter().any(ours),
        }
    }

    /// Take bytes of the client. `chosen` decides whether a request is answered here, with which status.
    pub fn client_sent(&mut self, mut input: &[u8], mut chosen: impl FnMut() -> Option<u16>) -> Passed {
        let mut passed = Passed::default();
        if let Position::Unknown(server_sent) = self.position {
            if !server_sent {
                passed.to_server.extend_from_slice(input);
                return passed;
            }
            self.position = Position::Header(Vec::new());
        }
        while !input.is_empty() && !passed.ends {
            match &mut self.position {
                Position::Passive | Position::Unknown(_) => {
                    passed.to_server.extend_from_slice(input);
                    return passed;
                }
                Position::Header(held) => {
                    let before = held.len();
                    held.extend_from_slice(input);
                    let Some(length) = request::header_length(held) else {
                        if held.len() > MAX_HEADER {
                            self.give_up(&mut passed);
                        }
                        return passed;
                    };
                    input = &input[length - before..];
                    let Some(request) = request::read(&held[..length]) else {
                        self.give_up(&mut passed);
                        return passed;
                    };
                    held.truncate(length);
                    self.request(request, chosen(), &mut passed);
                }
                Position::Passing(remaining) => {
                    let Some(size) = remaining.take(input) else {
                        self.position = Position::Passive;
                        continue;
                    };
                    passed.to_server.extend_from_slice(&input[..size]);
                    input = &input[size..];
                    self.after_body();
                }
                Position::Swallowing(remaining) => {
                    let Some(size) = remaining.take(input) else {
                        passed.ends = true;
                        return passed;
                    };
                    input = &input[size..];
                    self.after_body();
                }
            }
        }
        passed
    }

    /// A header is complete and held back: pass it on or answer it.
    fn request(&mut self, request: Request, status: Option<u16>, passed: &mut Passed) {
        let Position::Header(held) = &mut self.position else { return };
        let remaining = Remaining::from(request.body);
        let Some(status) = status else {
            passed.to_server.append(held);
            self.expect(Awaited::Server(request.bodiless), passed);
            self.position = Position::Passing(remaining);
            return self.after_body();
        };
        // The body of a client that waits may come or not, so that the connection cannot be used again.
        let ends = !request.keeps_alive || request.waits;
        self.position = Position::Swallowing(remaining);
        self.expect(Awaited::Proxy(answer(status, request.bodiless, ends), ends), passed);
        passed.answered += 1;
        self.after_body();
    }

    fn after_body(&mut self) {
        if let Position::Passing(remaining) | Position::Swallowing(remaining) = self.position
            && remaining.is_over()
        {
            self.position = Position::Header(Vec::new());
        }
    }

    fn expect(&mut self, awaited: Awaited, passed: &mut Passed) {
        self.awaited.push_back(awaited);
        if self.awaited.len() == 1 {
            self.next_awaited(passed);
        }
    }

    /// Answer, as long as it is the proxy's turn; then expect the server's response.
    fn next_awaited(&mut self, passed: &mut Passed) {
        while let Some(awaited) = self.awaited.front() {
            match awaited {
                Awaited::Server(bodiless) => return self.decoder.expect(*bodiless),
                Awaited::Proxy(bytes, ends) => {
                    passed.to_client.extend_from_slice(bytes);
                    passed.ends |= ends;
                    self.awaited.pop_front();
                }
            }
        }
    }

    /// Take bytes of the server.
    pub fn server_sent(&mut self, input: &[u8]) -> Passed {
        let mut passed = Passed::default();
        if let Position::Unknown(server_sent) = &mut self.position {
            *server_sent = true;
        }
        if self.awaited.is_empty() || matches!(self.position, Position::Passive) {
            passed.to_client.extend_from_slice(input);
            return passed;
        }
        // The undecoded bytes were passed on when they came.
        let before = self.undecoded.len();
        let mut buffer = std::mem::take(&mut self.undecoded);
        buffer.extend_from_slice(input);
        let (mut at, mut sent) = (0, before);
        while !self.awaited.is_empty() {
            match self.decoder.next(&buffer[at..]) {
                Ok(Some((size, ResponseEvent::End { .. }))) => {
                    at += size;
                    passed.to_client.extend_from_slice(&buffer[sent..at.max(sent)]);
                    sent = at.max(sent);
                    self.awaited.pop_front();
                    self.next_awaited(&mut passed);
                }
                Ok(Some((size, _))) => at += size,
                Ok(None) => break,
                Err(_) => {
                    self.awaited.clear();
                    self.give_up(&mut passed);
                }
            }
        }
        passed.to_client.extend_from_slice(&buffer[sent..]);
        if !self.awaited.is_empty() {
            self.undecoded = buffer.split_off(at);
        }
        passed
    }

    /// Pass on whatever comes.
    fn give_up(&mut self, passed: &mut Passed) {
        if let Position::Header(held) = &mut self.position {
            passed.to_server.append(held);
        }
        self.position = Position::Passive;
    }
}

/// A response of the proxy's own.
fn answer(status: u16, bodiless: bool, ends: bool) -> Vec<u8> {
    let reason = match status {
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        507 => "Insufficient Storage",
        _ => "Server Error",
    };
    let connection = if ends { "Connection: close\r\n" } else { "" };
    let body = if bodiless { "" } else { reason };
    let length = reason.len();
    let fields = format!("Content-Type: text/plain\r\nContent-Length: {length}\r\n{connection}");
    format!("HTTP/1.1 {status} {reason}\r\n{fields}\r\n{body}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    fn never() -> Option<u16> {
        None
    }

    fn always() -> Option<u16> {
        Some(503)
    }

    fn status(bytes: &[u8]) -> Vec<String> {
        String::from_utf8_lossy(bytes)
            .split("HTTP/1.1 ")
            .skip(1)
            .map(|response| response[..3].to_string())
            .collect()
    }

    #[test]
    fn a_request_is_passed_on_or_answered_and_the_connection_stays_usable() {
        let mut exchange = Exchange::new(false);
        assert_eq!(exchange.client_sent(GET, never).to_server, GET);
        assert_eq!(exchange.server_sent(OK).to_client, OK);
        let passed = exchange.client_sent(GET, always);
        assert_eq!((passed.to_server.len(), passed.answered, passed.ends), (0, 1, false));
        assert_eq!(status(&passed.to_client), ["503"]);
        assert!(passed.to_client.ends_with(b"\r\n\r\nService Unavailable"));
        assert_eq!(exchange.client_sent(GET, never).to_server, GET);
        assert!(exchange.is_idle());
    }

    #[test]
    fn bytes_may_come_one_by_one() {
        let post: &[u8] = b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
        let text = [post, GET, post].concat();
        let mut choices = [None, Some(500), None].into_iter();
        let (mut exchange, mut to_server, mut to_client) = (Exchange::new(false), Vec::new(), Vec::new());
        for byte in text.chunks(1) {
            let passed = exchange.client_sent(byte, || choices.next().flatten());
            to_server.extend(passed.to_server);
            to_client.extend(passed.to_client);
        }
        assert_eq!(to_server, [post, post].concat());
        assert!(to_client.is_empty(), "the answer waits for the response before it");
        for byte in [OK, OK].concat().chunks(1) {
            to_client.extend(exchange.server_sent(byte).to_client);
        }
        assert_eq!(status(&to_client), ["200", "500", "200"]);
    }

    #[test]
    fn the_body_of_an_answered_request_is_swallowed() {
        let mut exchange = Exchange::new(false);
        let first = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab";
        assert_eq!(exchange.client_sent(first, always).answered, 1);
        assert!(!exchange.is_idle());
        let remaining = [b"c\r\n0\r\n\r\n", GET].concat();
        assert_eq!(exchange.client_sent(&remaining, never).to_server, GET);
    }

    #[test]
    fn a_connection_ends_where_client_or_framing_ask_for_it() {
        for (request, body) in [
            ("GET / HTTP/1.0\r\n\r\n", "Service Unavailable"),
            ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "Service Unavailable"),
            ("HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n", ""),
            ("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", "Service Unavailable"),
        ] {
            let passed = Exchange::new(false).client_sent(request.as_bytes(), always);
            assert!(passed.ends, "{request}");
            let text = String::from_utf8(passed.to_client).unwrap();
            assert!(text.contains("Connection: close") && text.ends_with(&format!("\r\n\r\n{body}")));
        }
    }

    #[test]
    fn a_connection_in_use_is_followed_from_its_next_request_on() {
        let mut exchange = Exchange::new(true);
        assert_eq!(exchange.client_sent(b"rest of a body", always).to_server, b"rest of a body");
        assert_eq!(exchange.server_sent(OK).to_client, OK);
        assert_eq!(exchange.client_sent(GET, always).answered, 1);
    }

    #[test]
    fn what_is_not_http_1_is_passed_on() {
        for text in
            [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81"]
        {
            let mut exchange = Exchange::new(false);
            assert_eq!(exchange.client_sent(text, always).to_server, text);
            assert_eq!(exchange.server_sent(b"\x00\x01").to_client, b"\x00\x01");
            assert_eq!(exchange.client_sent(GET, always).to_server, GET);
        }
    }
}
