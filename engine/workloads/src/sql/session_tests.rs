//! The session as a specification: what it says to which answers, and what it records.

use std::sync::Arc;

use proptest::prelude::*;

use super::session::{RetryPolicy, SqlSession};
use crate::sql::{Asked, Next, Transactions};
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
/// A step at which the client finds that it cannot go on.
const STOP: OpId = OpId(99);
/// A step at which it waits by its own choice, so long.
const SLEEP: OpId = OpId(98);
const NAP: u64 = 500;
/// A step at which it waits for something outside, which counts as `SELECT`.
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

/// BEGIN, UPDATE, SELECT, COMMIT, each with the number of the transaction; or the middle two only.
struct Script {
    parse: Vec<u8>,
    steps: &'static [OpId],
    number: u32,
    at: usize,
    of_type: Option<OpId>,
    outcome: Option<OpId>,
    /// Whether it wants to hear answers, and what it heard.
    hears: bool,
    heard: Vec<String>,
    /// Whether what it waits for outside goes wrong.
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
        let asked = Asked::new(op, operation.kind);
        Next::Ask(if self.hears { asked.heard() } else { asked })
    }

    fn columns<'r>(&mut self, names: &mut impl Iterator<Item = &'r [u8]>) {
        self.heard.extend(names.map(|name| format!("column {}", String::from_utf8_lossy(name))));
    }

    fn row<'r>(&mut self, columns: &mut impl Iterator<Item = Option<&'r [u8]>>) {
        let texts = columns.map(|column| String::from_utf8_lossy(column.unwrap_or(b"NULL")).into_owned());
        self.heard.push(texts.collect::<Vec<_>>().join("|"));
    }

    fn completed(&mut self, rows: u64) {
        self.heard.push(format!("{rows} rows"));
    }
}

const BLOCK: &[OpId] = &[BEGIN, UPDATE, SELECT, COMMIT];
const OPENING: &[u8] = b"R\0\0\0\x08\0\0\0\0S\0\0\0\x08a\0b\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const BEGUN: &[u8] = b"C\0\0\0\x0aBEGIN\0Z\0\0\0\x05T";
const UPDATED: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dUPDATE 3\0Z\0\0\0\x05T";
const SELECTED: &[u8] =
    b"T\0\0\0\x06\0\0D\0\0\0\x0b\0\x01\0\0\0\x017D\0\0\0\x0b\0\x01\0\0\0\x018C\0\0\0\x0dSELECT 2\0Z\0\0\0\x05T";
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

/// A session with its record, a buffer for what is not yet whole, and a clock that ticks 10 ns a call.
struct Bench {
    session: SqlSession<Script, Postgres>,
    recorder: Recorder,
    pending: Vec<u8>,
    out: Vec<u8>,
    now: u64,
}

impl Bench {
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
            hears: false,
            heard: Vec::new(),
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

