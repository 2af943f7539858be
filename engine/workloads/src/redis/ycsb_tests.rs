//! YCSB sessions with byte strings as replies: commands sent and operations recorded.

use std::sync::Arc;

use serde_json::{Value, json};

use super::handshake::Access;
use super::ycsb::{YcsbSession, score};
use crate::ycsb::{Clients, Options};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{Operation, Recorder};
use loadcell_core::session::{Context, NextAction, Session};
use loadcell_protocols::resp::{Reader, Token};

struct Harness {
    session: YcsbSession,
    recorder: Recorder,
    operations: Vec<Operation>,
    out: Vec<u8>,
    now: Nanos,
}

impl Harness {
    /// A session after the handshake that only runs `act`.
    fn of(act: &str, change: Value) -> Self {
        let mut options = json!({"fieldcount": 2, "fieldlength": 3, "recordcount": 10, "hashed": false,
            "proportions": {"read": 0, "update": 0, act: 1}});
        options.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let clients = Clients::new(&Options::of(&options).unwrap(), 1, 1);
        let target = loadcell_testing::read("target", "{\"protocol\":\"resp\"}").unwrap();
        let session = YcsbSession::new(Arc::new(Access::of(&target).unwrap()), clients.client(0));
        let operations = clients.operations().to_vec();
        let mut harness =
            Self { session, recorder: Recorder::new(&operations), operations, out: vec![], now: 100 };
        harness.session.opened(&mut harness.out);
        assert_eq!(harness.feed("%1\r\n+proto\r\n:3\r\n+PONG\r\n"), Ok(NextAction::Idle));
        harness.out.clear();
        harness
    }

    fn begin(&mut self) -> String {
        let mut cx = Context { recorder: &mut self.recorder };
        assert_eq!(self.session.begin(&mut cx, self.now, self.now, &mut self.out), NextAction::Reply);
        self.sent()
    }

    fn feed(&mut self, text: &str) -> Result<NextAction, Failure> {
        self.now += 10;
        let mut cx = Context { recorder: &mut self.recorder };
        let step = self.session.received(&mut cx, self.now, text.as_bytes(), &mut self.out)?;
        assert_eq!(step.consumed, text.len());
        Ok(step.action)
    }

    /// Commands sent since the last call: keys as K, values as V, separated by `;`.
    fn sent(&mut self) -> String {
        let out = std::mem::take(&mut self.out);
        let (mut reader, mut words, mut at) = (Reader::default(), Vec::new(), 0);
        while let Some(read) = reader.next(&out[at..], 1_000).unwrap() {
            at += read.size;
            if let Token::Bulk(word) = read.token {
                let word = String::from_utf8(word.to_vec()).unwrap();
                words.push(match word {
                    key if key.starts_with("user") => "K".into(),
                    value if value.len() == 3 && value != "inf" => "V".into(),
                    other => other,
                });
            }
            if read.ends && at < out.len() {
                words.push(";".into());
            }
        }
        words.join(" ")
    }

    /// Counts of succeeded and failed for each operation.
    fn counts(&self) -> Vec<(&'static str, u64, u64)> {
        let lifetime = self.recorder.lifetime();
        let counted = self.operations.iter().zip(&lifetime.operations);
        counted.map(|(operation, counts)| (operation.name, counts.succeeded, counts.failed)).collect()
    }
}

#[test]
fn read_gets_all_fields_or_one() {
    let mut all = Harness::of("read", json!({}));
    assert_eq!(all.begin(), "HGETALL K");
    assert_eq!(
        all.feed("%2\r\n$6\r\nfield0\r\n$3\r\nabc\r\n$6\r\nfield1\r\n$3\r\nabc\r\n"),
        Ok(NextAction::Idle)
    );
    assert_eq!(all.begin(), "HGETALL K");
    assert_eq!(all.feed("*0\r\n"), Ok(NextAction::Idle));
    assert_eq!(all.counts(), [("transaction", 2, 0), ("READ", 2, 0), ("missed", 1, 0)]);
    let mut single = Harness::of("read", json!({"readallfields": false}));
    assert!(["HMGET K field0", "HMGET K field1"].contains(&single.begin().as_str()));
    assert_eq!(single.feed("*1\r\n$3\r\nabc\r\n"), Ok(NextAction::Idle));
    single.begin();
    assert_eq!(single.feed("*1\r\n$-1\r\n"), Ok(NextAction::Idle));
    assert_eq!(single.counts(), [("transaction", 2, 0), ("READ", 2, 0), ("missed", 1, 0)]);
}

