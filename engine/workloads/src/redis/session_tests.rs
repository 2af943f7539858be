//! Sessions with byte strings as replies: commands sent and operations recorded.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::command::Writer;
use super::handshake::{Access, Handshake};
use super::session::{RedisSession, Settings};
use crate::keyvalue::{Clients, Options};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{OpId, Operation, OperationStats, Recorder, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session};
use loadcell_protocols::resp::{Reader, Token};

const OPENING: &[u8] = b"%1\r\n+proto\r\n:3\r\n+PONG\r\n";

struct Harness {
    session: RedisSession,
    recorder: Recorder,
    operations: Vec<Operation>,
    unread: Vec<u8>,
    out: Vec<u8>,
    now: Nanos,
}

impl Harness {
    fn new(change: Value, target: &str) -> Self {
        let mut options = json!({"keys": 10, "key_prefix": "k", "key_size": 3, "value_size": 20});
        options.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let options = Options::of(&options).unwrap();
        let clients = Clients::new(&options, 1, 1).unwrap();
        let target = loadcell_testing::read("target", &format!("{{\"protocol\":\"resp\"{target}}}")).unwrap();
        let keep = if options.verify { 64 } else { 0 };
        let settings = Settings { writer: Writer::new(None), pipeline: options.pipeline as usize, keep };
        let access = Arc::new(Access::of(&target).unwrap());
        let handshake = Handshake::with_scripts(access, clients.scripts().into());
        let session = RedisSession::new(handshake, Arc::new(settings), clients.client(0));
        let operations = clients.operations().to_vec();
        Self {
            session,
            recorder: Recorder::new(&operations),
            operations,
            unread: vec![],
            out: vec![],
            now: 100,
        }
    }

    /// A session after the handshake.
    fn idle(change: Value) -> Self {
        let mut harness = Self::new(change, "");
        assert_eq!(harness.session.opened(&mut harness.out), NextAction::Reply);
        assert_eq!(harness.sent(), "HELLO 3");
        assert_eq!(harness.feed(OPENING), Ok(NextAction::Idle));
        assert_eq!(harness.sent(), "PING");
        harness
    }

