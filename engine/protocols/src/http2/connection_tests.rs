mod violation_tests;

use super::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PRIORITISED, PRIORITY,
    PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::*;
use crate::http::{Fields, Http, Limits, Request, ResponseEvent, Version};
use loadcell_core::error::Failure;

const LIMITS: Limits = Limits { header_bytes: 64 << 10 };

/// `:status: 200` and nothing else.
const OK: &[u8] = &[0x88];

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::head(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out
}

pub fn settings(list: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::settings(&mut out, list);
    out
}

pub fn go_away(last: u32, code: u32, text: &str) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[&last.to_be_bytes(), &code.to_be_bytes(), text.as_bytes()].concat())
}

/// Make a request with a minimal header block, or with one that is longer than a frame.
pub fn ask(client: &mut Http2, method: &str, target: &str, body: Option<&[u8]>, out: &mut Vec<u8>) {
    ask_with(client, method, target, Vec::new(), body, out);
}

/// Make one of several concurrent requests.
pub fn ask_tagged(client: &mut Http2, tag: u32, out: &mut Vec<u8>) {
    let fields = Fields::new(Version::Two, "http", "a.b", Vec::new(), false);
    client.ask(
        &Request { method: "GET", target: b"/", fields: &fields, body: None, written: None },
        tag,
        out,
    );
}

fn ask_with(
    client: &mut Http2,
    method: &str,
    target: &str,
    list: Vec<(String, Vec<u8>)>,
    body: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let fields = Fields::new(Version::Two, "http", "a.b", list, false);
    client.request(&Request { method, target: target.as_bytes(), fields: &fields, body, written: None }, out);
}

/// A client after the exchange of prefaces and settings.
struct Harness {
    client: Http2,
    out: Vec<u8>,
}

impl Harness {
    fn with(settings_of_server: &[(u16, u32)]) -> Self {
        let mut harness = Self { client: Http2::new(LIMITS), out: Vec::new() };
        harness.client.opened(&mut harness.out);
        assert_eq!(harness.feed(&settings(settings_of_server)), Ok(String::new()));
        harness.out.clear();
        harness
    }

    fn new() -> Self {
        Self::with(&[])
    }

    fn announce() -> Self {
        let mut harness = Self::new();
        harness.get();
        harness
    }

    fn get(&mut self) {
        ask(&mut self.client, "GET", "/", None, &mut self.out);
        self.out.clear();
    }

    fn post(&mut self, body: &[u8]) {
        ask(&mut self.client, "POST", "/", Some(body), &mut self.out);
    }

    /// The events of `input` in short form: `200`, the body, `end` or `last`.
    fn feed(&mut self, input: &[u8]) -> Result<String, Failure> {
        let (mut at, mut events) = (0, Vec::new());
        while let Some((size, event)) = self.client.next(&input[at..], &mut self.out)? {
            at += size;
            match event {
                ResponseEvent::Nothing | ResponseEvent::Part => {}
                ResponseEvent::Refused => events.push("refused".into()),
                ResponseEvent::Reset(code) => events.push(format!("reset {}", code.name())),
                ResponseEvent::Leaving => events.push("leaving".into()),
                ResponseEvent::Status(status) => events.push(status.to_string()),
                ResponseEvent::Body(piece) => events.push(String::from_utf8_lossy(piece).into()),
                ResponseEvent::End { again } => events.push(if again { "end" } else { "last" }.into()),
            }
        }
        assert_eq!(at, input.len(), "all is heard");
        Ok(events.join(" "))
    }

    fn refuse(&mut self, input: &[u8]) -> Failure {
        self.feed(input).unwrap_err()
    }

    fn why(&mut self) -> Failure {
        self.client.closed().unwrap_err()
    }

    /// The frames that were sent: kind, flags, stream, length.
    fn sent(&mut self) -> Vec<(u8, u8, u32, usize)> {
        let out = std::mem::take(&mut self.out);
        let (mut remaining, mut frames) = (&out[..], Vec::new());
        while let Some((head, after)) = remaining.split_first_chunk() {
            let frame = frame::Frame::read(head);
            frames.push((frame.kind, frame.flags, frame.stream, frame.length));
            remaining = &after[frame.length..];
        }
        assert!(remaining.is_empty());
        frames
    }
}

