//! Sessions with byte strings as responses.

use std::sync::Arc;

use serde_json::{Value, json};

use super::client::Client;
use super::exchange::Operations;
use super::options::Plan;
use super::session::HttpSession;
use super::single::SingleRequests;
use loadcell_core::error::Failure;
use loadcell_core::record::{Counts, Kind, OpId, Operation, Recorder, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session};
use loadcell_protocols::http1::Http1;

const OPERATIONS: [Operation; 5] = [
    Operation { name: "transaction", kind: Kind::Transaction },
    Operation { name: "get", kind: Kind::Type },
    Operation { name: "set", kind: Kind::Type },
    Operation { name: "connect", kind: Kind::Stage },
    Operation { name: "first_byte", kind: Kind::Stage },
];
const NUMBERS: Operations = Operations { first_kind: Some(1), connect: OpId(3), first_byte: OpId(4) };
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

struct Harness {
    session: HttpSession<Http1, SingleRequests>,
    recorder: Recorder,
    out: Vec<u8>,
    at: u64,
}

impl Harness {
    fn of(section: Value) -> Self {
        let target = r#"{"protocol":"http","host":"h","port":80,"sslmode":"disable"}"#;
        let plan = Plan::of(&section, &loadcell_testing::read("target", target).unwrap()).unwrap();
        let session = HttpSession::new(SingleRequests::new(Client::new(Arc::new(plan), 1, 0, 1), NUMBERS));
        let mut harness = Self { session, recorder: Recorder::new(&OPERATIONS), out: Vec::new(), at: 100 };
        assert_eq!(harness.session.opened(&mut harness.out), NextAction::Idle);
        harness
    }

    fn single(more: Value) -> Self {
        let mut section = json!({"requests": [
            {"name": "get", "path": "/get"},
            {"name": "set", "path": "/set", "share": 0},
        ]});
        section.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Self::of(section)
    }

    fn begin(&mut self) -> (NextAction, String) {
        self.at += 10;
        let cx = &mut Context { recorder: &mut self.recorder };
        let action = self.session.begin(cx, self.at - 5, self.at, &mut self.out);
        (action, String::from_utf8(std::mem::take(&mut self.out)).unwrap())
    }