    /// A session that waits for its turn.
    fn idle() -> Self {
        let mut bench = Self::with(BLOCK, b"", 2);
        bench.open();
        bench
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

    /// Counts transactions beyond `limit` as late ones; in an open loop those that are late before they begin are skipped.
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

    /// The queries that were sent since the last call.
    fn sent(&mut self) -> Vec<String> {
        let out = std::mem::take(&mut self.out);
        let mut rest = &out[..];
        let mut queries = Vec::new();
        while let Some(b'Q') = rest.first() {
            let length = u32::from_be_bytes(rest[1..5].try_into().unwrap()) as usize;
            queries.push(String::from_utf8_lossy(&rest[5..length]).into_owned());
            rest = &rest[1 + length..];
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
    let mut bench = Bench::idle();
    bench.begin();
    assert_eq!(bench.sent(), ["begin 1"]);
    assert_eq!(bench.on_message(BEGUN), Ok(NextAction::Reply));
    assert_eq!(bench.sent(), ["update 1"]);
    assert_eq!(bench.on_message(UPDATED), Ok(NextAction::Reply));
    assert_eq!(bench.sent(), ["select 1"]);
    assert_eq!(bench.recorder.lifetime().rows_changed, 0, "not yet committed");
    assert_eq!(bench.on_message(SELECTED), Ok(NextAction::Reply));
    assert_eq!(bench.sent(), ["commit 1"]);
    assert_eq!(bench.queries(), Queries::default(), "not yet a success");
    assert_eq!(bench.on_message(COMMITTED), Ok(NextAction::Idle));
    assert!(bench.sent().is_empty());
    for op in [TRANSACTION, BEGIN, UPDATE, SELECT, COMMIT] {
        assert_eq!(bench.counts(op), (1, 1, 0, 0));
    }
    assert_eq!(bench.queries(), Queries { read: 1, write: 1, other: 2 });
    assert_eq!(bench.recorder.lifetime().rows_changed, 3);
    bench.begin();
    assert_eq!(bench.sent(), ["begin 2"]);
}

#[test]
fn response_from_intended_start_and_service_from_sending() {
    let mut bench = Bench::idle();
    bench.begin();
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        bench.on_message(answer).unwrap();
    }
    let operations = &bench.recorder.resolved_stats().operations;
    assert_eq!((operations[0].response.max(), operations[0].service.max()), (45, 40));
    assert_eq!((operations[2].response.max(), operations[2].service.max()), (10, 10));
}

#[test]
fn responses_may_be_split_anywhere() {
    let stream = [BEGUN, UPDATED, SELECTED, COMMITTED].concat();
    for cut in 0..stream.len() {
        let mut bench = Bench::idle();
        bench.begin();
        // Bytes of a statement that was not yet asked never come: give each part of the stream its turn.
        let mut wants = Vec::new();
        for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
            let cut = cut.min(answer.len());
            bench.on_message(&answer[..cut]).unwrap();
            wants.push(bench.on_message(&answer[cut..]).unwrap());
        }
        assert_eq!(wants, [NextAction::Reply, NextAction::Reply, NextAction::Reply, NextAction::Idle]);
        assert_eq!(bench.counts(TRANSACTION), (1, 1, 0, 0));
        assert_eq!(bench.recorder.lifetime().rows_changed, 3);
    }
}

#[test]
fn bytes_may_arrive_one_by_one() {
    let mut bench = Bench::idle();
    bench.begin();
    let stream = [BEGUN, UPDATED, SELECTED, COMMITTED].concat();
    let wants: Vec<_> = stream.chunks(1).map(|byte| bench.on_message(byte).unwrap()).collect();
    assert_eq!(wants.iter().position(|action| *action == NextAction::Idle), Some(stream.len() - 1));
}

#[test]
fn error_in_a_block_is_rolled_back_and_counted() {
    let mut bench = Bench::idle();
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.sent();
    assert_eq!(bench.on_message(&error("ERROR", "23505", Some(b'E'))), Ok(NextAction::Reply));
    assert_eq!(bench.sent(), ["ROLLBACK"]);
    assert_eq!(bench.counts(TRANSACTION), (1, 0, 0, 0), "not over before it is rolled back");
    assert_eq!(bench.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    assert_eq!(bench.counts(TRANSACTION), (1, 0, 1, 0));
    assert_eq!(bench.counts(UPDATE), (1, 0, 1, 0));
    assert_eq!(bench.counts(BEGIN), (1, 1, 0, 0));
    assert_eq!(bench.errors(), [("23505".into(), UPDATE, 1), ("23505".into(), TRANSACTION, 1)]);
    assert_eq!(bench.queries(), Queries::default());
    assert_eq!(bench.recorder.lifetime().rows_changed, 0);
    bench.begin();
    assert_eq!(bench.sent(), ["begin 2"]);
}

#[test]
fn error_outside_a_block_needs_no_rollback() {
    const ALONE: &[OpId] = &[UPDATE];
    let mut bench = Bench::with(ALONE, b"", 2);
    bench.open();
    bench.begin();
    assert_eq!(bench.on_message(&error("ERROR", "23505", Some(b'I'))), Ok(NextAction::Idle));
    assert_eq!(bench.sent(), ["update 1"]);
    assert_eq!(bench.counts(TRANSACTION), (1, 0, 1, 0));
}

#[test]
fn autocommitted_rows_count_at_once() {
    const TWICE: &[OpId] = &[UPDATE, UPDATE];
    let mut bench = Bench::with(TWICE, b"", 0);
    bench.open();
    bench.begin();
    bench.on_message(b"C\0\0\0\x0dUPDATE 3\0Z\0\0\0\x05I").unwrap();
    bench.on_message(&error("ERROR", "23505", Some(b'I'))).unwrap();
    assert_eq!(bench.recorder.lifetime().rows_changed, 3);
    assert_eq!(bench.counts(TRANSACTION), (1, 0, 1, 0));
}

#[test]
fn client_receives_requested_rows() {
    let mut bench = Bench::idle();
    bench.session.client.hears = true;
    bench.begin();
    for answer in [BEGUN, UPDATED, SELECTED] {
        bench.on_message(answer).unwrap();
    }
    assert_eq!(bench.session.client.heard, ["0 rows", "3 rows", "7", "8", "2 rows"]);
    let row = b"D\0\0\0\x10\0\x02\xff\xff\xff\xff\0\0\0\x02it";
    bench.on_message(row).unwrap();
    assert_eq!(bench.session.client.heard.last().unwrap(), "NULL|it");
    assert_eq!(
        bench.on_message(b"D\0\0\0\x0b\0\x01\0\0\0\x021").unwrap_err().code,
        "protocol",
        "a broken row"
    );
}

#[test]
fn client_without_interest_receives_nothing() {
    let mut bench = Bench::idle();
    bench.begin();
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        bench.on_message(answer).unwrap();
    }
    assert!(bench.session.client.heard.is_empty());
}

#[test]
fn transactions_are_counted_by_type_too() {
    let mut bench = Bench::idle();
    bench.session.client.of_type = Some(TYPE);
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
    bench.on_message(ROLLED_BACK).unwrap();
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        bench.on_message(answer).unwrap();
    }
    assert_eq!(bench.counts(TYPE), (1, 1, 0, 1), "with its retry");
    assert_eq!(bench.counts(TYPE), bench.counts(TRANSACTION));
    let operations = &bench.recorder.resolved_stats().operations;
    assert_eq!(operations[TYPE.index()].response.max(), operations[0].response.max());
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.lose("connection");
    assert_eq!(bench.counts(TYPE), (2, 1, 1, 1));
    assert_eq!(bench.counts(OUTCOME), (0, 0, 0, 0));
    let codes: Vec<_> = bench.errors().into_iter().map(|(_, op, _)| op).collect();
    assert!(!codes.contains(&TYPE), "its errors are those of the transaction: {codes:?}");
}

