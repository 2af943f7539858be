//! HTTP/2 specific behaviour of the sequential sessions: orderly ends of connections.

use std::sync::Arc;

use serde_json::json;

use super::client::Client;
use super::exchange::Operations;
use super::options::Plan;
use super::session::HttpSession;
use super::single::SingleRequests;
use loadcell_core::error::Failure;
use loadcell_core::record::{Kind, OpId, Operation, Recorder, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session};
use loadcell_protocols::http2::Http2;

const OPERATIONS: [Operation; 3] = [
    Operation { name: "transaction", kind: Kind::Transaction },
    Operation { name: "connect", kind: Kind::Stage },
    Operation { name: "first_byte", kind: Kind::Stage },
];
const NUMBERS: Operations = Operations { first_kind: None, connect: OpId(1), first_byte: OpId(2) };

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Status 200 and the body `ok` on stream 1.
const OK: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x02\0\x01\0\0\0\x01ok";
/// GOAWAY: no request was processed.
const GOES_AWAY: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// GOAWAY: the request on stream 1 was processed.
const LEAVES: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0";

struct Harness {
    session: HttpSession<Http2, SingleRequests>,
    recorder: Recorder,
    out: Vec<u8>,
    at: u64,
}

impl Harness {
    /// A connected session, whose request has a placeholder.
    fn new() -> Self {
        let target = r#"{"protocol":"http","host":"h","port":80,"sslmode":"disable"}"#;
        let section = json!({
            "version": "2",
            "requests": [{"path": "/${key}"}],
            "parameters": {"key": {"from": 10, "to": 99, "distribution": "sequential"}},
        });
        let plan = Plan::of(&section, &loadcell_testing::read("target", target).unwrap()).unwrap();
        let session = HttpSession::new(SingleRequests::new(Client::new(Arc::new(plan), 1, 0, 1), NUMBERS));
        let mut harness = Self { session, recorder: Recorder::new(&OPERATIONS), out: Vec::new(), at: 100 };
        harness.connect();
        harness
    }

    fn connect(&mut self) {
        assert_eq!(self.session.opened(&mut self.out), NextAction::Idle);
        assert_eq!(self.feed(SETTINGS), Ok(NextAction::Reply));
        self.out.clear();
    }

    fn begin(&mut self) -> NextAction {
        self.at += 10;
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.begin(cx, self.at, self.at, &mut self.out)
    }

    /// Connect as requested by the session.
    fn renew(&mut self) {
        self.at += 10;
        self.connect();
        let cx = &mut Context { recorder: &mut self.recorder };
        assert_eq!(self.session.resume(cx, self.at, &mut self.out), NextAction::Reply);
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<NextAction, Failure> {
        self.at += 5;
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.received(cx, self.at, bytes, &mut self.out).map(|step| step.action)
    }

    /// Path of the last request.
    fn path(&mut self) -> String {
        let out = std::mem::take(&mut self.out);
        let at = out.windows(3).position(|three| three == [4, 3, b'/']).expect("a path of three octets");
        String::from_utf8_lossy(&out[at + 2..at + 5]).into()
    }

    /// Counts: attempted, succeeded, failed, retried.
    fn counts(&self, op: OpId) -> [u64; 4] {
        let counts = self.recorder.stats().operations[op.index()].counts;
        [counts.started, counts.succeeded, counts.failed, counts.retried]
    }
}

#[test]
fn refused_request_is_repeated_unchanged() {
    let mut harness = Harness::new();
    assert_eq!(harness.begin(), NextAction::Reply);
    assert_eq!(harness.path(), "/10");
    assert_eq!(harness.feed(GOES_AWAY), Ok(NextAction::Connect));
    harness.renew();
    assert_eq!(harness.path(), "/10");
    assert_eq!(harness.feed(OK), Ok(NextAction::Idle));
    assert_eq!(harness.counts(TRANSACTION), [1, 1, 0, 1]);
    assert_eq!(harness.counts(NUMBERS.connect), [1, 1, 0, 0]);
    assert_eq!(harness.counts(NUMBERS.first_byte), [2, 1, 1, 0]);
    assert_eq!(
        harness.recorder.resolved_stats().operations[0].service.max(),
        5 + 10 + 5 + 5,
        "all of it is its time"
    );
    assert_eq!(harness.begin(), NextAction::Reply);
    assert_eq!(harness.path(), "/11");
}

#[test]
fn repeatedly_refused_request_fails() {
    let mut harness = Harness::new();
    harness.begin();
    for _ in 0..5 {
        assert_eq!(harness.feed(GOES_AWAY), Ok(NextAction::Connect));
        harness.renew();
    }
    let why = harness.feed(GOES_AWAY).unwrap_err();
    assert_eq!(why.code, "NO_ERROR");
    let cx = &mut Context { recorder: &mut harness.recorder };
    assert_eq!(harness.session.lost(cx, harness.at, &why), Reconnect::OnDemand);
    assert_eq!(harness.counts(TRANSACTION), [1, 0, 1, 5]);
    assert_eq!(harness.counts(NUMBERS.first_byte), [6, 0, 6, 0]);
}

#[test]
fn connection_after_goaway_is_not_reused() {
    for words in [[LEAVES, OK], [OK, LEAVES]] {
        let mut harness = Harness::new();
        harness.begin();
        assert_eq!(harness.feed(&words.concat()), Ok(NextAction::Idle), "in one piece");
        assert_eq!(harness.begin(), NextAction::Connect);
        assert_eq!(harness.counts(TRANSACTION), [2, 1, 0, 0]);
    }
    let mut harness = Harness::new();
    harness.begin();
    assert_eq!(harness.feed(OK), Ok(NextAction::Idle));
    assert_eq!(harness.feed(LEAVES), Ok(NextAction::Reply), "while nothing is asked");
    assert_eq!(harness.begin(), NextAction::Connect);
}

#[test]
fn reset_fails_the_request_and_keeps_the_connection() {
    let mut harness = Harness::new();
    harness.begin();
    assert_eq!(harness.feed(b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x02"), Ok(NextAction::Idle));
    assert_eq!(harness.counts(TRANSACTION), [1, 0, 1, 0]);
    assert_eq!(harness.counts(NUMBERS.first_byte), [1, 0, 1, 0]);
    assert_eq!(harness.recorder.stats().errors[0].code, "INTERNAL_ERROR");
    assert_eq!(harness.begin(), NextAction::Reply);
}