#[test]
fn update_writes_one_field_or_all() {
    let mut single = Harness::of("update", json!({}));
    assert!(["HSET K field0 V", "HSET K field1 V"].contains(&single.begin().as_str()));
    assert_eq!(single.feed(":0\r\n"), Ok(NextAction::Idle));
    single.begin();
    assert_eq!(single.feed(":1\r\n"), Ok(NextAction::Idle));
    assert_eq!(single.counts(), [("transaction", 2, 0), ("UPDATE", 2, 0), ("missed", 1, 0)]);
    let mut all = Harness::of("update", json!({"writeallfields": true}));
    assert_eq!(all.begin(), "HSET K field0 V field1 V");
}

#[test]
fn insert_updates_the_index() {
    let mut harness = Harness::of("insert", json!({}));
    assert_eq!(harness.begin(), "HSET K field0 V field1 V");
    assert_eq!(harness.feed(":2\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), format!("ZADD _indices {} K", score(b"user10")));
    assert_eq!(harness.feed(":1\r\n"), Ok(NextAction::Idle));
    assert_eq!(harness.counts(), [("transaction", 1, 0), ("INSERT", 1, 0)]);
}

#[test]
fn scan_reads_the_indexed_records() {
    let mut harness = Harness::of("scan", json!({"maxscanlength": 7, "minscanlength": 7}));
    let sent = harness.begin();
    assert!(sent.starts_with("ZRANGEBYSCORE _indices ") && sent.ends_with(" +inf LIMIT 0 7"), "{sent}");
    assert_eq!(harness.feed("*2\r\n$5\r\nuser3\r\n$5\r\nuser4\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), "HGETALL K ; HGETALL K");
    assert_eq!(harness.feed("%1\r\n$6\r\nfield0\r\n$3\r\nabc\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.feed("%0\r\n"), Ok(NextAction::Idle));
    harness.begin();
    assert_eq!(harness.feed("*0\r\n"), Ok(NextAction::Idle), "a scan of no rows is one, too");
    assert_eq!(harness.counts(), [("transaction", 2, 0), ("SCAN", 2, 0)]);
}

#[test]
fn read_modify_write_is_a_read_and_an_update() {
    let mut harness = Harness::of("readmodifywrite", json!({}));
    assert_eq!(harness.begin(), "HGETALL K");
    assert_eq!(harness.feed("%1\r\n$6\r\nfield0\r\n$3\r\nabc\r\n"), Ok(NextAction::Reply));
    assert!(["HSET K field0 V", "HSET K field1 V"].contains(&harness.sent().as_str()));
    assert_eq!(harness.feed(":0\r\n"), Ok(NextAction::Idle));
    let expected = [
        ("transaction", 1, 0),
        ("READ", 1, 0),
        ("UPDATE", 1, 0),
        ("READ-MODIFY-WRITE", 1, 0),
        ("missed", 0, 0),
    ];
    assert_eq!(harness.counts(), expected);
}

#[test]
fn error_reply_fails_its_operation() {
    let mut harness = Harness::of("readmodifywrite", json!({}));
    harness.begin();
    assert_eq!(harness.feed("-LOADING Redis is loading\r\n"), Ok(NextAction::Idle));
    harness.begin();
    assert_eq!(harness.feed("%0\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.feed("-OOM command not allowed\r\n"), Ok(NextAction::Idle));
    let expected = [
        ("transaction", 0, 2),
        ("READ", 1, 1),
        ("UPDATE", 0, 1),
        ("READ-MODIFY-WRITE", 0, 2),
        ("missed", 0, 0),
    ];
    assert_eq!(harness.counts(), expected);
    let mut scan = Harness::of("scan", json!({}));
    scan.begin();
    scan.feed("*2\r\n$5\r\nuser3\r\n$5\r\nuser4\r\n").unwrap();
    assert_eq!(
        scan.feed("-WRONGTYPE not a hash\r\n"),
        Ok(NextAction::Reply),
        "the second answer is still to come"
    );
    assert_eq!(scan.feed("%0\r\n"), Ok(NextAction::Idle));
    assert_eq!(scan.counts(), [("transaction", 0, 1), ("SCAN", 0, 1)]);
}

#[test]
fn replies_of_another_type_end_the_connection() {
    for (act, answer) in [("read", ":1\r\n"), ("update", "+OK\r\n"), ("scan", ":1\r\n"), ("insert", "*0\r\n")]
    {
        let mut harness = Harness::of(act, json!({}));
        harness.begin();
        let why = harness.feed(answer).unwrap_err();
        assert_eq!(why.code, "protocol");
        let mut cx = Context { recorder: &mut harness.recorder };
        harness.session.lost(&mut cx, harness.now, &why);
        assert_eq!(harness.counts()[0], ("transaction", 0, 1), "{act}");
    }
    let mut idle = Harness::of("read", json!({}));
    assert_eq!(idle.feed("+OK\r\n").unwrap_err().code, "protocol");
}

#[test]
fn scores_are_java_hashes() {
    assert_eq!(score(b""), 0);
    assert_eq!(score(b"hello"), 99_162_322);
    assert_eq!(score(b"polygenelubricants"), i32::MIN);
}