#[test]
fn voluntary_rollback_succeeds_without_changes() {
    let mut bench = Bench::idle();
    bench.begin();
    for answer in [BEGUN, UPDATED, SELECTED] {
        bench.on_message(answer).unwrap();
    }
    bench.session.client.outcome = Some(OUTCOME);
    assert_eq!(bench.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    bench.session.client.outcome = None;
    assert_eq!(bench.counts(TRANSACTION), (1, 1, 0, 0));
    assert_eq!(bench.counts(OUTCOME), (1, 1, 0, 0));
    assert_eq!(bench.recorder.resolved_stats().operations[OUTCOME.index()].response.max(), 45);
    let lifetime = bench.recorder.lifetime();
    assert_eq!((lifetime.rows_changed, lifetime.rolled_back), (0, 1));
    bench.begin();
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        bench.on_message(answer).unwrap();
    }
    let lifetime = bench.recorder.lifetime();
    assert_eq!((lifetime.rows_changed, lifetime.rolled_back), (3, 1), "the next one is another");
    assert_eq!(bench.counts(OUTCOME), (1, 1, 0, 0));
}

#[test]
fn client_failure_is_rolled_back_and_counted() {
    const STOPS: &[OpId] = &[BEGIN, UPDATE, STOP];
    let mut bench = Bench::with(STOPS, b"", 2);
    bench.open();
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.sent();
    assert_eq!(bench.on_message(UPDATED), Ok(NextAction::Reply));
    assert_eq!(bench.sent(), ["ROLLBACK"]);
    assert_eq!(bench.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    assert_eq!(bench.counts(TRANSACTION), (1, 0, 1, 0));
    assert_eq!(bench.counts(UPDATE), (1, 1, 0, 0), "the statement did its work");
    assert_eq!(bench.errors(), [("no-row".into(), TRANSACTION, 1)]);
    assert_eq!(bench.recorder.lifetime().rows_changed, 0);
}

#[test]
fn pause_is_part_of_the_transaction() {
    const NAPPING: &[OpId] = &[SLEEP, BEGIN, SLEEP, COMMIT];
    let mut bench = Bench::with(NAPPING, b"", 2);
    bench.open();
    bench.now += 10;
    let mut cx = Context { recorder: &mut bench.recorder };
    let action = bench.session.begin(&mut cx, bench.now, bench.now, &mut bench.out);
    assert_eq!(action, NextAction::Pause(bench.now + NAP));
    assert_eq!(bench.resume(), NextAction::Reply);
    assert_eq!(bench.sent(), ["begin 1"]);
    let until = bench.now + 10 + NAP;
    assert_eq!(bench.on_message(BEGUN), Ok(NextAction::Pause(until)));
    assert_eq!(
        bench.on_message(b"N\0\0\0\x05\0"),
        Ok(NextAction::Reply),
        "a notice does not make it pause again"
    );
    assert_eq!(bench.resume(), NextAction::Reply);
    assert_eq!(bench.sent(), ["commit 1"]);
    assert_eq!(bench.on_message(COMMITTED), Ok(NextAction::Idle));
    assert_eq!(bench.counts(TRANSACTION), (1, 1, 0, 0));
    assert!(bench.recorder.resolved_stats().operations[0].response.max() >= 2 * NAP);
    assert!(
        bench.recorder.resolved_stats().operations[BEGIN.index()].response.max() < NAP,
        "no statement waited"
    );
}

#[test]
fn loss_in_a_pause_fails_only_the_transaction() {
    const NAPPING: &[OpId] = &[BEGIN, SLEEP, COMMIT];
    for fatal in [false, true] {
        let mut bench = Bench::with(NAPPING, b"", 2);
        bench.open();
        bench.begin();
        bench.on_message(BEGUN).unwrap();
        if fatal {
            assert_eq!(bench.on_message(&error("FATAL", "25P03", None)).unwrap_err().code, "25P03");
        }
        bench.lose("connection");
        assert_eq!(bench.counts(TRANSACTION), (1, 0, 1, 0));
        assert_eq!(bench.counts(BEGIN), (1, 1, 0, 0));
    }
}

#[test]
fn unclosed_block_fails_and_is_rolled_back() {
    const OPEN: &[OpId] = &[BEGIN, UPDATE];
    let mut bench = Bench::with(OPEN, b"", 2);
    bench.open();
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.sent();
    bench.on_message(UPDATED).unwrap();
    assert_eq!(bench.sent(), ["ROLLBACK"]);
    assert_eq!(bench.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    assert_eq!(bench.errors(), [("open-block".into(), TRANSACTION, 1)]);
}

#[test]
fn slow_transactions_are_counted_as_late_too() {
    for (limit, late) in [(45, 0), (44, 1)] {
        let mut bench = Bench::with(BLOCK, b"", 2);
        bench.limit(limit, false);
        bench.open();
        bench.begin();
        for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
            bench.on_message(answer).unwrap();
        }
        assert_eq!(bench.recorder.resolved_stats().operations[0].response.max(), 45);
        assert_eq!(bench.counts(OUTCOME), (late, late, 0, 0), "limit {limit}");
    }
}

#[test]
fn column_names_precede_the_rows() {
    let mut bench = Bench::idle();
    bench.session.client.hears = true;
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.on_message(UPDATED).unwrap();
    let described = [&b"T\0\0\0\x1a\0\x01n\0"[..], &[0; 18], &SELECTED[7..]].concat();
    bench.on_message(&described).unwrap();
    let heard = &bench.session.client.heard;
    assert_eq!(heard[heard.len() - 4..], ["column n", "7", "8", "2 rows"]);
}

#[test]
fn retryable_transactions_are_repeated() {
    let mut bench = Bench::idle();
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.on_message(UPDATED).unwrap();
    bench.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
    bench.sent();
    assert_eq!(bench.on_message(ROLLED_BACK), Ok(NextAction::Reply));
    assert_eq!(bench.sent(), ["begin 1"], "the same transaction");
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        bench.on_message(answer).unwrap();
    }
    assert_eq!(bench.counts(TRANSACTION), (1, 1, 0, 1));
    assert_eq!(bench.counts(UPDATE), (2, 2, 0, 0));
    assert_eq!(bench.counts(SELECT), (2, 1, 1, 0));
    assert_eq!(bench.queries(), Queries { read: 1, write: 1, other: 2 }, "of the attempt that succeeded");
    assert_eq!(bench.recorder.lifetime().rows_changed, 3, "of the attempt that succeeded");
    assert_eq!(bench.recorder.resolved_stats().operations[0].response.max(), 5 + 80, "over all attempts");
}