#[test]
fn connection_starts_with_preface_and_settings() {
    let mut harness = Harness { client: Http2::new(LIMITS), out: Vec::new() };
    harness.client.opened(&mut harness.out);
    let remaining = harness.out.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap().to_vec();
    assert_eq!(
        remaining[..9 + 18],
        settings(&[(2, 0), (4, 16 << 20), (6, 64 << 10)]),
        "no push, a window, a limit"
    );
    assert_eq!(remaining[27..], frame(WINDOW_UPDATE, 0, 0, &((16u32 << 20) - 65_535).to_be_bytes()));
    harness.out.clear();
    assert_eq!(harness.feed(&settings(&[(3, 128)])), Ok(String::new()));
    assert_eq!(harness.sent(), [(SETTINGS, ACK, 0, 0)]);
    assert_eq!(harness.feed(&frame(SETTINGS, ACK, 0, &[])), Ok(String::new()));
    assert_eq!(harness.sent(), []);
}

#[test]
fn each_request_uses_the_next_stream() {
    let mut harness = Harness::new();
    let list = vec![("accept".into(), b"*/*".to_vec())];
    ask_with(&mut harness.client, "GET", "/x", list, None, &mut harness.out);
    let expected = b"\x20\x82\x04\x02/x\x86\x01\x03a.b\x0f\x04\x03*/*";
    assert_eq!(harness.out, frame(HEADERS, END_HEADERS | END_STREAM, 1, expected));
    assert_eq!(harness.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 1, OK)).unwrap(), "200 end");
    harness.out.clear();
    ask(&mut harness.client, "GET", "/", None, &mut harness.out);
    assert_eq!(harness.out, frame(HEADERS, END_HEADERS | END_STREAM, 3, b"\x82\x84\x86\x01\x03a.b"));
}

#[test]
fn response_is_status_body_and_end() {
    let mut harness = Harness::announce();
    let stream = [
        frame(HEADERS, END_HEADERS, 1, b"\x88\x0f\x0d\x015"),
        frame(DATA, 0, 1, b"hel"),
        frame(DATA, 0, 1, b""),
        frame(DATA, END_STREAM, 1, b"lo"),
    ];
    assert_eq!(harness.feed(&stream.concat()).unwrap(), "200 hel lo end");
    assert_eq!(harness.sent(), [], "nothing has to be said to that");
}

#[test]
fn padding_priorities_and_continuations_are_transparent() {
    let mut harness = Harness::announce();
    let padded = [&[3u8][..], &[0, 0, 0, 0, 16], b"\x88\x0f", &[0; 3]].concat();
    let stream = [
        frame(HEADERS, PADDED | PRIORITISED, 1, &padded),
        frame(CONTINUATION, 0, 1, b"\x0d"),
        frame(CONTINUATION, 0, 1, b""),
        frame(CONTINUATION, END_HEADERS, 1, b"\x014"),
        frame(PRIORITY, 0, 1, &[0; 5]),
        frame(DATA, PADDED, 1, b"\x02ab\0\0"),
        frame(DATA, PADDED, 1, b"\0cd"),
        frame(DATA, PADDED | END_STREAM, 1, b"\x01\0"),
    ];
    assert_eq!(harness.feed(&stream.concat()).unwrap(), "200 ab cd end");
}

#[test]
fn interim_responses_and_trailers_are_skipped() {
    let mut harness = Harness::announce();
    let stream = [
        frame(HEADERS, END_HEADERS, 1, b"\x08\x03100"),
        frame(HEADERS, END_HEADERS, 1, b"\x08\x03103\x00\x04link\x01x"),
        frame(HEADERS, END_HEADERS, 1, b"\x8d"),
        frame(DATA, 0, 1, b"x"),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x00\x05x-sum\x011"),
    ];
    assert_eq!(harness.feed(&stream.concat()).unwrap(), "404 x end");
}

#[test]
fn unknown_frames_settings_and_flags_are_ignored() {
    let mut harness = Harness::with(&[(0x7777, 1)]);
    harness.get();
    let stream = [
        frame(0x20, 0xff, 77, b"anything"),
        frame(HEADERS, 0xc0 | END_HEADERS, 1, OK),
        frame(0xff, 0, 0, b""),
        frame(DATA, 0xc0 | END_STREAM, 1, b"a"),
    ];
    assert_eq!(harness.feed(&stream.concat()).unwrap(), "200 a end");
}

