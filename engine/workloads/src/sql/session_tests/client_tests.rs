//! Clients of a session: rows, types of transactions, rollbacks, pauses and outcomes.

use super::*;

#[test]
fn client_receives_requested_rows() {
    let mut harness = Harness::idle();
    harness.session.client.wants_rows = true;
    harness.begin();
    for answer in [BEGUN, UPDATED, SELECTED] {
        harness.on_message(answer).unwrap();
    }
    assert_eq!(harness.session.client.received, ["0 rows", "3 rows", "7", "8", "2 rows"]);
    let row = b"D\0\0\0\x10\0\x02\xff\xff\xff\xff\0\0\0\x02it";
    harness.on_message(row).unwrap();
    assert_eq!(harness.session.client.received.last().unwrap(), "NULL|it");
    assert_eq!(
        harness.on_message(b"D\0\0\0\x0b\0\x01\0\0\0\x021").unwrap_err().code,
        "protocol",
        "a broken row"
    );
}

#[test]
fn client_without_interest_receives_nothing() {
    let mut harness = Harness::idle();
    harness.begin();
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        harness.on_message(answer).unwrap();
    }
    assert!(harness.session.client.received.is_empty());
}

#[test]
fn transactions_are_counted_by_type_too() {
    let mut harness = Harness::idle();
    harness.session.client.of_type = Some(TYPE);
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.on_message(&error("ERROR", "40001", Some(b'E'))).unwrap();
    harness.on_message(ROLLED_BACK).unwrap();
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        harness.on_message(answer).unwrap();
    }
    assert_eq!(harness.counts(TYPE), (1, 1, 0, 1), "with its retry");
    assert_eq!(harness.counts(TYPE), harness.counts(TRANSACTION));
    let operations = &harness.recorder.resolved_stats().operations;
    assert_eq!(operations[TYPE.index()].response.max(), operations[0].response.max());
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.lose("connection");
    assert_eq!(harness.counts(TYPE), (2, 1, 1, 1));
    assert_eq!(harness.counts(OUTCOME), (0, 0, 0, 0));
    let codes: Vec<_> = harness.errors().into_iter().map(|(_, op, _)| op).collect();
    assert!(!codes.contains(&TYPE), "its errors are those of the transaction: {codes:?}");
}

#[test]
fn voluntary_rollback_succeeds_without_changes() {
    let mut harness = Harness::idle();
    harness.begin();
    for answer in [BEGUN, UPDATED, SELECTED] {
        harness.on_message(answer).unwrap();
    }
    harness.session.client.outcome = Some(OUTCOME);
    assert_eq!(harness.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    harness.session.client.outcome = None;
    assert_eq!(harness.counts(TRANSACTION), (1, 1, 0, 0));
    assert_eq!(harness.counts(OUTCOME), (1, 1, 0, 0));
    assert_eq!(harness.recorder.resolved_stats().operations[OUTCOME.index()].response.max(), 45);
    let lifetime = harness.recorder.lifetime();
    assert_eq!((lifetime.rows_changed, lifetime.rolled_back), (0, 1));
    harness.begin();
    for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
        harness.on_message(answer).unwrap();
    }
    let lifetime = harness.recorder.lifetime();
    assert_eq!((lifetime.rows_changed, lifetime.rolled_back), (3, 1), "the next one is another");
    assert_eq!(harness.counts(OUTCOME), (1, 1, 0, 0));
}

#[test]
fn client_failure_is_rolled_back_and_counted() {
    const STOPS: &[OpId] = &[BEGIN, UPDATE, STOP];
    let mut harness = Harness::with(STOPS, b"", 2);
    harness.open();
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.sent();
    assert_eq!(harness.on_message(UPDATED), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), ["ROLLBACK"]);
    assert_eq!(harness.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    assert_eq!(harness.counts(TRANSACTION), (1, 0, 1, 0));
    assert_eq!(harness.counts(UPDATE), (1, 1, 0, 0), "the statement did its work");
    assert_eq!(harness.errors(), [("no-row".into(), TRANSACTION, 1)]);
    assert_eq!(harness.recorder.lifetime().rows_changed, 0);
}

