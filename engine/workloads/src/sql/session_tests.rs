//! Sessions with byte strings as responses, as a specification: requests sent and operations recorded.

mod client_tests;
mod error_tests;

use std::sync::Arc;

use proptest::prelude::*;

use super::session::{RetryPolicy, SqlSession};
use crate::sql::{Next, SentRequest, Transactions};
use loadcell_core::error::Failure;
use loadcell_core::record::{Counts, Kind, OpId, Operation, Queries, Recorder, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session, Step};
use loadcell_core::target::SslMode;
use loadcell_protocols::Config;
use loadcell_protocols::postgres::{Postgres, encode};

const BEGIN: OpId = OpId(1);
const UPDATE: OpId = OpId(2);
const SELECT: OpId = OpId(3);
const COMMIT: OpId = OpId(4);
const TYPE: OpId = OpId(5);
const OUTCOME: OpId = OpId(6);
/// Step that fails on the client's side.
const STOP: OpId = OpId(99);
/// Step with a pause of this length.
const SLEEP: OpId = OpId(98);
const NAP: u64 = 500;
/// Step with an external wait, recorded as `SELECT`.
const OUTSIDE: OpId = OpId(97);
const DESCRIPTOR: i32 = 7;

fn operations() -> Vec<Operation> {
    let kinds = [
        ("transaction", Kind::Transaction),
        ("begin", Kind::Other),
        ("update", Kind::Write),
        ("select", Kind::Read),
        ("commit", Kind::Other),
        ("type", Kind::Type),
        ("outcome", Kind::Outcome),
    ];
    kinds.map(|(name, kind)| Operation { name, kind }).to_vec()
}

/// BEGIN, UPDATE, SELECT, COMMIT, each with the transaction's number; or only the middle two.
struct Script {
    parse: Vec<u8>,
    steps: &'static [OpId],
    number: u32,
    at: usize,
    of_type: Option<OpId>,
    outcome: Option<OpId>,
    /// Responses are requested; the received ones.
    wants_rows: bool,
    received: Vec<String>,
    /// The external wait fails.
    goes_wrong: bool,
}

impl Transactions for Script {
    fn parse(&self) -> &[u8] {
        &self.parse
    }

    fn begin(&mut self) -> Option<OpId> {
        self.number += 1;
        self.at = 0;
        self.of_type
    }

    fn again(&mut self) {
        self.at = 0;
    }

    fn returned(&mut self) -> Result<(), Box<Failure>> {
        let why = || Box::new(Failure { code: "outside".into(), message: "it went wrong".into() });
        if self.goes_wrong { Err(why()) } else { Ok(()) }
    }

    fn next(&mut self, out: &mut Vec<u8>) -> Next {
        let Some(&op) = self.steps.get(self.at) else { return Next::Done(self.outcome) };
        self.at += 1;
        if op == STOP {
            return Next::Fail(Box::new(Failure { code: "no-row".into(), message: "nothing there".into() }));
        }
        if op == SLEEP {
            return Next::Pause(NAP);
        }
        if op == OUTSIDE {
            return Next::Until(DESCRIPTOR, SELECT);
        }
        let operation = &operations()[op.index()];
        encode::query(out, &format!("{} {}", operation.name, self.number));
        let asked = SentRequest::new(op, operation.kind);
        Next::Ask(if self.wants_rows { asked.with_rows() } else { asked })
    }

    fn columns<'r>(&mut self, names: &mut impl Iterator<Item = &'r [u8]>) {
        self.received.extend(names.map(|name| format!("column {}", String::from_utf8_lossy(name))));
    }

    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        let texts = columns.map(|column| String::from_utf8_lossy(column.unwrap_or(b"NULL")).into_owned());
        self.received.push(texts.collect::<Vec<_>>().join("|"));
    }

    fn completed(&mut self, rows: u64) {
        self.received.push(format!("{rows} rows"));
    }
}

