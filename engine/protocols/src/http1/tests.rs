use proptest::prelude::*;

use super::Http1;
use crate::http::{Fields, Http, Limits, Request, ResponseEvent, Version, WatchedFields};
use loadcell_core::error::Failure;

const FEW: Limits = Limits { header_bytes: 4096 };

/// A decoded response: status, body, and whether the connection can be reused.
#[derive(Debug, Default, PartialEq, Eq)]
struct Response {
    status: Option<u16>,
    body: Vec<u8>,
    again: Option<bool>,
    unconsumed: usize,
}

fn announce(method: &str) -> (Http1, Vec<u8>) {
    let fields = Fields::new(Version::One, "http", "h:1", vec![("accept".into(), b"*/*".to_vec())], false);
    let (mut http, mut out) = (Http1::new(FEW), Vec::new());
    http.opened(&mut out);
    assert!(out.is_empty());
    http.request(
        &Request { method, target: b"/x?y=1", fields: &fields, body: None, written: None },
        &mut out,
    );
    (http, out)
}

/// Feed `bytes` in pieces of `piece` bytes; unconsumed bytes are offered again, as by the reactor.
fn feed(http: &mut Http1, bytes: &[u8], piece: usize) -> Result<Response, Failure> {
    let mut response = Response::default();
    let mut unread = Vec::new();
    for bytes in bytes.chunks(piece.max(1)) {
        unread.extend_from_slice(bytes);
        let mut at = 0;
        while response.again.is_none()
            && let Some((size, event)) = http.next(&unread[at..], &mut Vec::new())?
        {
            assert!(size > 0 || matches!(event, ResponseEvent::End { .. }), "it makes progress");
            at += size;
            match event {
                ResponseEvent::Nothing | ResponseEvent::Part => {}
                ResponseEvent::Status(status) => assert_eq!(response.status.replace(status), None),
                ResponseEvent::Body(body) => response.body.extend_from_slice(body),
                ResponseEvent::Refused | ResponseEvent::Reset(_) | ResponseEvent::Leaving => {
                    unreachable!("only HTTP/2 says such")
                }
                ResponseEvent::End { again } => response.again = Some(again),
            }
        }
        unread.drain(..at);
    }
    response.unconsumed = unread.len();
    Ok(response)
}

/// Decode `bytes` with several piece sizes and require equal results.
fn answer(method: &str, bytes: &[u8]) -> Result<Response, Failure> {
    let expected = feed(&mut announce(method).0, bytes, bytes.len());
    for piece in [1, 2, 3, 7] {
        assert_eq!(feed(&mut announce(method).0, bytes, piece), expected, "in pieces of {piece}");
    }
    expected
}

fn good(bytes: &[u8]) -> (u16, String, Option<bool>) {
    let response = answer("GET", bytes).unwrap();
    assert_eq!(response.unconsumed, 0);
    (response.status.unwrap(), String::from_utf8(response.body).unwrap(), response.again)
}

fn bad(bytes: &[u8]) -> String {
    let why = answer("GET", bytes).unwrap_err();
    assert_eq!(why.code, "protocol");
    why.message
}

#[test]
fn request_headers_describe_the_body() {
    let (_, out) = announce("GET");
    assert_eq!(out, b"GET /x?y=1 HTTP/1.1\r\nHost: h:1\r\naccept: */*\r\n\r\n");
    let (_, out) = announce("POST");
    assert!(out.ends_with(b"Content-Length: 0\r\n\r\n"));
    let fields = Fields::new(Version::One, "https", "h", Vec::new(), true);
    let (mut http, mut out) = (Http1::new(FEW), Vec::new());
    http.request(
        &Request { method: "PUT", target: b"/", fields: &fields, body: Some(b"abc"), written: None },
        &mut out,
    );
    assert_eq!(out, b"PUT / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc");
}