#[test]
fn failed_commit_is_retried_without_rollback() {
    let mut bench = Bench::idle();
    bench.begin();
    for answer in [BEGUN, UPDATED, SELECTED] {
        bench.on_message(answer).unwrap();
    }
    bench.sent();
    assert_eq!(bench.on_message(&error("ERROR", "40001", Some(b'I'))), Ok(NextAction::Reply));
    assert_eq!(bench.sent(), ["begin 1"]);
}

#[test]
fn retries_are_limited() {
    let mut bench = Bench::idle();
    bench.begin();
    for attempt in 0..3 {
        assert_eq!(bench.on_message(BEGUN), Ok(NextAction::Reply));
        bench.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
        let action = if attempt < 2 { NextAction::Reply } else { NextAction::Idle };
        assert_eq!(bench.on_message(ROLLED_BACK), Ok(action));
    }
    assert_eq!(bench.counts(TRANSACTION), (1, 0, 1, 2));
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
    assert_eq!(bench.on_message(ROLLED_BACK), Ok(NextAction::Reply), "the next one has retries of its own");
}

#[test]
fn fatal_error_ends_the_connection_with_the_servers_code() {
    let mut bench = Bench::idle();
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    let failure = bench.on_message(&error("FATAL", "57P01", None)).unwrap_err();
    assert_eq!(failure.code, "57P01");
    assert_eq!(bench.lose(&failure.code), Reconnect::Later);
    assert_eq!(bench.errors(), [("57P01".into(), UPDATE, 1), ("57P01".into(), TRANSACTION, 1)]);
    bench.sent();
    bench.open();
    bench.begin();
    assert_eq!(bench.sent(), ["begin 2"], "what was lost is not done again");
}