const BLOCK: &[OpId] = &[BEGIN, UPDATE, SELECT, COMMIT];
const OPENING: &[u8] = b"R\0\0\0\x08\0\0\0\0S\0\0\0\x08a\0b\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const BEGUN: &[u8] = b"C\0\0\0\x0aBEGIN\0Z\0\0\0\x05T";
const UPDATED: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dUPDATE 3\0Z\0\0\0\x05T";
const SELECTED: &[u8] = b"T\0\0\0\x06\0\0D\0\0\0\x0b\0\x01\0\0\0\x017\
    D\0\0\0\x0b\0\x01\0\0\0\x018C\0\0\0\x0dSELECT 2\0Z\0\0\0\x05T";
const COMMITTED: &[u8] = b"C\0\0\0\x0bCOMMIT\0Z\0\0\0\x05I";
const ROLLED_BACK: &[u8] = b"C\0\0\0\x0dROLLBACK\0Z\0\0\0\x05I";

fn error(severity: &str, code: &str, status: Option<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    encode::message(&mut out, b'E', |out| {
        for field in [format!("S{severity}"), format!("V{severity}"), format!("C{code}"), "Mno".to_owned()] {
            encode::text(out, field.as_bytes());
        }
        out.push(0);
    });
    out.extend(status.iter().flat_map(|&status| [b'Z', 0, 0, 0, 5, status]));
    out
}

/// A session with a recorder, a buffer for unconsumed input, and a clock that advances 10 ns per call.
struct Harness {
    session: SqlSession<Script, Postgres>,
    recorder: Recorder,
    pending: Vec<u8>,
    out: Vec<u8>,
    now: u64,
}

impl Harness {
    fn with(steps: &'static [OpId], parse: &[u8], max_retries: u32) -> Self {
        let config = Config {
            user: "u".into(),
            password: None,
            database: "d".into(),
            application_name: String::new(),
            options: String::new(),
            sslmode: SslMode::Disable,
            local: false,
        };
        let retry_policy = RetryPolicy { retry: vec!["40001".into()], max_retries, late: None, skip: false };
        let script = Script {
            parse: parse.to_vec(),
            steps,
            number: 0,
            at: 0,
            of_type: None,
            outcome: None,
            wants_rows: false,
            received: Vec::new(),
            goes_wrong: false,
        };
        Self {
            session: SqlSession::new(Arc::new(config), Arc::new(retry_policy), script),
            recorder: Recorder::new(&operations()),
            pending: Vec::new(),
            out: Vec::new(),
            now: 0,
        }
    }

    /// An idle session.
    fn idle() -> Self {
        let mut harness = Self::with(BLOCK, b"", 2);
        harness.open();
        harness
    }

    fn open(&mut self) {
        self.session.opened(&mut self.out);
        self.sent();
        assert_eq!(self.on_message(OPENING), Ok(NextAction::Idle));
    }

    fn begin(&mut self) {
        self.now += 10;
        let mut cx = Context { recorder: &mut self.recorder };
        let action = self.session.begin(&mut cx, self.now - 5, self.now, &mut self.out);
        assert_eq!(action, NextAction::Reply);
    }

    fn on_message(&mut self, bytes: &[u8]) -> Result<NextAction, Failure> {
        self.now += 10;
        self.pending.extend_from_slice(bytes);
        let mut cx = Context { recorder: &mut self.recorder };
        let Step { consumed, action } =
            self.session.received(&mut cx, self.now, &self.pending, &mut self.out)?;
        self.pending.drain(..consumed);
        Ok(action)
    }

    fn resume(&mut self) -> NextAction {
        self.now += NAP;
        let mut cx = Context { recorder: &mut self.recorder };
        self.session.resume(&mut cx, self.now, &mut self.out)
    }

    /// Set a latency limit; with `skip`, overdue transactions are skipped as in an open loop.
    fn limit(&mut self, limit: u64, skip: bool) {
        let retry_policy = RetryPolicy {
            late: Some((limit, OUTCOME)),
            skip,
            ..RetryPolicy::clone(&self.session.retry_policy)
        };
        self.session.retry_policy = Arc::new(retry_policy);
    }

