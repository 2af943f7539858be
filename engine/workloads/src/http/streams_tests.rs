//! Sessions with several requests at once, held against what a server may say.

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

/// So many requests at once at the most.
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

struct Talk {
    session: StreamsSession,
    recorder: Recorder,
    out: Vec<u8>,
    at: u64,
}

impl Talk {
    /// With a connection to a server that takes `most` at once; `streams` are wanted.
    fn new(streams: u32, most: u8) -> Self {
        let target = r#"{"protocol":"http","host":"h","port":80,"sslmode":"disable"}"#;
        let section = json!({
            "version": "2",
            "streams": streams,
            "requests": [{"path": "/${key}"}],
            "parameters": {"key": {"from": 10, "to": 99, "distribution": "sequential"}},
        });
        let plan = Plan::read(&section, &serde_json::from_str(target).unwrap()).unwrap();
        let fewest = Arc::new((streams as usize).into());
        let session = StreamsSession::new(Client::new(Arc::new(plan), 1, 0, 1), NUMBERS, fewest);
        let mut talk = Self { session, recorder: Recorder::new(&OPERATIONS), out: Vec::new(), at: 100 };
        assert_eq!(talk.session.opened(&mut talk.out), NextAction::Idle);
        assert_eq!(talk.hear(&settings(most)), Ok(NextAction::Idle));
        talk.out.clear();
        talk
    }

    fn begin(&mut self) -> NextAction {
        self.at += 10;
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.begin(cx, self.at, self.at, &mut self.out)
    }