#[test]
fn shutdown_is_reported_to_idle_sessions() {
    let mut bench = Bench::idle();
    let failure = bench.on_message(&error("FATAL", "57P01", None)).unwrap_err();
    assert_eq!(failure.code, "57P01");
    bench.lose(&failure.code);
    assert!(bench.errors().is_empty(), "nothing was in progress");
}

#[test]
fn loss_during_rollback_fails_the_transaction_once() {
    let mut bench = Bench::idle();
    bench.begin();
    bench.on_message(BEGUN).unwrap();
    bench.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
    bench.lose("connection");
    assert_eq!(bench.counts(TRANSACTION), (1, 0, 1, 0));
    assert_eq!(bench.counts(UPDATE), (1, 0, 1, 0));
}

#[test]
fn loss_while_idle_fails_nothing() {
    let mut bench = Bench::idle();
    bench.lose("connection");
    bench.session.opened(&mut Vec::new());
    bench.lose("connection");
    assert!(bench.errors().is_empty());
    assert_eq!(bench.counts(TRANSACTION), (0, 0, 0, 0));
}

#[test]
fn statements_are_prepared_before_the_first_transaction() {
    let mut parse = Vec::new();
    encode::parse(&mut parse, "s0", "SELECT 1");
    let mut bench = Bench::with(BLOCK, &parse, 2);
    bench.session.opened(&mut bench.out);
    bench.out.clear();
    assert_eq!(bench.on_message(OPENING), Ok(NextAction::Reply));
    assert_eq!(bench.out, [&parse[..], encode::SYNC].concat());
    bench.out.clear();
    assert_eq!(bench.on_message(b"1\0\0\0\x04"), Ok(NextAction::Reply));
    assert_eq!(bench.on_message(b"Z\0\0\0\x05I"), Ok(NextAction::Idle));
}