#[test]
fn pause_is_part_of_the_transaction() {
    const NAPPING: &[OpId] = &[SLEEP, BEGIN, SLEEP, COMMIT];
    let mut harness = Harness::with(NAPPING, b"", 2);
    harness.open();
    harness.now += 10;
    let mut cx = Context { recorder: &mut harness.recorder };
    let action = harness.session.begin(&mut cx, harness.now, harness.now, &mut harness.out);
    assert_eq!(action, NextAction::Pause(harness.now + NAP));
    assert_eq!(harness.resume(), NextAction::Reply);
    assert_eq!(harness.sent(), ["begin 1"]);
    let until = harness.now + 10 + NAP;
    assert_eq!(harness.on_message(BEGUN), Ok(NextAction::Pause(until)));
    assert_eq!(
        harness.on_message(b"N\0\0\0\x05\0"),
        Ok(NextAction::Reply),
        "a notice does not make it pause again"
    );
    assert_eq!(harness.resume(), NextAction::Reply);
    assert_eq!(harness.sent(), ["commit 1"]);
    assert_eq!(harness.on_message(COMMITTED), Ok(NextAction::Idle));
    assert_eq!(harness.counts(TRANSACTION), (1, 1, 0, 0));
    assert!(harness.recorder.resolved_stats().operations[0].response.max() >= 2 * NAP);
    assert!(
        harness.recorder.resolved_stats().operations[BEGIN.index()].response.max() < NAP,
        "no statement waited"
    );
}

#[test]
fn loss_in_a_pause_fails_only_the_transaction() {
    const NAPPING: &[OpId] = &[BEGIN, SLEEP, COMMIT];
    for fatal in [false, true] {
        let mut harness = Harness::with(NAPPING, b"", 2);
        harness.open();
        harness.begin();
        harness.on_message(BEGUN).unwrap();
        if fatal {
            assert_eq!(harness.on_message(&error("FATAL", "25P03", None)).unwrap_err().code, "25P03");
        }
        harness.lose("connection");
        assert_eq!(harness.counts(TRANSACTION), (1, 0, 1, 0));
        assert_eq!(harness.counts(BEGIN), (1, 1, 0, 0));
    }
}

#[test]
fn unclosed_block_fails_and_is_rolled_back() {
    const OPEN: &[OpId] = &[BEGIN, UPDATE];
    let mut harness = Harness::with(OPEN, b"", 2);
    harness.open();
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.sent();
    harness.on_message(UPDATED).unwrap();
    assert_eq!(harness.sent(), ["ROLLBACK"]);
    assert_eq!(harness.on_message(ROLLED_BACK), Ok(NextAction::Idle));
    assert_eq!(harness.errors(), [("open-block".into(), TRANSACTION, 1)]);
}

#[test]
fn slow_transactions_are_counted_as_late_too() {
    for (limit, late) in [(45, 0), (44, 1)] {
        let mut harness = Harness::with(BLOCK, b"", 2);
        harness.limit(limit, false);
        harness.open();
        harness.begin();
        for answer in [BEGUN, UPDATED, SELECTED, COMMITTED] {
            harness.on_message(answer).unwrap();
        }
        assert_eq!(harness.recorder.resolved_stats().operations[0].response.max(), 45);
        assert_eq!(harness.counts(OUTCOME), (late, late, 0, 0), "limit {limit}");
    }
}

#[test]
fn column_names_precede_the_rows() {
    let mut harness = Harness::idle();
    harness.session.client.wants_rows = true;
    harness.begin();
    harness.on_message(BEGUN).unwrap();
    harness.on_message(UPDATED).unwrap();
    let described = [&b"T\0\0\0\x1a\0\x01n\0"[..], &[0; 18], &SELECTED[7..]].concat();
    harness.on_message(&described).unwrap();
    let received = &harness.session.client.received;
    assert_eq!(received[received.len() - 4..], ["column n", "7", "8", "2 rows"]);
}
