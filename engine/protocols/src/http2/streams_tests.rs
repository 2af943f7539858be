//! Concurrent requests on a connection.

use super::code::Code;
use super::connection_tests::{ask_tagged, frame, go_away, settings};
use super::frame::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::*;
use crate::http::{Fields, Http, Limits, Request, ResponseEvent, Version};
use loadcell_core::error::Failure;

const OK: &[u8] = &[0x88];

struct Harness {
    client: Http2,
    out: Vec<u8>,
}

impl Harness {
    /// A client whose server accepts `at_once` requests, with `requests` made, tagged 0, 1, 2 ...
    fn announce(at_once: u32, requests: u32) -> Self {
        let mut harness = Self { client: Http2::new(Limits { header_bytes: 64 << 10 }), out: Vec::new() };
        harness.client.opened(&mut harness.out);
        harness.feed(&settings(&[(3, at_once)])).unwrap();
        harness.out.clear();
        (0..requests).for_each(|tag| harness.ask(tag));
        harness
    }

    fn ask(&mut self, tag: u32) {
        ask_tagged(&mut self.client, tag, &mut self.out);
    }

    /// Events with the tag of their request: `0 200`, `0 end`.
    fn feed(&mut self, input: &[u8]) -> Result<String, Failure> {
        let (mut at, mut events) = (0, Vec::new());
        while let Some((size, event)) = self.client.next(&input[at..], &mut self.out)? {
            at += size;
            let of = self.client.about();
            match event {
                ResponseEvent::Nothing | ResponseEvent::Part => {}
                ResponseEvent::Status(status) => events.push(format!("{of} {status}")),
                ResponseEvent::Body(piece) => events.push(format!("{of} {}", String::from_utf8_lossy(piece))),
                ResponseEvent::End { .. } => events.push(format!("{of} end")),
                ResponseEvent::Reset(code) => events.push(format!("{of} {}", code.name())),
                ResponseEvent::Refused => events.push(format!("{of} refused")),
                ResponseEvent::Leaving => events.push("leaving".into()),
            }
        }
        assert_eq!(at, input.len(), "all is heard");
        Ok(events.join(", "))
    }

    /// The frames that were sent: kind and stream.
    fn sent(&mut self) -> Vec<(u8, u32)> {
        let out = std::mem::take(&mut self.out);
        let (mut remaining, mut frames) = (&out[..], Vec::new());
        while let Some((head, after)) = remaining.split_first_chunk() {
            let frame = Frame::read(head);
            frames.push((frame.kind, frame.stream));
            remaining = &after[frame.length..];
        }
        frames
    }
}

fn answer(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, OK)
}

#[test]
fn responses_may_interleave() {
    let mut harness = Harness::announce(100, 3);
    assert_eq!(harness.sent(), [(HEADERS, 1), (HEADERS, 3), (HEADERS, 5)]);
    let stream = [
        frame(HEADERS, END_HEADERS, 5, OK),
        frame(HEADERS, END_HEADERS, 1, b"\x8d"),
        frame(DATA, 0, 5, b"a"),
        frame(DATA, 0, 1, b"b"),
        frame(DATA, END_STREAM, 5, b"c"),
        answer(3),
        frame(DATA, END_STREAM, 1, b""),
    ];
    assert_eq!(
        harness.feed(&stream.concat()).unwrap(),
        "2 200, 0 404, 2 a, 0 b, 2 c, 2 end, 1 200, 1 end, 0 end"
    );
    harness.ask(1);
    assert_eq!(harness.feed(&answer(7)).unwrap(), "1 200, 1 end");
}

#[test]
fn concurrency_limit_is_respected() {
    let mut harness = Harness::announce(2, 4);
    assert_eq!(harness.client.taken_at_once(), Some(2));
    assert_eq!(harness.sent(), [(HEADERS, 1), (HEADERS, 3)]);
    assert_eq!(harness.feed(&answer(3)).unwrap(), "1 200, 1 end");
    assert_eq!(harness.sent(), [(HEADERS, 5)]);
    assert_eq!(harness.feed(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])).unwrap(), "0 CANCEL");
    assert_eq!(harness.sent(), [(HEADERS, 7)]);
    let why = harness.feed(&answer(9)).unwrap_err();
    assert!(why.message.contains("stream 9, on which nothing was asked"), "{}", why.message);
    let mut harness = Harness::announce(2, 4);
    let why = harness.feed(&answer(5)).unwrap_err();
    assert!(why.message.contains("stream 5, on which nothing was asked"), "it waits still: {}", why.message);
}