    fn lose(&mut self, code: &str) -> Reconnect {
        self.now += 10;
        self.pending.clear();
        let why = Failure { code: code.into(), message: "gone".into() };
        self.session.lost(&mut Context { recorder: &mut self.recorder }, self.now, &why)
    }

    /// Queries sent since the last call.
    fn sent(&mut self) -> Vec<String> {
        let out = std::mem::take(&mut self.out);
        let mut remaining = &out[..];
        let mut queries = Vec::new();
        while let Some(b'Q') = remaining.first() {
            let length = u32::from_be_bytes(remaining[1..5].try_into().unwrap()) as usize;
            queries.push(String::from_utf8_lossy(&remaining[5..length]).into_owned());
            remaining = &remaining[1 + length..];
        }
        queries
    }

    fn counts(&self, op: OpId) -> (u64, u64, u64, u64) {
        let Counts { started, succeeded, failed, retried } = self.recorder.lifetime().operations[op.index()];
        assert!(started >= succeeded + failed);
        (started, succeeded, failed, retried)
    }

    fn errors(&self) -> Vec<(String, OpId, u64)> {
        self.recorder.stats().errors.iter().map(|e| (e.code.clone(), e.operation, e.count)).collect()
    }

    fn queries(&self) -> Queries {
        self.recorder.lifetime().queries
    }
}

#[test]
fn statements_run_in_sequence() {
    let mut harness = Harness::idle();
    harness.begin();
    assert_eq!(harness.sent(), ["begin 1"]);
    assert_eq!(harness.on_message(BEGUN), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), ["update 1"]);
    assert_eq!(harness.on_message(UPDATED), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), ["select 1"]);
    assert_eq!(harness.recorder.lifetime().rows_changed, 0, "not yet committed");
    assert_eq!(harness.on_message(SELECTED), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), ["commit 1"]);
    assert_eq!(harness.queries(), Queries::default(), "not yet a success");
    assert_eq!(harness.on_message(COMMITTED), Ok(NextAction::Idle));
    assert!(harness.sent().is_empty());
    for op in [TRANSACTION, BEGIN, UPDATE, SELECT, COMMIT] {
        assert_eq!(harness.counts(op), (1, 1, 0, 0));
    }
    assert_eq!(harness.queries(), Queries { read: 1, write: 1, other: 2 });
    assert_eq!(harness.recorder.lifetime().rows_changed, 3);
    harness.begin();
    assert_eq!(harness.sent(), ["begin 2"]);
}

#[test]
fn response_from_intended_start_and_service_from_sending() {
    let mut harness = Harness::idle();
    harness.begin();
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        harness.on_message(answer).unwrap();
    }
    let operations = &harness.recorder.resolved_stats().operations;
    assert_eq!((operations[0].response.max(), operations[0].service.max()), (45, 40));
    assert_eq!((operations[2].response.max(), operations[2].service.max()), (10, 10));
}

#[test]
fn responses_may_be_split_anywhere() {
    let stream = [BEGUN, UPDATED, SELECTED, COMMITTED].concat();
    for cut in 0..stream.len() {
        let mut harness = Harness::idle();
        harness.begin();
        // Responses follow their requests, so each part of the stream is fed after its request.
        let mut wants = Vec::new();
        for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
            let cut = cut.min(answer.len());
            harness.on_message(&answer[..cut]).unwrap();
            wants.push(harness.on_message(&answer[cut..]).unwrap());
        }
        assert_eq!(wants, [NextAction::Reply, NextAction::Reply, NextAction::Reply, NextAction::Idle]);
        assert_eq!(harness.counts(TRANSACTION), (1, 1, 0, 0));
        assert_eq!(harness.recorder.lifetime().rows_changed, 3);
    }
}

#[test]
fn bytes_may_arrive_one_by_one() {
    let mut harness = Harness::idle();
    harness.begin();
    let stream = [BEGUN, UPDATED, SELECTED, COMMITTED].concat();
    let wants: Vec<_> = stream.chunks(1).map(|byte| harness.on_message(byte).unwrap()).collect();
    assert_eq!(wants.iter().position(|action| *action == NextAction::Idle), Some(stream.len() - 1));
}

