//! Sessions with concurrent requests, with byte strings as responses.

use std::sync::Arc;

use serde_json::json;

use super::client::Client;
use super::exchange::Operations;
use super::options::Plan;
use super::streams::StreamsSession;
use loadcell_core::error::Failure;
use loadcell_core::record::{Kind, OpId, Operation, Recorder, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session};

const OPERATIONS: [Operation; 3] = [
    Operation { name: "transaction", kind: Kind::Transaction },
    Operation { name: "connect", kind: Kind::Stage },
    Operation { name: "first_byte", kind: Kind::Stage },
];
const NUMBERS: Operations = Operations { first_kind: None, connect: OpId(1), first_byte: OpId(2) };

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// SETTINGS with a limit of `most` concurrent requests.
fn settings(most: u8) -> Vec<u8> {
    frame(4, 0, 0, &[0, 3, 0, 0, 0, most])
}

/// Status 200 and the body `ok`.
fn ok(stream: u8) -> Vec<u8> {
    [frame(1, 4, stream, &[0x88]), frame(0, 1, stream, b"ok")].concat()
}

fn reset(stream: u8, code: u8) -> Vec<u8> {
    frame(3, 0, stream, &[0, 0, 0, code])
}

fn go_away(last: u8) -> Vec<u8> {
    frame(7, 0, 0, &[0, 0, 0, last, 0, 0, 0, 0])
}

struct Harness {
    session: StreamsSession,
    recorder: Recorder,
    out: Vec<u8>,
    at: u64,
}

impl Harness {
    /// A session connected to a server that accepts `most` requests; `streams` are planned.
    fn new(streams: u32, most: u8) -> Self {
        let target = r#"{"protocol":"http","host":"h","port":80,"sslmode":"disable"}"#;
        let section = json!({
            "version": "2",
            "streams": streams,
            "requests": [{"path": "/${key}"}],
            "parameters": {"key": {"from": 10, "to": 99, "distribution": "sequential"}},
        });
        let plan = Plan::of(&section, &loadcell_testing::read("target", target).unwrap()).unwrap();
        let fewest = Arc::new((streams as usize).into());
        let session = StreamsSession::new(Client::new(Arc::new(plan), 1, 0, 1), NUMBERS, fewest);
        let mut harness = Self { session, recorder: Recorder::new(&OPERATIONS), out: Vec::new(), at: 100 };
        assert_eq!(harness.session.opened(&mut harness.out), NextAction::Idle);
        assert_eq!(harness.feed(&settings(most)), Ok(NextAction::Idle));
        harness.out.clear();
        harness
    }

    fn begin(&mut self) -> NextAction {
        self.at += 10;
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.begin(cx, self.at, self.at, &mut self.out)
    }