#[test]
fn one_request_until_the_limit_is_known() {
    let mut harness = Harness { client: Http2::new(Limits { header_bytes: 64 << 10 }), out: Vec::new() };
    harness.client.opened(&mut harness.out);
    harness.out.clear();
    (0..3).for_each(|tag| harness.ask(tag));
    assert_eq!((harness.client.taken_at_once(), harness.sent()), (None, vec![(HEADERS, 1)]));
    harness.feed(&settings(&[])).unwrap();
    assert_eq!(harness.sent(), [(SETTINGS, 0), (HEADERS, 3), (HEADERS, 5)]);
    harness.feed(&settings(&[(3, 1)])).unwrap();
    harness.ask(3);
    assert_eq!(harness.feed(&[answer(1), answer(3)].concat()).unwrap(), "0 200, 0 end, 1 200, 1 end");
    assert_eq!(harness.sent(), [(SETTINGS, 0)], "two are in progress and one is allowed");
    harness.feed(&answer(5)).unwrap();
    assert_eq!(harness.sent(), [(HEADERS, 7)]);
}

#[test]
fn reset_affects_one_request() {
    let mut harness = Harness::announce(100, 3);
    let stream = [frame(RST_STREAM, 0, 3, &[0, 0, 0, 2]), answer(1), answer(5)];
    assert_eq!(harness.feed(&stream.concat()).unwrap(), "1 INTERNAL_ERROR, 0 200, 0 end, 2 200, 2 end");
    assert!(harness.client.takes(1));
}

#[test]
fn goaway_refuses_unprocessed_requests() {
    let mut harness = Harness::announce(3, 4);
    assert_eq!(harness.feed(&go_away(3, 0, "")).unwrap(), "3 refused, 2 refused");
    assert!(!harness.client.takes(1));
    assert_eq!(harness.feed(&[answer(3), answer(1)].concat()).unwrap(), "1 200, 1 end, 0 200, 0 end");
    assert_eq!(harness.client.why_closed().message, "the server goes away (NO_ERROR)");
}

#[test]
fn late_frames_of_cancelled_requests_are_skipped() {
    let mut harness = Harness::announce(100, 3);
    harness.out.clear();
    harness.feed(&[frame(HEADERS, END_HEADERS, 1, OK), frame(HEADERS, END_HEADERS, 3, OK)].concat()).unwrap();
    let mut half = frame(DATA, 0, 1, b"abcdef");
    let remaining = half.split_off(11);
    assert_eq!(harness.feed(&half).unwrap(), "0 ab");
    (0..2).for_each(|tag| harness.client.cancel(tag, &mut harness.out));
    assert_eq!(harness.sent(), [(RST_STREAM, 1), (RST_STREAM, 3)]);
    harness.ask(0);
    assert_eq!(harness.feed(&remaining).unwrap(), "");
    // Its header fields update the table that later blocks refer to.
    let named = frame(HEADERS, 0, 3, b"\x40\x01x\x01y");
    assert_eq!(
        harness.feed(&[named, frame(CONTINUATION, END_HEADERS | END_STREAM, 3, b"")].concat()).unwrap(),
        ""
    );
    assert_eq!(harness.feed(&frame(DATA, END_STREAM, 1, b"")).unwrap(), "");
    assert_eq!(
        harness.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 7, b"\x88\xbe")).unwrap(),
        "0 200, 0 end"
    );
    assert_eq!(harness.feed(&answer(5)).unwrap(), "2 200, 2 end");
    assert!(harness.feed(&answer(9)).unwrap_err().message.contains("on which nothing was asked"));
}

#[test]
fn cancelled_queued_request_is_never_sent() {
    let mut harness = Harness::announce(1, 3);
    harness.out.clear();
    harness.client.cancel(1, &mut harness.out);
    assert_eq!(harness.sent(), []);
    harness.feed(&answer(1)).unwrap();
    assert_eq!(harness.sent(), [(HEADERS, 5)]);
    assert_eq!(harness.feed(&answer(5)).unwrap(), "2 200, 2 end");
}

#[test]
fn bodies_share_the_connection_window() {
    let fields = Fields::new(Version::Two, "http", "a.b", Vec::new(), false);
    let body = &[b'x'; 40_000][..];
    let mut harness = Harness::announce(100, 0);
    for tag in 0..2 {
        let request =
            Request { method: "POST", target: b"/", fields: &fields, body: Some(body), written: None };
        harness.client.ask(&request, tag, &mut harness.out);
    }
    assert_eq!(harness.out.iter().filter(|&&byte| byte == b'x').count(), 65_535);
    harness.out.clear();
    harness.feed(&frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0x80, 0])).unwrap();
    assert_eq!(harness.out.iter().filter(|&&byte| byte == b'x').count(), 80_000 - 65_535);
    assert_eq!(harness.feed(&[answer(3), answer(1)].concat()).unwrap(), "1 200, 1 end, 0 200, 0 end");
    assert!(!harness.sent().contains(&(RST_STREAM, 1)), "all was sent");
}

#[test]
fn lost_requests_report_the_reason() {
    let mut harness = Harness::announce(100, 2);
    harness.feed(&frame(HEADERS, END_HEADERS, 3, b"\x88\x0f\x0d\x015")).unwrap();
    assert_eq!(harness.client.unanswered(0).code, "connection");
    assert_eq!(harness.client.unanswered(1).code, "length");
    harness.feed(&go_away(3, Code::CANCEL.0, "")).unwrap();
    assert_eq!(harness.client.unanswered(0).code, "CANCEL");
}