#[test]
fn ping_is_acknowledged_with_its_payload() {
    let mut harness = Harness::new();
    assert_eq!(harness.feed(&frame(PING, 0, 0, b"12345678")).unwrap(), "");
    assert_eq!(harness.out, frame(PING, ACK, 0, b"12345678"));
    harness.out.clear();
    harness.feed(&frame(PING, ACK, 0, b"12345678")).unwrap();
    assert_eq!(harness.out, b"");
}

#[test]
fn windows_are_extended_for_large_bodies() {
    let mut harness = Harness::announce();
    harness.feed(&frame(HEADERS, END_HEADERS, 1, OK)).unwrap();
    let piece = frame(DATA, 0, 1, &[b'x'; 16_384]);
    let (mut windows, mut least) = ([16i64 << 20; 2], i64::MAX);
    for _ in 0..3 * (16 << 20) / 16_384 {
        harness.feed(&piece).unwrap();
        windows.iter_mut().for_each(|window| *window -= 16_384);
        least = least.min(windows[0]).min(windows[1]);
        let out = std::mem::take(&mut harness.out);
        for update in out.chunks(13) {
            let head = frame::Frame::read(update.first_chunk().unwrap());
            let increment = u32::from_be_bytes(update[9..].try_into().unwrap());
            assert_eq!((head.kind, increment >= 8 << 20), (WINDOW_UPDATE, true), "and not too often");
            windows[usize::from(head.stream == 0)] += i64::from(increment);
        }
    }
    assert!(least > 7 << 20, "{least}");
    assert!(windows.iter().all(|window| *window <= 16 << 20));
    assert_eq!(harness.feed(&frame(DATA, END_STREAM, 1, b"")).unwrap(), "end");
}

#[test]
fn request_body_has_a_content_length() {
    let mut harness = Harness::new();
    harness.post(b"hello");
    let head = frame(HEADERS, END_HEADERS, 1, b"\x20\x83\x84\x86\x01\x03a.b\x0f\x0d\x015");
    assert_eq!(harness.out, [head, frame(DATA, END_STREAM, 1, b"hello")].concat());
    assert_eq!(harness.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 1, OK)).unwrap(), "200 end");
    harness.out.clear();
    harness.post(b"");
    assert_eq!(harness.sent(), [(HEADERS, END_HEADERS | END_STREAM, 3, 8)]);
}

#[test]
fn large_request_follows_the_windows() {
    let mut harness = Harness::with(&[(4, 20_000)]);
    harness.post(&[b'x'; 100_000]);
    assert_eq!(
        harness.sent()[1..],
        [(DATA, 0, 1, 16_384), (DATA, 0, 1, 3616)],
        "a window and the longest frame"
    );
    let mut grow = |stream, increment: u32| {
        harness.feed(&frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())).unwrap();
        harness.sent()
    };
    assert_eq!(grow(1, 1), [(DATA, 0, 1, 1)], "a tiny one");
    assert_eq!(grow(0, 100), [], "the stream's own is used up");
    let sent: usize = grow(1, 70_000).iter().map(|frame| frame.3).sum();
    assert_eq!(sent, 65_535 + 100 - 20_001, "until the connection's is used up");
    assert_eq!(grow(0, 1_000_000).iter().map(|frame| frame.3).sum::<usize>(), 90_001 - 65_635);
    assert_eq!(grow(1, 1_000_000), [(DATA, END_STREAM, 1, 9999)]);
    assert_eq!(harness.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 1, OK)).unwrap(), "200 end");
}

#[test]
fn settings_change_windows_of_open_streams() {
    let mut harness = Harness::new();
    harness.post(&[b'x'; 70_000]);
    harness.sent();
    harness.feed(&settings(&[(4, 0)])).unwrap();
    harness.sent();
    harness.feed(&frame(WINDOW_UPDATE, 0, 0, &[0, 1, 0, 0])).unwrap();
    harness.feed(&frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0xff, 0xff])).unwrap();
    assert_eq!(harness.sent(), [], "what was sent already counts: the window was below nothing");
    harness.feed(&settings(&[(4, 4465)])).unwrap();
    assert_eq!(harness.sent(), [(SETTINGS, ACK, 0, 0), (DATA, END_STREAM, 1, 4465)]);
}

