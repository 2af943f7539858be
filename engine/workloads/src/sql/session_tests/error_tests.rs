//! Retries, errors of the server, lost connections and waits outside.

use super::*;

#[test]
fn retryable_transactions_are_repeated() {
    let mut harness = Harness::idle();
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.on_message(UPDATED).unwrap();
    harness.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
    harness.sent();
    assert_eq!(harness.on_message(ROLLED_BACK), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), ["begin 1"], "the same transaction");
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        harness.on_message(answer).unwrap();
    }
    assert_eq!(harness.counts(TRANSACTION), (1, 1, 0, 1));
    assert_eq!(harness.counts(UPDATE), (2, 2, 0, 0));
    assert_eq!(harness.counts(SELECT), (2, 1, 1, 0));
    assert_eq!(harness.queries(), Queries { read: 1, write: 1, other: 2 }, "of the attempt that succeeded");
    assert_eq!(harness.recorder.lifetime().rows_changed, 3, "of the attempt that succeeded");
    assert_eq!(harness.recorder.resolved_stats().operations[0].response.max(), 5 + 80, "over all attempts");
}

#[test]
fn failed_commit_is_retried_without_rollback() {
    let mut harness = Harness::idle();
    harness.begin();
    for answer in [BEGUN, UPDATED, SELECTED] {
        harness.on_message(answer).unwrap();
    }
    harness.sent();
    assert_eq!(harness.on_message(&error("ERROR", "40001", Some(b'I'))), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), ["begin 1"]);
}

#[test]
fn retries_are_limited() {
    let mut harness = Harness::idle();
    harness.begin();
    for attempt in 0..3 {
        assert_eq!(harness.on_message(BEGUN), Ok(NextAction::Reply));
        harness.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
        let action = if attempt < 2 { NextAction::Reply } else { NextAction::Idle };
        assert_eq!(harness.on_message(ROLLED_BACK), Ok(action));
    }
    assert_eq!(harness.counts(TRANSACTION), (1, 0, 1, 2));
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
    assert_eq!(harness.on_message(ROLLED_BACK), Ok(NextAction::Reply), "the next one has its own retries");
}

#[test]
fn fatal_error_ends_the_connection_with_the_servers_code() {
    let mut harness = Harness::idle();
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    let failure = harness.on_message(&error("FATAL", "57P01", None)).unwrap_err();
    assert_eq!(failure.code, "57P01");
    assert_eq!(harness.lose(&failure.code), Reconnect::Later);
    assert_eq!(harness.errors(), [("57P01".into(), UPDATE, 1), ("57P01".into(), TRANSACTION, 1)]);
    harness.sent();
    harness.open();
    harness.begin();
    assert_eq!(harness.sent(), ["begin 2"], "what was lost is not done again");
}

#[test]
fn shutdown_is_reported_to_idle_sessions() {
    let mut harness = Harness::idle();
    let failure = harness.on_message(&error("FATAL", "57P01", None)).unwrap_err();
    assert_eq!(failure.code, "57P01");
    harness.lose(&failure.code);
    assert!(harness.errors().is_empty(), "nothing was in progress");
}

#[test]
fn loss_during_rollback_fails_the_transaction_once() {
    let mut harness = Harness::idle();
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
    harness.lose("connection");
    assert_eq!(harness.counts(TRANSACTION), (1, 0, 1, 0));
    assert_eq!(harness.counts(UPDATE), (1, 0, 1, 0));
}

#[test]
fn loss_while_idle_fails_nothing() {
    let mut harness = Harness::idle();
    harness.lose("connection");
    harness.session.opened(&mut Vec::new());
    harness.lose("connection");
    assert!(harness.errors().is_empty());
    assert_eq!(harness.counts(TRANSACTION), (0, 0, 0, 0));
}

#[test]
fn statements_are_prepared_before_the_first_transaction() {
    let mut parse = Vec::new();
    encode::parse(&mut parse, "s0", "SELECT 1");
    let mut harness = Harness::with(BLOCK, &parse, 2);
    harness.session.opened(&mut harness.out);
    harness.out.clear();
    assert_eq!(harness.on_message(OPENING), Ok(NextAction::Reply));
    assert_eq!(harness.out, [&parse[..], encode::SYNC].concat());
    harness.out.clear();
    assert_eq!(harness.on_message(b"1\0\0\0\x04"), Ok(NextAction::Reply));
    assert_eq!(harness.on_message(b"Z\0\0\0\x05I"), Ok(NextAction::Idle));
}

#[test]
fn missing_table_fails_the_connect() {
    let mut harness = Harness::with(BLOCK, b"P\0\0\0\x04", 2);
    harness.session.opened(&mut harness.out);
    harness.on_message(OPENING).unwrap();
    let failure = harness.on_message(&error("ERROR", "42P01", Some(b'I'))).unwrap_err();
    assert_eq!(failure.code, "42P01");
}