#[test]
fn error_in_a_block_is_rolled_back_and_counted() {
    let mut harness = Harness::idle();
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.sent();
    assert_eq!(harness.on_message(&error("ERROR", "23505", Some(b'E'))), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), ["ROLLBACK"]);
    assert_eq!(harness.counts(TRANSACTION), (1, 0, 0, 0), "not over before it is rolled back");
    assert_eq!(harness.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    assert_eq!(harness.counts(TRANSACTION), (1, 0, 1, 0));
    assert_eq!(harness.counts(UPDATE), (1, 0, 1, 0));
    assert_eq!(harness.counts(BEGIN), (1, 1, 0, 0));
    assert_eq!(harness.errors(), [("23505".into(), UPDATE, 1), ("23505".into(), TRANSACTION, 1)]);
    assert_eq!(harness.queries(), Queries::default());
    assert_eq!(harness.recorder.lifetime().rows_changed, 0);
    harness.begin();
    assert_eq!(harness.sent(), ["begin 2"]);
}

#[test]
fn error_outside_a_block_needs_no_rollback() {
    const ALONE: &[OpId] = &[UPDATE];
    let mut harness = Harness::with(ALONE, b"", 2);
    harness.open();
    harness.begin();
    assert_eq!(harness.on_message(&error("ERROR", "23505", Some(b'I'))), Ok(NextAction::Idle));
    assert_eq!(harness.sent(), ["update 1"]);
    assert_eq!(harness.counts(TRANSACTION), (1, 0, 1, 0));
}

#[test]
fn autocommitted_rows_count_at_once() {
    const TWICE: &[OpId] = &[UPDATE, UPDATE];
    let mut harness = Harness::with(TWICE, b"", 0);
    harness.open();
    harness.begin();
    harness.on_message(b"C\0\0\0\x0dUPDATE 3\0Z\0\0\0\x05I").unwrap();
    harness.on_message(&error("ERROR", "23505", Some(b'I'))).unwrap();
    assert_eq!(harness.recorder.lifetime().rows_changed, 3);
    assert_eq!(harness.counts(TRANSACTION), (1, 0, 1, 0));
}

/// Valid messages and invalid ones.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(vec![BEGUN, UPDATED, SELECTED, COMMITTED, ROLLED_BACK,
            OPENING]).prop_map(<[u8]>::to_vec),
        2 => (prop::sample::select(vec!["40001", "23505", "57014"]), prop::sample::select(vec![b'I', b'E',
            b'T']))
            .prop_map(|(code, status)| error("ERROR", code, Some(status))),
        1 => Just(error("FATAL", "57P01", None)),
        1 => (any::<u8>(), prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(tag, body)| {
            let mut out = Vec::new();
            encode::message(&mut out, tag.max(1), |out| out.extend_from_slice(&body));
            out
        }),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// No input, split in any way, panics or loops forever, and the counting identity holds.
    #[test]
    fn arbitrary_messages_keep_the_counting_identity(
        pieces in prop::collection::vec((piece(), 0usize..30), 0..40),
    ) {
        let mut harness = Harness::idle();
        let mut begun = 0;
        for (piece, cut) in pieces {
            let cut = cut.min(piece.len());
            for part in [&piece[..cut], &piece[cut..]] {
                match harness.on_message(part) {
                    Ok(NextAction::Idle) => {
                        harness.begin();
                        begun += 1;
                    }
                    Ok(_) => {}
                    Err(failure) => {
                        harness.lose(&failure.code);
                        harness.session.opened(&mut harness.out);
                    }
                }
            }
            harness.out.clear();
        }
        harness.lose("connection");
        let (started, succeeded, failed, _) = harness.counts(TRANSACTION);
        prop_assert_eq!((started, succeeded + failed), (begun, begun));
        for op in [BEGIN, UPDATE, SELECT, COMMIT] {
            let (started, succeeded, failed, _) = harness.counts(op);
            prop_assert_eq!(started, succeeded + failed);
        }
    }
}