    /// Words sent since the last call; values as V, keys as K.
    fn sent(&mut self) -> String {
        let out = std::mem::take(&mut self.out);
        let (mut reader, mut words, mut at) = (Reader::default(), Vec::new(), 0);
        while let Some(read) = reader.next(&out[at..], 0).unwrap() {
            at += read.size;
            words.extend(match read.token {
                Token::Bulk(word) if word.len() == 20 => Some("V".into()),
                Token::Bulk(word) if word.len() == 3 && word.starts_with(b"k") => Some("K".into()),
                Token::Bulk(word) => Some(String::from_utf8_lossy(word).into_owned()),
                _ => None,
            });
        }
        words.join(" ")
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<NextAction, Failure> {
        self.now += 10;
        self.unread.extend_from_slice(bytes);
        let mut cx = Context { recorder: &mut self.recorder };
        let step = self.session.received(&mut cx, self.now, &self.unread, &mut self.out)?;
        self.unread.drain(..step.consumed);
        Ok(step.action)
    }

    fn begin(&mut self) {
        self.now += 10;
        let mut cx = Context { recorder: &mut self.recorder };
        assert_eq!(self.session.begin(&mut cx, self.now - 5, self.now, &mut self.out), NextAction::Reply);
    }

    fn lose(&mut self, code: &str) -> Reconnect {
        let why = Failure { code: code.into(), message: String::new() };
        self.unread.clear();
        self.session.lost(&mut Context { recorder: &mut self.recorder }, self.now, &why)
    }

    /// Counts of started, succeeded and failed, by operation name.
    fn counts(&self, name: &str) -> (u64, u64, u64) {
        let index = self.operations.iter().position(|operation| operation.name == name).unwrap();
        let counts = self.recorder.lifetime().operations[index];
        (counts.started, counts.succeeded, counts.failed)
    }

    /// Statistics of the transactions, with their times.
    fn transactions(&self) -> OperationStats {
        self.recorder.resolved_stats().operations.swap_remove(TRANSACTION.index())
    }

    fn errors(&self) -> Vec<String> {
        let mut codes: Vec<_> = self
            .recorder
            .stats()
            .errors
            .iter()
            .filter(|error| error.operation == TRANSACTION)
            .map(|error| error.code.clone())
            .collect();
        codes.sort();
        codes
    }
}

#[test]
fn get_is_sent_and_recorded() {
    let mut harness = Harness::idle(json!({"mix": {"get": 1}}));
    harness.begin();
    assert_eq!(harness.sent(), "GET K");
    assert_eq!(harness.feed(b"$5\r\nhe"), Ok(NextAction::Reply));
    assert_eq!(harness.feed(b"llo\r\n"), Ok(NextAction::Idle));
    assert_eq!(
        (harness.counts("transaction"), harness.counts("get"), harness.counts("missed")),
        ((1, 1, 0), (1, 1, 0), (0, 0, 0))
    );
    let stats = harness.transactions();
    assert_eq!(
        (stats.response.max(), stats.service.max()),
        (25, 20),
        "from when it was intended, and from when it was sent"
    );
    for null in [&b"_\r\n"[..], b"$-1\r\n"] {
        harness.begin();
        assert_eq!(harness.feed(null), Ok(NextAction::Idle));
    }
    assert_eq!((harness.counts("get"), harness.counts("missed")), ((3, 3, 0), (2, 2, 0)));
}

#[test]
fn each_pipelined_command_is_a_transaction() {
    let mut harness = Harness::idle(json!({"mix": {"set": 1}, "pipeline": 3}));
    harness.begin();
    assert_eq!(harness.sent(), "SET K V SET K V SET K V");
    assert_eq!(harness.feed(b"+OK\r\n+O"), Ok(NextAction::Reply));
    assert_eq!(harness.counts("transaction"), (3, 1, 0));
    assert_eq!(harness.feed(b"K\r\n-OOM command not allowed\r\n"), Ok(NextAction::Idle));
    assert_eq!((harness.counts("transaction"), harness.counts("set")), ((3, 2, 1), (3, 2, 1)));
    assert_eq!(harness.errors(), ["OOM"]);
    let stats = harness.transactions();
    assert_eq!((stats.service.count(), stats.service.max()), (2, 20));
}

#[test]
fn multi_key_command_is_one_transaction() {
    let mut harness = Harness::idle(json!({"mix": {"mget": 1}, "multi": 3}));
    harness.begin();
    assert_eq!(harness.sent(), "MGET K K K");
    assert_eq!(harness.feed(b"*3\r\n$1\r\na\r\n_\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.feed(b"$1\r\nb\r\n"), Ok(NextAction::Idle));
    assert_eq!((harness.counts("mget"), harness.counts("missed")), ((1, 1, 0), (1, 1, 0)));
    harness.begin();
    assert_eq!(
        harness.feed(b"*2\r\n").unwrap_err().code,
        "protocol",
        "another number of values than of keys"
    );
    let mut harness = Harness::idle(json!({"mix": {"mset": 1}, "multi": 2}));
    harness.begin();
    assert_eq!(harness.sent(), "MSET K V K V");
    assert_eq!(harness.feed(b"+OK\r\n"), Ok(NextAction::Idle));
}

#[test]
fn read_modify_write_reads_first_and_ends_the_batch() {
    let mut harness = Harness::idle(json!({"mix": {"read_modify_write": 1}, "pipeline": 3}));
    harness.begin();
    assert_eq!(harness.sent(), "GET K");
    assert_eq!(harness.feed(b"$1\r\nv\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), "SET K V");
    assert_eq!(harness.feed(b"+OK\r\n"), Ok(NextAction::Idle));
    assert_eq!(harness.counts("read_modify_write"), (1, 1, 0));
    harness.begin();
    assert_eq!(harness.feed(b"-WRONGTYPE not a string\r\n"), Ok(NextAction::Idle), "nothing is written then");
    assert_eq!(harness.sent(), "GET K");
    assert_eq!(harness.counts("read_modify_write"), (2, 1, 1));
}

#[test]
fn user_commands_accept_any_reply() {
    let mut harness =
        Harness::idle(json!({"mix": {}, "commands": {"mine": {"commands": ["LRANGE ${key} 0 -1"]}}}));
    for answer in [&b"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n"[..], b"+OK\r\n", b"%0\r\n", b",1.5\r\n", b"_\r\n"] {
        harness.begin();
        assert_eq!(harness.feed(answer), Ok(NextAction::Idle));
    }
    assert_eq!(harness.sent(), ["LRANGE K 0 -1"; 5].join(" "));
    for error in [&b"-WRONGTYPE x\r\n"[..], b"!5\r\nERR x\r\n", b"*2\r\n:1\r\n-BUSY x\r\n"] {
        harness.begin();
        assert_eq!(harness.feed(error), Ok(NextAction::Idle));
    }
    assert_eq!(harness.counts("mine"), (8, 5, 3));
    assert_eq!(harness.errors(), ["BUSY", "ERR", "WRONGTYPE"]);
}

#[test]
fn commands_sent_together_are_one_transaction() {
    let list = ["MULTI", "INCR ${key}", "LPUSH l ${key}", "EXEC"];
    let mut harness = Harness::idle(json!({"mix": {}, "commands": {"pay": {"commands": list}}}));
    harness.begin();
    assert_eq!(harness.sent(), "MULTI INCR K LPUSH l K EXEC");
    assert_eq!(harness.feed(b"+OK\r\n+QUEUED\r\n+QUEUED\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.feed(b"*2\r\n:1\r\n:2\r\n"), Ok(NextAction::Idle));
    assert_eq!((harness.counts("pay"), harness.counts("transaction")), ((1, 1, 0), (1, 1, 0)));
    for (answers, codes) in [
        (&b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n-WRONGTYPE x\r\n"[..], &["WRONGTYPE"][..]),
        (b"+OK\r\n+QUEUED\r\n-OOM x\r\n-EXECABORT x\r\n", &["OOM", "WRONGTYPE"]),
    ] {
        harness.begin();
        assert_eq!(harness.feed(answers), Ok(NextAction::Idle));
        assert_eq!(harness.errors(), codes, "the first error counts");
    }
    assert_eq!(harness.counts("pay"), (3, 1, 2));
}

/// A session that calls a script, after the handshake.
fn of_script(pipeline: u32) -> Harness {
    let script = json!({"name": "limit", "text": "return 1", "keys": ["${key}"], "arguments": ["5"]});
    let commands = json!({"limit": {"script": script}});
    let mut harness = Harness::new(json!({"mix": {}, "commands": commands, "pipeline": pipeline}), "");
    harness.session.opened(&mut harness.out);
    assert_eq!(harness.feed(OPENING), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), "HELLO 3 PING SCRIPT LOAD return 1");
    assert_eq!(harness.feed(b"$5\r\ne0e1f\r\n"), Ok(NextAction::Idle));
    harness
}

const CALL: &str = "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 K 5";
const NO_SCRIPT: &[u8] = b"-NOSCRIPT No matching script.\r\n";

#[test]
fn lost_script_is_loaded_again_within_its_call() {
    let mut harness = of_script(1);
    harness.begin();
    assert_eq!(harness.sent(), CALL);
    assert_eq!(harness.feed(NO_SCRIPT), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), format!("SCRIPT LOAD return 1 {CALL}"));
    assert_eq!(harness.feed(b"$5\r\ne0e1f\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.feed(b":1\r\n"), Ok(NextAction::Idle));
    assert_eq!(harness.counts("limit"), (1, 1, 0));
    harness.begin();
    assert_eq!(harness.feed(NO_SCRIPT), Ok(NextAction::Reply));
    harness.feed(b"-NOPERM no\r\n").unwrap();
    assert_eq!(harness.feed(NO_SCRIPT), Ok(NextAction::Idle), "once is enough");
    assert_eq!(harness.counts("limit"), (2, 1, 1));
    assert_eq!(harness.errors(), ["NOPERM"]);
}

#[test]
fn lost_script_is_loaded_again_after_its_batch() {
    let mut harness = of_script(3);
    harness.begin();
    assert_eq!(harness.sent(), [CALL; 3].join(" "));
    assert_eq!(harness.feed(NO_SCRIPT), Ok(NextAction::Reply));
    assert_eq!(harness.feed(NO_SCRIPT), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), "", "replies of the batch are on their way");
    assert_eq!(harness.feed(b":1\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), "SCRIPT LOAD return 1");
    assert_eq!(harness.counts("limit"), (3, 1, 2), "only the calls without their script fail");
    assert_eq!(harness.errors(), ["NOSCRIPT"]);
    assert_eq!(harness.feed(b"$5\r\ne0e1f\r\n"), Ok(NextAction::Idle));
    harness.begin();
    assert_eq!(harness.sent(), [CALL; 3].join(" "));
    assert_eq!(harness.feed(b":1\r\n:1\r\n:1\r\n"), Ok(NextAction::Idle));
    assert_eq!(harness.counts("limit"), (6, 4, 2));
}

#[test]
fn connection_lost_while_a_script_is_loaded_again() {
    let mut harness = of_script(2);
    harness.begin();
    harness.feed(NO_SCRIPT).unwrap();
    assert_eq!(harness.feed(b":1\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.lose("connection"), Reconnect::Later);
    assert_eq!(harness.counts("limit"), (2, 1, 1));
    harness.sent();
    assert_eq!(harness.session.opened(&mut harness.out), NextAction::Reply);
    assert_eq!(harness.feed(OPENING), Ok(NextAction::Reply));
    assert_eq!(harness.sent(), "HELLO 3 PING SCRIPT LOAD return 1");
}

#[test]
fn lost_and_corrupt_values_have_their_own_codes() {
    let mut harness = Harness::idle(json!({"mix": {"get": 1}, "verify": true}));
    for answer in [&b"_\r\n"[..], b"$20\r\nnot what was written\r\n", b"$90\r\n"] {
        harness.begin();
        harness.feed(answer).unwrap();
    }
    harness.feed(&[b'x'; 90]).unwrap();
    assert_eq!(harness.feed(b"\r\n"), Ok(NextAction::Idle));
    assert_eq!(harness.errors(), ["corrupt", "lost"]);
    assert_eq!(harness.counts("get"), (3, 0, 3));
}

#[test]
fn pushes_and_attributes_are_not_replies() {
    let mut harness = Harness::idle(json!({"mix": {"get": 1}}));
    assert_eq!(harness.feed(b">2\r\n+invalidate\r\n_\r\n"), Ok(NextAction::Idle));
    harness.begin();
    assert_eq!(harness.feed(b">1\r\n+x\r\n|1\r\n+ttl\r\n:5\r\n"), Ok(NextAction::Reply));
    assert_eq!(harness.feed(b"$1\r\nv\r\n"), Ok(NextAction::Idle));
}

#[test]
fn tls_precedes_everything() {
    let mut harness = Harness::new(json!({}), ",\"sslmode\":\"require\",\"password\":\"p\"");
    assert_eq!(harness.session.opened(&mut harness.out), NextAction::StartTls);
    assert!(harness.out.is_empty());
    harness.session.secured(&[], &mut harness.out);
    assert_eq!(harness.sent(), "HELLO 3 AUTH default p");
}

#[test]
fn lost_connection_fails_the_whole_batch() {
    let mut harness = Harness::idle(json!({"mix": {"set": 1}, "pipeline": 4}));
    harness.begin();
    harness.feed(b"+OK\r\n").unwrap();
    assert_eq!(harness.lose("connection"), Reconnect::Later);
    assert_eq!(harness.counts("transaction"), (4, 1, 3));
    harness.out.clear();
    harness.session.opened(&mut harness.out);
    assert_eq!(harness.sent(), "HELLO 3");
    assert_eq!(harness.feed(OPENING), Ok(NextAction::Idle));
    harness.lose("connection");
    assert_eq!(harness.counts("transaction"), (4, 1, 3), "nothing was in progress");
}

#[test]
fn malformed_replies_end_the_connection() {
    for (mix, stray) in [
        ("get", &b":1\r\n"[..]),
        ("get", b"*1\r\n"),
        ("set", b"$1\r\nx\r\n"),
        ("delete", b"+OK\r\n"),
        ("get", b"HTTP/1.1 400\r\n"),
        ("get", b"$1\r\nx\r\n$1\r\ny\r\n"),
    ] {
        let mut harness = Harness::idle(json!({"mix": {mix: 1}}));
        harness.begin();
        assert_eq!(harness.feed(stray).unwrap_err().code, "protocol", "{mix}: {stray:?}");
    }
    let mut harness = Harness::idle(json!({}));
    assert_eq!(harness.feed(b"-ERR max number of clients reached\r\n").unwrap_err().code, "max-clients");
}

#[test]
fn server_errors_have_advice() {}

/// Valid replies and invalid ones.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(vec![
            &b"+OK\r\n"[..], b"$3\r\nabc\r\n", b"_\r\n", b"$-1\r\n", b":1\r\n", b"*2\r\n$1\r\na\r\n_\r\n",
            b">1\r\n+x\r\n", b"-OOM no\r\n", b"-MOVED 1 h:1\r\n", OPENING,
        ]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// No input, split in any way, panics or loops forever, and the counting identity holds.
    #[test]
    fn arbitrary_replies_keep_the_counting_identity(
        pieces in prop::collection::vec((piece(), 0usize..30), 0..40),
        verify in any::<bool>(),
        pipeline in 1..4,
    ) {
        let mix = json!({"get": 3, "set": 3, "mget": 1, "mset": 1, "delete": 1, "insert": 1,
            "read_modify_write": 2});
        let mut harness = Harness::idle(json!({"mix": mix, "multi": 2, "verify": verify,
            "pipeline": pipeline}));
        for (piece, cut) in pieces {
            let cut = cut.min(piece.len());
            for part in [&piece[..cut], &piece[cut..]] {
                match harness.feed(part) {
                    Ok(NextAction::Idle) => harness.begin(),
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
        for op in (0..harness.operations.len() as u16).map(OpId) {
            let counts = harness.recorder.lifetime().operations[op.index()];
            prop_assert_eq!(counts.started, counts.succeeded + counts.failed);
        }
    }
}