    fn resume(&mut self) -> NextAction {
        self.at += 7;
        self.session.opened(&mut self.out);
        self.session.resume(&mut Context { recorder: &mut self.recorder }, self.at, &mut self.out)
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<NextAction, Failure> {
        self.at += 3;
        let cx = &mut Context { recorder: &mut self.recorder };
        let step = self.session.received(cx, self.at, bytes, &mut self.out)?;
        assert_eq!(step.consumed, bytes.len(), "these are cut where nothing is left over");
        Ok(step.action)
    }

    fn lose(&mut self, why: &Failure) -> Reconnect {
        self.at += 1;
        self.session.lost(&mut Context { recorder: &mut self.recorder }, self.at, why)
    }

    fn closed(&mut self) -> Option<NextAction> {
        self.session.closed(&mut Context { recorder: &mut self.recorder }, self.at, &mut self.out)
    }

    fn counts(&self, op: OpId) -> Counts {
        self.recorder.stats().operations[op.index()].counts
    }

    /// Counts of succeeded and failed for the transaction, its kind, the connect and the first byte.
    fn all(&self) -> [(u64, u64); 4] {
        [TRANSACTION, OpId(1), NUMBERS.connect, NUMBERS.first_byte].map(|op| {
            let counts = self.counts(op);
            (counts.succeeded, counts.failed)
        })
    }

    fn code(&self) -> &str {
        assert_eq!(self.recorder.stats().errors.len(), 1);
        &self.recorder.stats().errors[0].code
    }
}

fn failure(code: &str) -> Failure {
    Failure { code: code.into(), message: String::new() }
}

#[test]
fn request_and_response() {
    let mut harness = Harness::single(json!({}));
    let (action, request) = harness.begin();
    assert_eq!(action, NextAction::Reply);
    assert!(request.starts_with("GET /get HTTP/1.1\r\nHost: h\r\n"), "{request}");
    assert_eq!(harness.feed(&OK[..17]).unwrap(), NextAction::Reply);
    assert_eq!(harness.feed(&OK[17..]).unwrap(), NextAction::Idle);
    assert_eq!(harness.all(), [(1, 0), (1, 0), (0, 0), (1, 0)]);
    let slot = harness.recorder.resolved_stats();
    let stats = |op: OpId| &slot.operations[op.index()];
    assert_eq!((stats(TRANSACTION).response.max(), stats(TRANSACTION).service.max()), (11, 6));
    assert_eq!(stats(NUMBERS.first_byte).response.max(), 3);
    assert_eq!(harness.recorder.stats().received.body_bytes, 5);
    assert_eq!(harness.begin().0, NextAction::Reply, "the connection is used again");
}

#[test]
fn status_and_body_decide_success() {
    let mut harness = Harness::single(json!({}));
    harness.begin();
    assert_eq!(
        harness.feed(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").unwrap(),
        NextAction::Idle
    );
    assert_eq!((harness.all(), harness.code()), ([(0, 1), (0, 1), (0, 0), (1, 0)], "http-404"));
    let mut harness = Harness::single(json!({"success": ["404"]}));
    harness.begin();
    harness.feed(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!(harness.all()[0], (1, 0));
    let mut harness =
        Harness::of(json!({"requests": [{"name": "get", "path": "/", "check": {"contains": "bye"}}]}));
    harness.begin();
    assert_eq!(harness.feed(OK).unwrap(), NextAction::Idle);
    assert_eq!((harness.all()[0], harness.code()), ((0, 1), "body"));
    assert_eq!(harness.begin().0, NextAction::Reply, "the connection is as good as before");
}

#[test]
fn ended_connection_is_replaced_within_the_next_request() {
    let mut harness = Harness::single(json!({}));
    harness.begin();
    harness.feed(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!(harness.begin(), (NextAction::Connect, String::new()));
    assert_eq!(harness.resume(), NextAction::Reply);
    assert!(harness.out.starts_with(b"GET /get"));
    harness.feed(OK).unwrap();
    assert_eq!(harness.all(), [(2, 0), (2, 0), (1, 0), (2, 0)]);
    let slot = harness.recorder.resolved_stats();
    let stats = |op: OpId| &slot.operations[op.index()];
    assert_eq!(stats(NUMBERS.connect).service.max(), 7);
    assert_eq!(stats(TRANSACTION).service.max(), 10, "connecting is part of it");
}

#[test]
fn without_keep_alive_each_request_connects() {
    let mut harness = Harness::single(json!({"keep_alive": false}));
    for _ in 0..3 {
        assert_eq!(harness.begin().0, NextAction::Connect);
        harness.resume();
        assert!(harness.out.ends_with(b"Connection: close\r\n\r\n"));
        assert_eq!(harness.feed(OK).unwrap(), NextAction::Idle);
        harness.out.clear();
    }
    assert_eq!(harness.all(), [(3, 0), (3, 0), (3, 0), (3, 0)]);
}

#[test]
fn body_may_end_with_the_connection() {
    let mut harness = Harness::single(json!({}));
    harness.begin();
    assert_eq!(harness.feed(b"HTTP/1.0 200 OK\r\n\r\nhel").unwrap(), NextAction::Reply);
    assert_eq!(harness.feed(b"lo").unwrap(), NextAction::Reply);
    assert_eq!(harness.closed(), Some(NextAction::Idle));
    assert_eq!((harness.all()[0], harness.begin().0), ((1, 0), NextAction::Connect));
}

#[test]
fn truncated_response_fails_with_length() {
    let mut harness = Harness::single(json!({}));
    harness.begin();
    harness.feed(&OK[..OK.len() - 2]).unwrap();
    assert_eq!(harness.closed(), None);
    assert_eq!(harness.lose(&failure("connection")), Reconnect::OnDemand);
    assert_eq!((harness.all(), harness.code()), ([(0, 1), (0, 1), (0, 0), (1, 0)], "length"));
    assert_eq!(harness.begin().0, NextAction::Connect);
}

#[test]
fn surplus_bytes_fail_the_response() {
    let mut harness = Harness::single(json!({}));
    harness.begin();
    let why = harness.feed(&[OK, b"!"].concat()).unwrap_err();
    harness.lose(&why);
    assert_eq!((harness.all()[0], harness.code()), ((0, 1), "length"));
    harness.begin();
    harness.resume();
    assert_eq!(harness.feed(OK).unwrap(), NextAction::Idle, "what was before is forgotten");
    assert!(harness.feed(b"unasked").is_err());
    assert_eq!(harness.lose(&failure("length")), Reconnect::OnDemand);
    assert_eq!(harness.all()[0], (1, 1), "no request was lost with it");
}

#[test]
fn lost_request_fails_in_its_stage() {
    let mut harness = Harness::single(json!({}));
    assert_eq!(harness.lose(&failure("connection")), Reconnect::OnDemand);
    assert_eq!(harness.begin().0, NextAction::Connect);
    assert_eq!(harness.lose(&failure("refused")), Reconnect::Later, "others are not hammered at");
    assert_eq!((harness.all(), harness.code()), ([(0, 1), (0, 1), (0, 1), (0, 0)], "refused"));
    let mut harness = Harness::single(json!({}));
    harness.begin();
    assert_eq!(harness.closed(), None);
    assert_eq!(harness.lose(&failure("reset")), Reconnect::OnDemand);
    assert_eq!((harness.all(), harness.code()), ([(0, 1), (0, 1), (0, 0), (0, 1)], "connection"));
}

#[test]
fn os_errors_have_codes() {
    let error_code = |errno| <HttpSession<Http1, SingleRequests> as Session>::error_code(errno);
    assert_eq!(error_code(libc::ECONNREFUSED), Some("refused"));
    assert_eq!((error_code(libc::ECONNRESET), error_code(libc::EPIPE)), (Some("reset"), Some("reset")));
    assert_eq!(error_code(libc::EHOSTUNREACH), None);
}

#[test]
fn requests_are_drawn_by_their_shares() {
    let mut harness = Harness::of(json!({
        "requests": [
            {"name": "get", "path": "/get?key=${key}", "share": 80},
            {"name": "set", "method": "POST", "path": "/set?key=${key}", "body": "${value}=${key}",
             "headers": {"X-Key": "${key}"}, "share": 20},
        ],
        "parameters": {"key": {"from": 100, "to": 999}, "value": {"letters": 5}},
    }));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..1000 {
        let (_, request) = harness.begin();
        let key = request.split("key=").nth(1).unwrap()[..3].to_string();
        if request.starts_with("POST") {
            assert!(request.contains(&format!("\r\nx-key: {key}\r\n")), "{request}");
            assert!(
                request.contains("\r\nContent-Length: 9\r\n") && request.ends_with(&format!("={key}")),
                "{request}"
            );
        }
        seen.insert(key);
        harness.feed(OK).unwrap();
    }
    assert!(seen.len() > 500);
    let gets = harness.counts(OpId(1)).succeeded;
    assert!((740..860).contains(&gets), "{gets}");
    assert_eq!(gets + harness.counts(OpId(2)).succeeded, 1000);
}