#[test]
fn body_ends_at_its_declared_length() {
    let event = good(b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-LENGTH:  5 \r\n\r\nhello");
    assert_eq!(event, (200, "hello".into(), Some(true)));
    assert_eq!(good(b"HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n"), (404, String::new(), Some(true)));
    assert_eq!(good(b"HTTP/1.1 200 OK\nContent-Length: 2, 2\n\nok"), (200, "ok".into(), Some(true)));
}

#[test]
fn chunked_body_ends_with_the_last_chunk() {
    let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;name=value\r\nhello\r\n00A \r\n, chunked!\r\n0\r\nDate: never\r\nX: y\r\n\r\n";
    assert_eq!(good(chunks), (200, "hello, chunked!".into(), Some(true)));
    let both = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\
        Transfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    assert_eq!(good(both), (200, "x".into(), Some(false)));
}

#[test]
fn body_without_length_ends_with_the_connection() {
    for head in
        ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\n"]
    {
        let mut http = announce("GET").0;
        let response = feed(&mut http, format!("{head}some text").as_bytes(), 4).unwrap();
        assert_eq!(
            (response.status, response.body.as_slice(), response.again),
            (Some(200), &b"some text"[..], None)
        );
        http.closed().unwrap();
    }
}

#[test]
fn some_responses_never_have_a_body() {
    assert_eq!(
        good(b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n"),
        (204, String::new(), Some(true))
    );
    assert_eq!(good(b"HTTP/1.1 304 Not Modified\r\n\r\n"), (304, String::new(), Some(true)));
    let response = answer("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").unwrap();
    assert_eq!((response.status, response.again), (Some(200), Some(true)));
}

#[test]
fn interim_responses_are_skipped() {
    let early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n.";
    assert_eq!(good(early), (200, ".".into(), Some(true)));
    assert!(bad(b"HTTP/1.1 101 Switching Protocols\r\n\r\n").contains("another protocol"));
}

#[test]
fn server_decides_whether_the_connection_persists() {
    let of = |head: &str| good(format!("{head}\r\nContent-Length: 0\r\n\r\n").as_bytes()).2;
    assert_eq!(of("HTTP/1.1 200 OK\r\nConnection: Close"), Some(false));
    assert_eq!(of("HTTP/1.1 200 OK\r\nConnection: x, close"), Some(false));
    assert_eq!(of("HTTP/1.0 200 OK"), Some(false));
    assert_eq!(of("HTTP/1.0 200 OK\r\nConnection: keep-alive"), Some(true));
}

#[test]
fn non_http_input_is_reported() {
    assert!(bad(b"SSH-2.0-OpenSSH_9.2\r\n").contains("\"SSH-2.0-OpenSSH_9.2\" is no status line"));
    assert!(bad(b"HTTP/2 200 OK\r\n").contains("no status line"));
    assert!(bad(b"HTTP/1.1 20 OK\r\n").contains("no status line"));
    assert!(bad(b"HTTP/1.1 2000 OK\r\n").contains("no status line"));
    assert!(bad(b"HTTP/1.1 200 OK\r\nno colon\r\n").contains("no header field"));
    assert!(bad(b"HTTP/1.1 200 OK\r\n: x\r\n").contains("without a name"));
    assert!(bad(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n").contains("no length"));
    assert!(bad(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n").contains("no length"));
    assert!(
        bad(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n").contains("two lengths")
    );
}

#[test]
fn malformed_chunks_are_reported() {
    let of = |chunks: &str| {
        bad(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}").as_bytes())
    };
    assert!(of("zz\r\n").contains("\"zz\" is no size of a chunk"));
    assert!(of("\r\n").contains("no size of a chunk"));
    assert!(of("-1\r\n").contains("no size of a chunk"));
    assert!(of("11112222333344445\r\n").contains("no size of a chunk"));
    assert!(of("2\r\nabc\r\n").contains("longer than its size"));
}

#[test]
fn header_limit_covers_headers_and_trailers() {
    let long = "y".repeat(5000);
    assert!(bad(format!("HTTP/1.1 200 OK\r\nX: {long}").as_bytes()).contains("longer than 4096 bytes"));
    let many = "X: y\r\n".repeat(1000);
    assert!(bad(format!("HTTP/1.1 200 OK\r\n{many}").as_bytes()).contains("longer than 4096 bytes"));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert!(bad(format!("{chunked}0\r\n{many}").as_bytes()).contains("longer than 4096 bytes"));
    assert!(bad(format!("{chunked}1;{long}").as_bytes()).contains("longer than 4096 bytes"));
    // Chunk sizes do not count towards the limit of header fields, however many there are.
    let chunks = "1\r\nx\r\n".repeat(3000);
    assert_eq!(good(format!("{chunked}{chunks}0\r\n\r\n").as_bytes()).1.len(), 3000);
}

#[test]
fn truncated_responses_are_reported() {
    let of = |bytes: &[u8]| {
        let mut http = announce("GET").0;
        feed(&mut http, bytes, bytes.len()).unwrap();
        http.closed().unwrap_err()
    };
    assert_eq!(of(b"").code, "connection");
    assert!(of(b"HTTP/1.1 2").message.contains("within its header"));
    assert!(of(b"HTTP/1.1 200 OK\r\nContent-Le").message.contains("within its header"));
    let short = of(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcd");
    assert_eq!(
        (short.code.as_str(), short.message.contains("after 4 bytes of its body, which was to have 10")),
        ("length", true)
    );
    for chunks in ["", "5\r\nabc", "3\r\nabc", "3\r\nabc\r\n", "0\r\n"] {
        let short = of(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}").as_bytes());
        assert!(short.code == "length" && short.message.contains("before the last chunk"), "{short:?}");
    }
    let mut idle = Http1::new(FEW);
    assert_eq!(idle.closed().unwrap_err().code, "connection");
}

#[test]
fn surplus_bytes_are_an_error() {
    let mut http = announce("GET").0;
    let response = feed(&mut http, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more", 99).unwrap();
    assert_eq!((response.body.as_slice(), response.unconsumed), (&b"ok"[..], 9));
    assert_eq!(http.next(b" and more", &mut Vec::new()).unwrap_err().code, "length");
}

/// Headers of a body of three bytes, with small differences in text or meaning.
const HEADS: [&str; 6] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nx: 1\r\n\r\n",
    "HTTP/1.1 404 OK\r\nContent-Length: 3\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 100 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
];

proptest! {
    /// Arbitrary bytes never panic and decode independently of how they are split.
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1usize..20) {
        let expected = feed(&mut announce("GET").0, &bytes, bytes.len());
        let cut = feed(&mut announce("GET").0, &bytes, piece);
        prop_assert_eq!(expected.is_ok(), cut.is_ok());
    }

    /// Responses with one damaged byte never panic either.
    #[test]
    fn damaged_responses_never_panic(
        lines in prop::collection::vec("(Content-Length|Transfer-Encoding|Connection|X)?:? \
            ?(chunked|close|[0-9]{1,3}|gzip)?[ ,;\r]?", 0..6),
        body in prop::collection::vec(prop::sample::select(&b"0159aF\r\n; x"[..]), 0..60),
        status in prop::sample::select(vec![100u16, 200, 204, 304, 404, 999]),
        piece in 1usize..9,
    ) {
        let mut bytes = format!("HTTP/1.1 {status} x\r\n{}\r\n\r\n", lines.join("\r\n")).into_bytes();
        bytes.extend_from_slice(&body);
        let expected = feed(&mut announce("GET").0, &bytes, bytes.len());
        prop_assert_eq!(feed(&mut announce("GET").0, &bytes, piece), expected);
    }

    /// A cached header decodes like a parsed one.
    #[test]
    fn cached_headers_decode_like_parsed_ones(
        responses in prop::collection::vec((prop::sample::select(&HEADS[..]), any::<bool>(), 0usize..4),
            1..8),
    ) {
        let (mut http, _) = announce("GET");
        for (head, alone, cut) in responses {
            let (method, body) = if alone { ("HEAD", "") } else { ("GET", "abc") };
            let bytes = [head, body].concat();
            let piece = [bytes.len(), head.len(), 7, 1][cut];
            let fields = Fields::new(Version::One, "http", "h", Vec::new(), false);
            http.request(&Request { method, target: b"/", fields: &fields, body: None, written: None },
                &mut Vec::new());
            let response = feed(&mut http, bytes.as_bytes(), piece);
            prop_assert_eq!(&response, &feed(&mut announce(method).0, bytes.as_bytes(), piece));
            if response.is_err() {
                break;
            }
        }
    }

    /// A body arrives complete, chunked or not, however it is split.
    #[test]
    fn bodies_arrive_complete_however_split(
        body in prop::collection::vec(any::<u8>(), 0..400),
        chunk in 1usize..99,
        piece in 1usize..99,
    ) {
        let mut fixed = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        fixed.extend_from_slice(&body);
        let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for part in body.chunks(chunk) {
            chunked.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            chunked.extend_from_slice(part);
            chunked.extend_from_slice(b"\r\n");
        }
        chunked.extend_from_slice(b"0\r\n\r\n");
        for bytes in [fixed, chunked] {
            let response = feed(&mut announce("GET").0, &bytes, piece).unwrap();
            prop_assert_eq!((&response.body, response.again, response.unconsumed), (&body, Some(true), 0));
        }
    }
}

#[test]
fn watched_fields_are_those_of_the_last_response() {
    let fields = Fields::new(Version::One, "http", "h", Vec::new(), false);
    let get = Request { method: "GET", target: b"/", fields: &fields, body: None, written: None };
    let mut http = Http1::new(FEW);
    http.watch(WatchedFields::new(["set-cookie".to_string(), "x".to_string()].into()));
    http.opened(&mut Vec::new());
    let mut watched = |response: &str, piece: usize| {
        http.request(&get, &mut Vec::new());
        feed(&mut http, response.as_bytes(), piece).unwrap();
        let values = |number| http.watched().values(number).map(String::from_utf8_lossy).collect::<Vec<_>>();
        (values(0).join("|"), values(1).join("|"), http.watched().is_empty())
    };
    let cookies =
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX:  y \r\nset-cookie:b=2\r\nContent-Length: 0\r\n\r\n";
    let expected = ("a=1|b=2".to_string(), "y".to_string(), false);
    for piece in [1000, 1000, 7, 1000] {
        assert_eq!(watched(cookies, piece), expected, "also of a header that is recognized");
    }
    let interim = format!("HTTP/1.1 103 Early Hints\r\nX: early\r\n\r\n{cookies}");
    assert_eq!(watched(&interim, 1000), expected);
    assert_eq!(watched(&interim, 1000), expected);
    let none = "HTTP/1.1 200 OK\r\nCookie: a\r\nXy: z\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(watched(none, 1000), (String::new(), String::new(), true));
}
