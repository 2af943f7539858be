//! Several requests at once on a connection.

use super::code::Code;
use super::connection_tests::{ask_tagged, frame, go_away, settings};
use super::frame::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::*;
use crate::http::{Fields, Http, Limits, Request, Said, Version};
use crate::session::Failure;

const OK: &[u8] = &[0x88];

struct Bench {
    client: Http2,
    out: Vec<u8>,
}

impl Bench {
    /// A server that takes so many at once, and those requests, tagged 0, 1, 2 ...
    fn asked(at_once: u32, requests: u32) -> Self {
        let mut bench = Self { client: Http2::new(Limits::default()), out: Vec::new() };
        bench.client.opened(&mut bench.out);
        bench.hear(&settings(&[(3, at_once)])).unwrap();
        bench.out.clear();
        (0..requests).for_each(|tag| bench.ask(tag));
        bench
    }

    fn ask(&mut self, tag: u32) {
        ask_tagged(&mut self.client, tag, &mut self.out);
    }

    /// What was said of which request: `0 200`, `0 end`.
    fn hear(&mut self, input: &[u8]) -> Result<String, Failure> {
        let (mut at, mut heard) = (0, Vec::new());
        while let Some((size, said)) = self.client.next(&input[at..], &mut self.out)? {
            at += size;
            let of = self.client.about();
            match said {
                Said::Nothing | Said::Part => {}
                Said::Status(status) => heard.push(format!("{of} {status}")),
                Said::Body(piece) => heard.push(format!("{of} {}", String::from_utf8_lossy(piece))),
                Said::End { .. } => heard.push(format!("{of} end")),
                Said::Reset(code) => heard.push(format!("{of} {}", code.name())),
                Said::Refused => heard.push(format!("{of} refused")),
                Said::Leaving => heard.push("leaving".into()),
            }
        }
        assert_eq!(at, input.len(), "all is heard");
        Ok(heard.join(", "))
    }

    /// The frames that were sent: kind and stream.
    fn sent(&mut self) -> Vec<(u8, u32)> {
        let out = std::mem::take(&mut self.out);
        let (mut rest, mut frames) = (&out[..], Vec::new());
        while let Some((head, behind)) = rest.split_first_chunk() {
            let frame = Frame::read(head);
            frames.push((frame.kind, frame.stream));
            rest = &behind[frame.length..];
        }
        frames
    }
}

fn answer(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, OK)
}

#[test]
fn answers_come_in_any_order_and_in_pieces_between_each_other() {
    let mut bench = Bench::asked(100, 3);
    assert_eq!(bench.sent(), [(HEADERS, 1), (HEADERS, 3), (HEADERS, 5)]);
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
        bench.hear(&stream.concat()).unwrap(),
        "2 200, 0 404, 2 a, 0 b, 2 c, 2 end, 1 200, 1 end, 0 end"
    );
    bench.ask(1);
    assert_eq!(bench.hear(&answer(7)).unwrap(), "1 200, 1 end");
}

#[test]
fn no_more_are_begun_than_the_server_takes_at_once() {
    let mut bench = Bench::asked(2, 4);
    assert_eq!(bench.client.taken_at_once(), Some(2));
    assert_eq!(bench.sent(), [(HEADERS, 1), (HEADERS, 3)]);
    assert_eq!(bench.hear(&answer(3)).unwrap(), "1 200, 1 end");
    assert_eq!(bench.sent(), [(HEADERS, 5)]);
    assert_eq!(bench.hear(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])).unwrap(), "0 CANCEL");
    assert_eq!(bench.sent(), [(HEADERS, 7)]);
    let why = bench.hear(&answer(9)).unwrap_err();
    assert!(why.message.contains("stream 9, on which nothing was asked"), "{}", why.message);
    let mut bench = Bench::asked(2, 4);
    let why = bench.hear(&answer(5)).unwrap_err();
    assert!(why.message.contains("stream 5, on which nothing was asked"), "it waits still: {}", why.message);
}

#[test]
fn until_the_server_says_how_many_it_takes_one_is_made() {
    let mut bench = Bench { client: Http2::new(Limits::default()), out: Vec::new() };
    bench.client.opened(&mut bench.out);
    bench.out.clear();
    (0..3).for_each(|tag| bench.ask(tag));
    assert_eq!((bench.client.taken_at_once(), bench.sent()), (None, vec![(HEADERS, 1)]));
    bench.hear(&settings(&[])).unwrap();
    assert_eq!(bench.sent(), [(SETTINGS, 0), (HEADERS, 3), (HEADERS, 5)]);
    bench.hear(&settings(&[(3, 1)])).unwrap();
    bench.ask(3);
    assert_eq!(bench.hear(&[answer(1), answer(3)].concat()).unwrap(), "0 200, 0 end, 1 200, 1 end");
    assert_eq!(bench.sent(), [(SETTINGS, 0)], "two are in progress and one is allowed");
    bench.hear(&answer(5)).unwrap();
    assert_eq!(bench.sent(), [(HEADERS, 7)]);
}