#[test]
fn missing_table_fails_the_connect() {
    let mut bench = Bench::with(BLOCK, b"P\0\0\0\x04", 2);
    bench.session.opened(&mut bench.out);
    bench.on_message(OPENING).unwrap();
    let failure = bench.on_message(&error("ERROR", "42P01", Some(b'I'))).unwrap_err();
    assert_eq!(failure.code, "42P01");
}

#[test]
fn notices_and_parameter_changes_are_ignored() {
    const NOISE: &[u8] = b"N\0\0\0\x05\0S\0\0\0\x08a\0b\0A\0\0\0\x0a\0\0\0\x01a\0";
    let mut bench = Bench::idle();
    assert_eq!(bench.on_message(NOISE), Ok(NextAction::Idle));
    bench.begin();
    assert_eq!(bench.on_message(NOISE), Ok(NextAction::Reply));
    for answer in [BEGUN, NOISE, UPDATED, NOISE, SELECTED] {
        assert_eq!(bench.on_message(answer), Ok(NextAction::Reply));
    }
    assert_eq!(bench.on_message(COMMITTED), Ok(NextAction::Idle));
}

#[test]
fn unrequested_messages_are_errors() {
    for stray in [
        &b"Z\0\0\0\x05I"[..],
        b"C\0\0\0\x0bCOMMIT\0",
        b"D\0\0\0\x06\0\0",
        b"R\0\0\0\x08\0\0\0\0",
        b"HTTP/1.1 ",
    ] {
        let mut bench = Bench::idle();
        assert_eq!(bench.on_message(stray).unwrap_err().code, "protocol", "{stray:?}");
    }
    for stray in [&b"G\0\0\0\x07\0\0\0"[..], b"Z\0\0\0\x04", b"\0\0\0\0\0", b"D\xff\xff\xff\xff"] {
        let mut bench = Bench::idle();
        bench.begin();
        assert_eq!(bench.on_message(stray).unwrap_err().code, "protocol", "{stray:?}");
    }
}

#[test]
fn goodbye_is_terminate() {
    let mut bench = Bench::idle();
    bench.session.goodbye(&mut bench.out);
    assert_eq!(bench.out, encode::TERMINATE);
}

/// What a server may send, and things that none would.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(vec![BEGUN, UPDATED, SELECTED, COMMITTED, ROLLED_BACK, OPENING]).prop_map(<[u8]>::to_vec),
        2 => (prop::sample::select(vec!["40001", "23505", "57014"]), prop::sample::select(vec![b'I', b'E', b'T']))
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
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, in whatever pieces: no panic, no endless loop, and what is counted adds up.
    #[test]
    fn arbitrary_messages_keep_the_counting_identity(pieces in prop::collection::vec((piece(), 0usize..30), 0..40)) {
        let mut bench = Bench::idle();
        let mut begun = 0;
        for (piece, cut) in pieces {
            let cut = cut.min(piece.len());
            for part in [&piece[..cut], &piece[cut..]] {
                match bench.on_message(part) {
                    Ok(NextAction::Idle) => {
                        bench.begin();
                        begun += 1;
                    }
                    Ok(_) => {}
                    Err(failure) => {
                        bench.lose(&failure.code);
                        bench.session.opened(&mut bench.out);
                    }
                }
            }
            bench.out.clear();
        }
        bench.lose("connection");
        let (started, succeeded, failed, _) = bench.counts(TRANSACTION);
        prop_assert_eq!((started, succeeded + failed), (begun, begun));
        for op in [BEGIN, UPDATE, SELECT, COMMIT] {
            let (started, succeeded, failed, _) = bench.counts(op);
            prop_assert_eq!(started, succeeded + failed);
        }
    }
}