#[test]
fn notices_and_parameter_changes_are_ignored() {
    const NOISE: &[u8] = b"N\0\0\0\x05\0S\0\0\0\x08a\0b\0A\0\0\0\x0a\0\0\0\x01a\0";
    let mut harness = Harness::idle();
    assert_eq!(harness.on_message(NOISE), Ok(NextAction::Idle));
    harness.begin();
    assert_eq!(harness.on_message(NOISE), Ok(NextAction::Reply));
    for answer in [BEGUN, NOISE, UPDATED, NOISE, SELECTED] {
        assert_eq!(harness.on_message(answer), Ok(NextAction::Reply));
    }
    assert_eq!(harness.on_message(COMMITTED), Ok(NextAction::Idle));
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
        let mut harness = Harness::idle();
        assert_eq!(harness.on_message(stray).unwrap_err().code, "protocol", "{stray:?}");
    }
    for stray in [&b"G\0\0\0\x07\0\0\0"[..], b"Z\0\0\0\x04", b"\0\0\0\0\0", b"D\xff\xff\xff\xff"] {
        let mut harness = Harness::idle();
        harness.begin();
        assert_eq!(harness.on_message(stray).unwrap_err().code, "protocol", "{stray:?}");
    }
}

#[test]
fn goodbye_is_terminate() {
    let mut harness = Harness::idle();
    harness.session.goodbye(&mut harness.out);
    assert_eq!(harness.out, encode::TERMINATE);
}

#[test]
fn overdue_transactions_are_skipped_in_open_loops_only() {
    for (limit, skip, begun) in [(4, true, false), (5, true, true), (4, false, true)] {
        let mut harness = Harness::with(BLOCK, b"", 2);
        harness.limit(limit, skip);
        harness.open();
        harness.now += 10;
        let mut cx = Context { recorder: &mut harness.recorder };
        let action = harness.session.begin(&mut cx, harness.now - 5, harness.now, &mut harness.out);
        assert_eq!(action, if begun { NextAction::Reply } else { NextAction::Idle });
        assert_eq!(harness.sent().len(), usize::from(begun));
        if !begun {
            assert_eq!(harness.counts(TRANSACTION), (1, 0, 1, 0));
            assert_eq!(harness.errors(), [("skipped".into(), TRANSACTION, 1)]);
        }
    }
}

#[test]
fn no_retry_beyond_the_latency_limit() {
    for (limit, retried) in [(25, 1), (24, 0)] {
        let mut harness = Harness::with(&[UPDATE], b"", 5);
        harness.limit(limit, false);
        harness.open();
        harness.begin();
        harness.now += 10;
        let action = if retried == 1 { NextAction::Reply } else { NextAction::Idle };
        assert_eq!(harness.on_message(&error("ERROR", "40001", Some(b'I'))), Ok(action), "limit {limit}");
        assert_eq!(harness.counts(TRANSACTION), (1, 0, 1 - retried, retried), "limit {limit}");
    }
}

#[test]
fn external_waits_are_an_operation() {
    const ERRAND: &[OpId] = &[OUTSIDE, BEGIN, OUTSIDE, COMMIT];
    let mut harness = Harness::with(ERRAND, b"", 2);
    harness.open();
    harness.now += 10;
    let mut cx = Context { recorder: &mut harness.recorder };
    let action = harness.session.begin(&mut cx, harness.now, harness.now, &mut harness.out);
    assert_eq!(action, NextAction::AwaitReadable(DESCRIPTOR));
    assert_eq!(harness.resume(), NextAction::Reply);
    assert_eq!(harness.counts(SELECT), (1, 1, 0, 0));
    assert_eq!(harness.recorder.resolved_stats().operations[SELECT.index()].response.max(), NAP);
    assert_eq!(harness.on_message(BEGUN), Ok(NextAction::AwaitReadable(DESCRIPTOR)));
    assert_eq!(harness.on_message(b"N\0\0\0\x05\0"), Ok(NextAction::Reply), "told of once");
    harness.sent();
    harness.session.client.goes_wrong = true;
    assert_eq!(harness.resume(), NextAction::Reply);
    assert_eq!(harness.sent(), ["ROLLBACK"], "the block it was in");
    assert_eq!(harness.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    assert_eq!((harness.counts(SELECT), harness.counts(TRANSACTION)), ((2, 1, 1, 0), (1, 0, 1, 0)));
    assert_eq!(harness.errors(), [("outside".into(), SELECT, 1), ("outside".into(), TRANSACTION, 1)]);
    assert_eq!(harness.queries(), Queries::default(), "of no server's statements");
}

#[test]
fn loss_during_an_external_wait_fails_both() {
    let mut harness = Harness::with(&[BEGIN, OUTSIDE, COMMIT], b"", 2);
    harness.open();
    harness.begin();
    assert_eq!(harness.on_message(BEGUN), Ok(NextAction::AwaitReadable(DESCRIPTOR)));
    harness.lose("connection");
    assert_eq!((harness.counts(SELECT), harness.counts(TRANSACTION)), ((1, 0, 1, 0), (1, 0, 1, 0)));
}