    /// Connect as requested by the session.
    fn renew(&mut self, most: u8) -> NextAction {
        self.at += 10;
        assert_eq!(self.session.opened(&mut self.out), NextAction::Idle);
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.resume(cx, self.at, &mut self.out);
        self.feed(&settings(most)).unwrap()
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<NextAction, Failure> {
        self.at += 5;
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.received(cx, self.at, bytes, &mut self.out).map(|step| {
            assert_eq!(step.consumed, bytes.len());
            step.action
        })
    }

    fn expire_requests(&mut self, limit: u64) -> (NextAction, Option<u64>) {
        let why = Failure { code: "timeout".into(), message: String::new() };
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.expire_requests(cx, self.at, limit, &why, &mut self.out)
    }

    /// Paths of the sent requests, in order.
    fn paths(&mut self) -> Vec<String> {
        let out = std::mem::take(&mut self.out);
        let paths = out.windows(5).filter(|five| five.starts_with(&[4, 3, b'/']));
        paths.map(|five| String::from_utf8_lossy(&five[2..]).into()).collect()
    }

    /// Counts: attempted, succeeded, failed, retried.
    fn counts(&self, op: OpId) -> [u64; 4] {
        let counts = self.recorder.stats().operations[op.index()].counts;
        [counts.started, counts.succeeded, counts.failed, counts.retried]
    }

    fn codes(&self) -> Vec<(&str, u64)> {
        self.recorder.stats().errors.iter().map(|error| (error.code.as_str(), error.count)).collect()
    }
}

#[test]
fn planned_number_of_requests_is_in_progress() {
    let mut harness = Harness::new(3, 100);
    assert_eq!(harness.begin(), NextAction::Reply);
    assert_eq!(harness.paths(), ["/10", "/11", "/12"]);
    assert_eq!(harness.counts(TRANSACTION), [3, 0, 0, 0]);
    assert_eq!(harness.feed(&ok(3)), Ok(NextAction::CanStartMore), "one is over, in whatever order");
    assert_eq!(harness.begin(), NextAction::Reply);
    assert_eq!(harness.paths(), ["/13"]);
    assert_eq!(harness.feed(&[ok(1), ok(7)].concat()), Ok(NextAction::CanStartMore));
    assert_eq!(harness.feed(&ok(5)), Ok(NextAction::Idle), "none is left");
    assert_eq!(harness.counts(TRANSACTION), [4, 4, 0, 0]);
    assert_eq!(harness.counts(NUMBERS.first_byte), [4, 4, 0, 0]);
}

#[test]
fn each_request_has_its_own_times() {
    let mut harness = Harness::new(2, 100);
    harness.begin(); // at 115
    harness.feed(&ok(1)).unwrap(); // 120
    harness.begin(); // 130
    assert_eq!(harness.feed(&ok(5)), Ok(NextAction::CanStartMore)); // 135
    assert_eq!(harness.feed(&ok(3)), Ok(NextAction::Idle)); // 140
    let service = &harness.recorder.resolved_stats().operations[0].service;
    assert_eq!((service.count(), service.min(), service.max()), (3, 5, 25));
}

#[test]
fn servers_limit_is_respected() {
    let mut harness = Harness::new(8, 2);
    harness.begin();
    assert_eq!(harness.paths(), ["/10", "/11"]);
    assert_eq!(harness.counts(TRANSACTION)[0], 2, "the others have not begun: their time does not run");
    assert_eq!(harness.feed(&settings(3)), Ok(NextAction::CanStartMore));
    harness.begin();
    assert_eq!(harness.paths(), ["/12"]);
    assert_eq!(harness.feed(&settings(1)), Ok(NextAction::Reply));
    assert_eq!(harness.feed(&[ok(1), ok(3)].concat()), Ok(NextAction::Reply));
    assert_eq!(harness.feed(&ok(5)), Ok(NextAction::Idle));
    harness.begin();
    assert_eq!(harness.paths(), ["/13"]);
}

#[test]
fn zero_limit_is_waited_for() {
    let mut harness = Harness::new(4, 0);
    assert_eq!(harness.begin(), NextAction::Reply);
    assert_eq!((harness.paths().len(), harness.counts(TRANSACTION)[0]), (0, 1));
    assert_eq!(harness.feed(&settings(9)), Ok(NextAction::CanStartMore));
    assert_eq!(harness.paths(), ["/10"]);
}

#[test]
fn reset_fails_one_request_only() {
    let mut harness = Harness::new(3, 100);
    harness.begin();
    assert_eq!(harness.feed(&reset(3, 2)), Ok(NextAction::CanStartMore));
    assert_eq!(harness.codes(), [("INTERNAL_ERROR", 1)]);
    assert_eq!(harness.begin(), NextAction::Reply);
    assert_eq!(harness.feed(&[ok(1), ok(5), ok(7)].concat()), Ok(NextAction::Idle));
    assert_eq!(harness.counts(TRANSACTION), [4, 3, 1, 0]);
    assert_eq!(harness.counts(NUMBERS.first_byte), [4, 3, 1, 0]);
    assert_eq!(harness.counts(NUMBERS.connect), [0; 4]);
}

#[test]
fn requests_unprocessed_at_goaway_are_repeated() {
    let mut harness = Harness::new(4, 100);
    harness.begin();
    harness.paths();
    assert_eq!(harness.feed(&go_away(3)), Ok(NextAction::Reply), "two are being answered still");
    assert_eq!(harness.feed(&ok(3)), Ok(NextAction::Reply), "nothing is begun on it any more");
    assert_eq!(harness.feed(&ok(1)), Ok(NextAction::Connect));
    assert_eq!(harness.renew(100), NextAction::CanStartMore);
    assert_eq!(harness.paths(), ["/12", "/13"]);
    assert_eq!(harness.begin(), NextAction::Reply);
    assert_eq!(harness.paths(), ["/14", "/15"]);
    assert_eq!(harness.feed(&[ok(1), ok(3), ok(5), ok(7)].concat()), Ok(NextAction::Idle));
    assert_eq!(harness.counts(TRANSACTION), [6, 6, 0, 2]);
    assert_eq!(harness.counts(NUMBERS.connect), [1, 1, 0, 0]);
}

#[test]
fn repeatedly_refused_requests_fail() {
    let mut harness = Harness::new(2, 100);
    harness.begin();
    assert_eq!(harness.feed(&[go_away(1), ok(1)].concat()), Ok(NextAction::Connect));
    for _ in 1..5 {
        harness.renew(1);
        assert_eq!(harness.feed(&go_away(0)), Ok(NextAction::Connect));
    }
    harness.renew(1);
    assert_eq!(harness.feed(&go_away(0)), Ok(NextAction::Idle));
    assert_eq!(harness.codes(), [("NO_ERROR", 1)]);
    assert_eq!(harness.begin(), NextAction::Connect);
}

#[test]
fn lost_connection_fails_started_requests_only() {
    let mut harness = Harness::new(4, 100);
    harness.begin();
    harness.feed(&[go_away(5), frame(1, 4, 3, b"\x88\x0f\x0d\x015")].concat()).unwrap();
    let cx = &mut Context { recorder: &mut harness.recorder };
    assert_eq!(
        harness.session.closed(cx, harness.at, &mut harness.out),
        Some(NextAction::Connect),
        "for the one that was refused"
    );
    assert_eq!(harness.counts(TRANSACTION), [4, 0, 3, 1]);
    assert_eq!(harness.codes(), [("NO_ERROR", 2), ("length", 1)]);
    harness.paths();
    harness.renew(1);
    assert_eq!(harness.paths(), ["/13"]);
    assert_eq!(harness.feed(&ok(1)), Ok(NextAction::Idle));
}

#[test]
fn lost_requests_fail_in_any_stage() {
    let why = Failure { code: "reset".into(), message: String::new() };
    let mut harness = Harness::new(2, 100);
    harness.begin();
    let lose = |harness: &mut Harness| {
        let cx = &mut Context { recorder: &mut harness.recorder };
        harness.session.lost(cx, harness.at, &why)
    };
    assert_eq!(lose(&mut harness), Reconnect::OnDemand);
    assert_eq!(harness.begin(), NextAction::Connect);
    assert_eq!(
        harness.counts(TRANSACTION),
        [4, 0, 2, 0],
        "as many wait for the new connection as there were"
    );
    assert_eq!(lose(&mut harness), Reconnect::Later, "others are not hammered at");
    assert_eq!(harness.counts(TRANSACTION), [4, 0, 4, 0]);
    assert_eq!(
        (harness.counts(NUMBERS.connect), harness.counts(NUMBERS.first_byte)),
        ([1, 0, 1, 0], [2, 0, 2, 0])
    );
    assert_eq!(lose(&mut harness), Reconnect::OnDemand, "nothing was in progress");
}

#[test]
fn expired_request_is_cancelled_and_others_continue() {
    let mut harness = Harness::new(2, 100);
    harness.begin(); // at 115
    harness.feed(&ok(1)).unwrap();
    harness.begin(); // at 130
    harness.out.clear();
    assert_eq!(harness.expire_requests(114), (NextAction::Reply, Some(115)), "none yet");
    assert_eq!(harness.expire_requests(115), (NextAction::CanStartMore, Some(130)));
    assert_eq!(harness.out, reset(3, 8), "CANCEL");
    assert_eq!(harness.codes(), [("timeout", 1)]);
    assert_eq!(harness.feed(&ok(3)), Ok(NextAction::CanStartMore), "too late");
    assert_eq!(harness.counts(TRANSACTION), [3, 1, 1, 0]);
    assert_eq!(harness.expire_requests(130), (NextAction::Idle, None));
}