#[test]
fn early_response_cancels_the_request_body() {
    let mut harness = Harness::with(&[(4, 10)]);
    harness.post(&[b'x'; 100]);
    harness.sent();
    assert_eq!(
        harness.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x08\x03413")).unwrap(),
        "413 end"
    );
    assert_eq!(harness.sent(), [(RST_STREAM, 0, 1, 4)]);
    let after = [frame(RST_STREAM, 0, 1, &[0; 4]), frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 9])].concat();
    assert_eq!(harness.feed(&after).unwrap(), "", "of a stream that is over");
    harness.post(b"short");
    assert_eq!(harness.sent()[1..], [(DATA, END_STREAM, 3, 5)], "nothing of the other body");
}

#[test]
fn requests_wait_for_the_concurrency_limit() {
    let mut harness = Harness::with(&[(3, 0)]);
    harness.post(b"hello");
    assert_eq!(harness.sent(), []);
    harness.feed(&frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])).unwrap();
    assert_eq!(harness.sent(), []);
    harness.feed(&settings(&[(3, 1)])).unwrap();
    let sent = harness.sent();
    assert_eq!(sent, [(SETTINGS, ACK, 0, 0), (HEADERS, END_HEADERS, 1, 13), (DATA, END_STREAM, 1, 5)]);
}

#[test]
fn long_header_is_split_into_continuations() {
    let mut harness = Harness::new();
    let list = vec![("x-long".into(), vec![b'v'; 40_000])];
    ask_with(&mut harness.client, "GET", "/", list, None, &mut harness.out);
    let total = 9 + 8 + 4 + 40_000;
    let expected = [
        (HEADERS, END_STREAM, 1, 16_384),
        (CONTINUATION, 0, 1, 16_384),
        (CONTINUATION, END_HEADERS, 1, total - 2 * 16_384),
    ];
    assert_eq!(harness.sent(), expected);
}

#[test]
fn goaway_lets_the_current_request_finish() {
    let mut harness = Harness::announce();
    assert_eq!(harness.feed(&go_away(0x7fff_ffff, 0, "")).unwrap(), "", "it will leave");
    assert_eq!(harness.feed(&go_away(1, 0, "")).unwrap(), "", "it leaves");
    assert_eq!(harness.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 1, OK)).unwrap(), "200 last");
    assert_eq!(harness.why().message, "the server goes away (NO_ERROR)");
    harness.out.clear();
    harness.client.opened(&mut harness.out);
    assert_eq!(harness.why().message, "the server closed the connection");
}

#[test]
fn goaway_reason_is_reported() {
    let mut harness = Harness::announce();
    harness.feed(&go_away(1, 0xb, "too\nmany")).unwrap();
    let why = harness.why();
    assert_eq!(why.code, "ENHANCE_YOUR_CALM");
    assert_eq!(why.message, "the server goes away (ENHANCE_YOUR_CALM): too\\nmany");
    assert!(go_away(1, 2, &"x".repeat(5000)).len() > 5000);
    harness.feed(&go_away(1, 2, &"x".repeat(5000))).unwrap();
    assert!(harness.why().message.len() < 300);
}

#[test]
fn reset_has_the_servers_code() {
    for (code, name) in [(2, "INTERNAL_ERROR"), (8, "CANCEL"), (0xd, "HTTP_1_1_REQUIRED"), (0x99, "0x99")] {
        let mut harness = Harness::announce();
        assert_eq!(
            harness.feed(&frame(RST_STREAM, 0, 1, &u32::to_be_bytes(code))).unwrap(),
            format!("reset {name}")
        );
        let why = Code(code).reset();
        assert_eq!((why.code.as_str(), why.message.contains(name)), (name, true));
        harness.get();
        assert_eq!(
            harness.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 3, OK)).unwrap(),
            "200 end",
            "it continues"
        );
    }
}

#[test]
fn unprocessed_request_can_be_repeated() {
    let mut harness = Harness::announce();
    assert_eq!(harness.feed(&go_away(0, 0, "reloaded")).unwrap(), "refused");
    assert_eq!(harness.why().message, "the server goes away (NO_ERROR): reloaded");
    let mut harness = Harness::announce();
    assert_eq!(harness.feed(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 7])).unwrap(), "refused");
    assert_eq!(harness.why().code, "REFUSED_STREAM");
    let mut harness = Harness::new();
    assert_eq!(harness.feed(&go_away(0, 0, "")).unwrap(), "leaving", "nothing was asked yet");
}