#[test]
fn overdue_transactions_are_skipped_in_open_loops_only() {
    for (limit, skip, begun) in [(4, true, false), (5, true, true), (4, false, true)] {
        let mut bench = Bench::with(BLOCK, b"", 2);
        bench.limit(limit, skip);
        bench.open();
        bench.now += 10;
        let mut cx = Context { recorder: &mut bench.recorder };
        let action = bench.session.begin(&mut cx, bench.now - 5, bench.now, &mut bench.out);
        assert_eq!(action, if begun { NextAction::Reply } else { NextAction::Idle });
        assert_eq!(bench.sent().len(), usize::from(begun));
        if !begun {
            assert_eq!(bench.counts(TRANSACTION), (1, 0, 1, 0));
            assert_eq!(bench.errors(), [("skipped".into(), TRANSACTION, 1)]);
        }
    }
}

#[test]
fn no_retry_beyond_the_latency_limit() {
    for (limit, retried) in [(25, 1), (24, 0)] {
        let mut bench = Bench::with(&[UPDATE], b"", 5);
        bench.limit(limit, false);
        bench.open();
        bench.begin();
        bench.now += 10;
        let action = if retried == 1 { NextAction::Reply } else { NextAction::Idle };
        assert_eq!(bench.on_message(&error("ERROR", "40001", Some(b'I'))), Ok(action), "limit {limit}");
        assert_eq!(bench.counts(TRANSACTION), (1, 0, 1 - retried, retried), "limit {limit}");
    }
}

#[test]
fn external_waits_are_an_operation() {
    const ERRAND: &[OpId] = &[OUTSIDE, BEGIN, OUTSIDE, COMMIT];
    let mut bench = Bench::with(ERRAND, b"", 2);
    bench.open();
    bench.now += 10;
    let mut cx = Context { recorder: &mut bench.recorder };
    let action = bench.session.begin(&mut cx, bench.now, bench.now, &mut bench.out);
    assert_eq!(action, NextAction::AwaitReadable(DESCRIPTOR));
    assert_eq!(bench.resume(), NextAction::Reply);
    assert_eq!(bench.counts(SELECT), (1, 1, 0, 0));
    assert_eq!(bench.recorder.resolved_stats().operations[SELECT.index()].response.max(), NAP);
    assert_eq!(bench.on_message(BEGUN), Ok(NextAction::AwaitReadable(DESCRIPTOR)));
    assert_eq!(bench.on_message(b"N\0\0\0\x05\0"), Ok(NextAction::Reply), "told of once");
    bench.sent();
    bench.session.client.goes_wrong = true;
    assert_eq!(bench.resume(), NextAction::Reply);
    assert_eq!(bench.sent(), ["ROLLBACK"], "the block it was in");
    assert_eq!(bench.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    assert_eq!((bench.counts(SELECT), bench.counts(TRANSACTION)), ((2, 1, 1, 0), (1, 0, 1, 0)));
    assert_eq!(bench.errors(), [("outside".into(), SELECT, 1), ("outside".into(), TRANSACTION, 1)]);
    assert_eq!(bench.queries(), Queries::default(), "of no server's statements");
}

#[test]
fn loss_during_an_external_wait_fails_both() {
    let mut bench = Bench::with(&[BEGIN, OUTSIDE, COMMIT], b"", 2);
    bench.open();
    bench.begin();
    assert_eq!(bench.on_message(BEGUN), Ok(NextAction::AwaitReadable(DESCRIPTOR)));
    bench.lose("connection");
    assert_eq!((bench.counts(SELECT), bench.counts(TRANSACTION)), ((1, 0, 1, 0), (1, 0, 1, 0)));
}