    /// The connection that it wanted is there.
    fn renew(&mut self, most: u8) -> NextAction {
        self.at += 10;
        assert_eq!(self.session.opened(&mut self.out), NextAction::Idle);
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.resume(cx, self.at, &mut self.out);
        self.hear(&settings(most)).unwrap()
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<NextAction, Failure> {
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

    /// The paths of the requests that were sent, in their order.
    fn paths(&mut self) -> Vec<String> {
        let out = std::mem::take(&mut self.out);
        let paths = out.windows(5).filter(|five| five.starts_with(&[4, 3, b'/']));
        paths.map(|five| String::from_utf8_lossy(&five[2..]).into()).collect()
    }

    /// Attempted, succeeded, failed, retried.
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
    let mut talk = Talk::new(3, 100);
    assert_eq!(talk.begin(), NextAction::Reply);
    assert_eq!(talk.paths(), ["/10", "/11", "/12"]);
    assert_eq!(talk.counts(TRANSACTION), [3, 0, 0, 0]);
    assert_eq!(talk.hear(&ok(3)), Ok(NextAction::CanStartMore), "one is over, in whatever order");
    assert_eq!(talk.begin(), NextAction::Reply);
    assert_eq!(talk.paths(), ["/13"]);
    assert_eq!(talk.hear(&[ok(1), ok(7)].concat()), Ok(NextAction::CanStartMore));
    assert_eq!(talk.hear(&ok(5)), Ok(NextAction::Idle), "none is left");
    assert_eq!(talk.counts(TRANSACTION), [4, 4, 0, 0]);
    assert_eq!(talk.counts(NUMBERS.first_byte), [4, 4, 0, 0]);
}

#[test]
fn each_request_has_its_own_times() {
    let mut talk = Talk::new(2, 100);
    talk.begin(); // at 115
    talk.hear(&ok(1)).unwrap(); // 120
    talk.begin(); // 130
    assert_eq!(talk.hear(&ok(5)), Ok(NextAction::CanStartMore)); // 135
    assert_eq!(talk.hear(&ok(3)), Ok(NextAction::Idle)); // 140
    let service = &talk.recorder.resolved_stats().operations[0].service;
    assert_eq!((service.count(), service.min(), service.max()), (3, 5, 25));
}

#[test]
fn servers_limit_is_respected() {
    let mut talk = Talk::new(8, 2);
    talk.begin();
    assert_eq!(talk.paths(), ["/10", "/11"]);
    assert_eq!(talk.counts(TRANSACTION)[0], 2, "the others have not begun: their time does not run");
    assert_eq!(talk.hear(&settings(3)), Ok(NextAction::CanStartMore));
    talk.begin();
    assert_eq!(talk.paths(), ["/12"]);
    assert_eq!(talk.hear(&settings(1)), Ok(NextAction::Reply));
    assert_eq!(talk.hear(&[ok(1), ok(3)].concat()), Ok(NextAction::Reply));
    assert_eq!(talk.hear(&ok(5)), Ok(NextAction::Idle));
    talk.begin();
    assert_eq!(talk.paths(), ["/13"]);
}

#[test]
fn zero_limit_is_waited_for() {
    let mut talk = Talk::new(4, 0);
    assert_eq!(talk.begin(), NextAction::Reply);
    assert_eq!((talk.paths().len(), talk.counts(TRANSACTION)[0]), (0, 1));
    assert_eq!(talk.hear(&settings(9)), Ok(NextAction::CanStartMore));
    assert_eq!(talk.paths(), ["/10"]);
}

#[test]
fn reset_fails_one_request_only() {
    let mut talk = Talk::new(3, 100);
    talk.begin();
    assert_eq!(talk.hear(&reset(3, 2)), Ok(NextAction::CanStartMore));
    assert_eq!(talk.codes(), [("INTERNAL_ERROR", 1)]);
    assert_eq!(talk.begin(), NextAction::Reply);
    assert_eq!(talk.hear(&[ok(1), ok(5), ok(7)].concat()), Ok(NextAction::Idle));
    assert_eq!(talk.counts(TRANSACTION), [4, 3, 1, 0]);
    assert_eq!(talk.counts(NUMBERS.first_byte), [4, 3, 1, 0]);
    assert_eq!(talk.counts(NUMBERS.connect), [0; 4]);
}

#[test]
fn requests_unprocessed_at_goaway_are_repeated() {
    let mut talk = Talk::new(4, 100);
    talk.begin();
    talk.paths();
    assert_eq!(talk.hear(&go_away(3)), Ok(NextAction::Reply), "two are being answered still");
    assert_eq!(talk.hear(&ok(3)), Ok(NextAction::Reply), "nothing is begun on it any more");
    assert_eq!(talk.hear(&ok(1)), Ok(NextAction::Connect));
    assert_eq!(talk.renew(100), NextAction::CanStartMore);
    assert_eq!(talk.paths(), ["/12", "/13"]);
    assert_eq!(talk.begin(), NextAction::Reply);
    assert_eq!(talk.paths(), ["/14", "/15"]);
    assert_eq!(talk.hear(&[ok(1), ok(3), ok(5), ok(7)].concat()), Ok(NextAction::Idle));
    assert_eq!(talk.counts(TRANSACTION), [6, 6, 0, 2]);
    assert_eq!(talk.counts(NUMBERS.connect), [1, 1, 0, 0]);
}

#[test]
fn repeatedly_refused_requests_fail() {
    let mut talk = Talk::new(2, 100);
    talk.begin();
    assert_eq!(talk.hear(&[go_away(1), ok(1)].concat()), Ok(NextAction::Connect));
    for _ in 1..5 {
        talk.renew(1);
        assert_eq!(talk.hear(&go_away(0)), Ok(NextAction::Connect));
    }
    talk.renew(1);
    assert_eq!(talk.hear(&go_away(0)), Ok(NextAction::Idle));
    assert_eq!(talk.codes(), [("NO_ERROR", 1)]);
    assert_eq!(talk.begin(), NextAction::Connect);
}

#[test]
fn lost_connection_fails_started_requests_only() {
    let mut talk = Talk::new(4, 100);
    talk.begin();
    talk.hear(&[go_away(5), frame(1, 4, 3, b"\x88\x0f\x0d\x015")].concat()).unwrap();
    let cx = &mut Context { recorder: &mut talk.recorder };
    assert_eq!(
        talk.session.closed(cx, talk.at, &mut talk.out),
        Some(NextAction::Connect),
        "for the one that was refused"
    );
    assert_eq!(talk.counts(TRANSACTION), [4, 0, 3, 1]);
    assert_eq!(talk.codes(), [("NO_ERROR", 2), ("length", 1)]);
    talk.paths();
    talk.renew(1);
    assert_eq!(talk.paths(), ["/13"]);
    assert_eq!(talk.hear(&ok(1)), Ok(NextAction::Idle));
}

#[test]
fn lost_requests_fail_in_any_stage() {
    let why = Failure { code: "reset".into(), message: String::new() };
    let mut talk = Talk::new(2, 100);
    talk.begin();
    let lose = |talk: &mut Talk| {
        let cx = &mut Context { recorder: &mut talk.recorder };
        talk.session.lost(cx, talk.at, &why)
    };
    assert_eq!(lose(&mut talk), Reconnect::OnDemand);
    assert_eq!(talk.begin(), NextAction::Connect);
    assert_eq!(talk.counts(TRANSACTION), [4, 0, 2, 0], "as many wait for the new connection as there were");
    assert_eq!(lose(&mut talk), Reconnect::Later, "others are not hammered at");
    assert_eq!(talk.counts(TRANSACTION), [4, 0, 4, 0]);
    assert_eq!((talk.counts(NUMBERS.connect), talk.counts(NUMBERS.first_byte)), ([1, 0, 1, 0], [2, 0, 2, 0]));
    assert_eq!(lose(&mut talk), Reconnect::OnDemand, "nothing was in progress");
}

#[test]
fn expired_request_is_cancelled_and_others_continue() {
    let mut talk = Talk::new(2, 100);
    talk.begin(); // at 115
    talk.hear(&ok(1)).unwrap();
    talk.begin(); // at 130
    talk.out.clear();
    assert_eq!(talk.expire_requests(114), (NextAction::Reply, Some(115)), "none yet");
    assert_eq!(talk.expire_requests(115), (NextAction::CanStartMore, Some(130)));
    assert_eq!(talk.out, reset(3, 8), "CANCEL");
    assert_eq!(talk.codes(), [("timeout", 1)]);
    assert_eq!(talk.hear(&ok(3)), Ok(NextAction::CanStartMore), "too late");
    assert_eq!(talk.counts(TRANSACTION), [3, 1, 1, 0]);
    assert_eq!(talk.expire_requests(130), (NextAction::Idle, None));
}