#[test]
fn a_reset_is_of_one_request_only() {
    let mut bench = Bench::asked(100, 3);
    let stream = [frame(RST_STREAM, 0, 3, &[0, 0, 0, 2]), answer(1), answer(5)];
    assert_eq!(bench.hear(&stream.concat()).unwrap(), "1 INTERNAL_ERROR, 0 200, 0 end, 2 200, 2 end");
    assert!(bench.client.takes(1));
}

#[test]
fn a_server_that_goes_away_refuses_what_it_has_not_begun() {
    let mut bench = Bench::asked(3, 4);
    assert_eq!(bench.hear(&go_away(3, 0, "")).unwrap(), "3 refused, 2 refused");
    assert!(!bench.client.takes(1));
    assert_eq!(bench.hear(&[answer(3), answer(1)].concat()).unwrap(), "1 200, 1 end, 0 200, 0 end");
    assert_eq!(bench.client.why_closed().message, "the server goes away (NO_ERROR)");
}

#[test]
fn what_is_still_said_of_a_request_that_was_given_up_is_passed_over() {
    let mut bench = Bench::asked(100, 3);
    bench.out.clear();
    bench.hear(&[frame(HEADERS, END_HEADERS, 1, OK), frame(HEADERS, END_HEADERS, 3, OK)].concat()).unwrap();
    let mut half = frame(DATA, 0, 1, b"abcdef");
    let rest = half.split_off(11);
    assert_eq!(bench.hear(&half).unwrap(), "0 ab");
    (0..2).for_each(|tag| bench.client.give_up(tag, &mut bench.out));
    assert_eq!(bench.sent(), [(RST_STREAM, 1), (RST_STREAM, 3)]);
    bench.ask(0);
    assert_eq!(bench.hear(&rest).unwrap(), "");
    // Its header fields fill a table that those of others refer to.
    let named = frame(HEADERS, 0, 3, b"\x40\x01x\x01y");
    assert_eq!(
        bench.hear(&[named, frame(CONTINUATION, END_HEADERS | END_STREAM, 3, b"")].concat()).unwrap(),
        ""
    );
    assert_eq!(bench.hear(&frame(DATA, END_STREAM, 1, b"")).unwrap(), "");
    assert_eq!(
        bench.hear(&frame(HEADERS, END_HEADERS | END_STREAM, 7, b"\x88\xbe")).unwrap(),
        "0 200, 0 end"
    );
    assert_eq!(bench.hear(&answer(5)).unwrap(), "2 200, 2 end");
    assert!(bench.hear(&answer(9)).unwrap_err().message.contains("on which nothing was asked"));
}

#[test]
fn a_request_that_waits_and_is_given_up_is_never_made() {
    let mut bench = Bench::asked(1, 3);
    bench.out.clear();
    bench.client.give_up(1, &mut bench.out);
    assert_eq!(bench.sent(), []);
    bench.hear(&answer(1)).unwrap();
    assert_eq!(bench.sent(), [(HEADERS, 5)]);
    assert_eq!(bench.hear(&answer(5)).unwrap(), "2 200, 2 end");
}

#[test]
fn bodies_share_the_window_of_their_connection() {
    let fields = Fields::new(Version::Two, "http", "a.b", Vec::new(), false);
    let body = &[b'x'; 40_000][..];
    let mut bench = Bench::asked(100, 0);
    for tag in 0..2 {
        let request =
            Request { method: "POST", target: b"/", fields: &fields, body: Some(body), written: None };
        bench.client.ask(&request, tag, &mut bench.out);
    }
    assert_eq!(bench.out.iter().filter(|&&byte| byte == b'x').count(), 65_535);
    bench.out.clear();
    bench.hear(&frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0x80, 0])).unwrap();
    assert_eq!(bench.out.iter().filter(|&&byte| byte == b'x').count(), 80_000 - 65_535);
    assert_eq!(bench.hear(&[answer(3), answer(1)].concat()).unwrap(), "1 200, 1 end, 0 200, 0 end");
    assert!(!bench.sent().contains(&(RST_STREAM, 1)), "all was sent");
}

#[test]
fn each_request_is_told_why_it_was_lost() {
    let mut bench = Bench::asked(100, 2);
    bench.hear(&frame(HEADERS, END_HEADERS, 3, b"\x88\x0f\x0d\x015")).unwrap();
    assert_eq!(bench.client.unanswered(0).code, "connection");
    assert_eq!(bench.client.unanswered(1).code, "length");
    bench.hear(&go_away(3, Code::CANCEL.0, "")).unwrap();
    assert_eq!(bench.client.unanswered(0).code, "CANCEL");
}
