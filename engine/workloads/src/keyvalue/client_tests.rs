//! Operations of clients, and their checks of answers.

use serde_json::{Value, json};

use super::client::{Client, Clients, Data, OpKind};
use super::options::Options;
use super::values::{IntegrityError, LOADED, Size, ValueShape};
use loadcell_core::fit::deviation;
use loadcell_core::random::Random;
use loadcell_core::record::{Kind, OpId};

fn options(section: &Value) -> Options {
    Options::of(section).unwrap()
}

fn client(section: &Value) -> Client {
    Clients::new(&options(section), 42, 1).unwrap().client(0)
}

fn key(client: &Client, index: usize) -> String {
    let mut out = Vec::new();
    client.key(index, &mut out);
    assert_eq!(out.len(), client.key_size(index));
    String::from_utf8(out).unwrap()
}

fn value(client: &mut Client, index: usize) -> Vec<u8> {
    let mut out = Vec::new();
    client.value(index, &mut out);
    assert_eq!(out.len(), client.value_size(index));
    out
}

/// A value as written by another client.
fn written(key: u64, version: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let shape = ValueShape { size: Size::Fixed(40), checksummed: true };
    shape.write(key, version, &mut Random::stream(1, 1), &mut out);
    out
}

#[test]
fn operations_follow_the_mix() {
    let names = |section| -> Vec<(&str, Kind)> {
        Clients::new(&options(&section), 0, 1)
            .unwrap()
            .operations()
            .iter()
            .map(|operation| (operation.name, operation.kind))
            .collect()
    };
    let missed = ("missed", Kind::Outcome);
    let transaction = ("transaction", Kind::Transaction);
    assert_eq!(names(json!({})), [transaction, ("get", Kind::Read), ("set", Kind::Write), missed]);
    assert_eq!(names(json!({"mix": {"get": 1}})), [transaction, ("get", Kind::Read), missed]);
    assert_eq!(names(json!({"mix": {"set": 1}})), [transaction, ("set", Kind::Write)]);
    let all = json!({"mset": 1, "mget": 1, "delete": 1, "insert": 1, "scan": 1, "read_modify_write": 1});
    let commands =
        json!({"push": {"commands": ["LPUSH ${key} ${value}"]}, "never": {"commands": ["PING"], "share": 0}});
    let results = names(json!({"mix": all, "commands": commands}));
    let expected =
        ["transaction", "mget", "mset", "delete", "insert", "scan", "read_modify_write", "push", "missed"];
    assert_eq!(results.iter().map(|(name, _)| *name).collect::<Vec<_>>(), expected);
}

#[test]
fn kinds_have_their_shares() {
    let section = json!({"mix": {"get": 50, "set": 20, "delete": 5, "scan": 5},
        "commands": {"ping": {"commands": ["PING"], "share": 20}}});
    let mut client = client(&section);
    let mut counts = [0usize; 5];
    for _ in 0..200_000 {
        let operation = client.next();
        counts[operation.op.index() - 1] += 1;
        client.done();
    }
    assert!(deviation(&counts, &[0.5, 0.2, 0.05, 0.05, 0.2]) < 3.1, "{counts:?}");
}

#[test]
fn operation_has_keys_and_values() {
    let section = json!({"mix": {"mset": 1}, "multi": 3, "keys": 50, "key_prefix": "k", "key_size": 6,
        "value_size": 21});
    let mut client = client(&section);
    for _ in 0..100 {
        let operation = client.next();
        assert_eq!((operation.op_kind, operation.keys, operation.kind), (OpKind::MultiSet, 3, Kind::Write));
        for index in 0..3 {
            assert_eq!(key(&client, index), format!("k{:05}", client.number(index)));
            assert!(client.number(index) < 50);
            assert_eq!(value(&mut client, index).len(), 21);
        }
        assert_eq!(client.done(), None);
    }
}

#[test]
fn clients_differ_and_are_reproducible() {
    let clients = Clients::new(&options(&json!({})), 7, 4).unwrap();
    let first = |number| {
        let mut client = clients.client(number);
        (0..20).map(|_| (client.next().op_kind, client.number(0))).collect::<Vec<_>>()
    };
    assert_eq!(first(0), first(0));
    assert_ne!(first(0), first(1));
}

#[test]
fn pipelined_operations_complete_in_order() {
    let mut client =
        client(&json!({"mix": {"set": 1, "get": 1}, "keys": 100, "verify": true, "value_size": 40}));
    let mut store = std::collections::BTreeMap::new();
    for _ in 0..500 {
        let mut sent = Vec::new();
        for _ in 0..8 {
            let operation = client.next();
            let bytes = (operation.op_kind == OpKind::Set).then(|| value(&mut client, 0));
            sent.push((client.number(0), bytes));
        }
        assert_eq!(client.pending(), 8);
        for (number, bytes) in sent {
            match bytes {
                Some(bytes) => {
                    store.insert(number, bytes);
                }
                None => {
                    let results = store.get(&number).cloned().unwrap_or_else(|| written(number, LOADED));
                    assert_eq!(client.check_answer(0, Some(&results)), Ok(()));
                }
            }
            client.done();
        }
    }
}

#[test]
fn missing_keys_are_counted_separately() {
    let mut client = client(&json!({"mix": {"mget": 1}, "multi": 2}));
    client.next();
    client.check_answer(0, Some(b"x")).unwrap();
    client.check_answer(1, None).unwrap();
    assert_eq!(client.done(), Some(OpId(2)));
    client.next();
    client.check_answer(0, Some(b"x")).unwrap();
    client.check_answer(1, Some(b"y")).unwrap();
    assert_eq!(client.done(), None);
}

#[test]
fn with_verification_each_key_has_one_writer() {
    let section = json!({"mix": {"set": 1, "delete": 1, "insert": 1}, "keys": 10, "verify": true});
    let clients = Clients::new(&options(&section), 1, 3).unwrap();
    for number in 0..3u32 {
        let mut client = clients.client(number);
        for _ in 0..300 {
            let operation = client.next();
            if operation.op_kind != OpKind::Insert {
                assert_eq!(client.number(0) % 3, u64::from(number));
            }
            client.done();
        }
    }
    assert!(Clients::new(&options(&section), 1, 11).is_err());
}

#[test]
fn wrong_answers_are_detected() {
    let mut client =
        client(&json!({"mix": {"set": 1, "get": 1}, "keys": 1, "verify": true, "value_size": 40}));
    let mut last = written(0, LOADED);
    let (mut written_at_all, mut asked) = (false, 0);
    while asked < 100 {
        if client.next().op_kind == OpKind::Set {
            last = value(&mut client, 0);
            written_at_all = true;
            client.done();
            continue;
        }
        asked += 1;
        let stale = if written_at_all { Err(IntegrityError::Stale) } else { Ok(()) };
        assert_eq!(client.check_answer(0, Some(&last)), Ok(()));
        assert_eq!(client.check_answer(0, Some(&written(0, LOADED))), stale);
        assert_eq!(client.check_answer(0, Some(&written(1, 100))), Err(IntegrityError::Corrupt));
        assert_eq!(client.check_answer(0, Some(b"something else")), Err(IntegrityError::Corrupt));
        assert_eq!(client.check_answer(0, None), Err(IntegrityError::Lost));
        client.failed();
    }
}

#[test]
fn failed_write_may_or_may_not_be_applied() {
    let mut client =
        client(&json!({"mix": {"set": 1, "get": 1}, "keys": 1, "verify": true, "value_size": 40}));
    let mut in_doubt = None;
    loop {
        match (client.next().op_kind, &in_doubt) {
            (OpKind::Set, None) => {
                in_doubt = Some(value(&mut client, 0));
                client.failed();
            }
            (OpKind::Get, Some(bytes)) => {
                assert_eq!(client.check_answer(0, Some(bytes)), Ok(()));
                assert_eq!(client.check_answer(0, Some(&written(0, LOADED))), Ok(()));
                break;
            }
            _ => client.failed(),
        }
    }
}

#[test]
fn read_modify_write_writes_the_key_it_read() {
    let mut client =
        client(&json!({"mix": {"read_modify_write": 1}, "keys": 5, "verify": true, "value_size": 40}));
    for _ in 0..2 {
        assert_eq!(client.next().op_kind, OpKind::ReadModifyWrite);
    }
    client.modify();
    let first = client.number(0);
    assert_eq!(client.check_answer(0, Some(&written(first, LOADED))), Ok(()));
    let bytes = value(&mut client, 0);
    assert_eq!(super::values::parse_header(&bytes), Some((first, 2)));
    assert_eq!(client.check_answer(0, None), Ok(()), "its own writing is under way");
    client.done();
    assert_eq!(client.pending(), 1);
}

#[test]
fn inserted_keys_are_new_and_readable() {
    let section =
        json!({"mix": {"insert": 1, "get": 3}, "keys": 10, "distribution": "latest", "verify": true});
    let mut client = client(&section);
    let mut there: Vec<u64> = (0..10).collect();
    for _ in 0..2_000 {
        let op_kind = client.next().op_kind;
        let number = client.number(0);
        if op_kind == OpKind::Insert {
            assert_eq!(number, there.len() as u64);
            there.push(number);
        } else {
            assert!(number < there.len() as u64);
            assert_eq!(client.check_answer(0, None), Err(IntegrityError::Lost));
        }
        client.done();
    }
    assert!(there.len() > 300);
}

#[test]
fn scan_has_a_row_limit() {
    let mut client =
        client(&json!({"mix": {"scan": 1}, "scan_length": {"from": 3, "to": 5}, "verify": true}));
    let mut seen = [0usize; 3];
    for _ in 0..3_000 {
        seen[client.next().rows as usize - 3] += 1;
        client.done();
    }
    assert!(deviation(&seen, &[1.0 / 3.0; 3]) < 3.1);
    assert_eq!(client.scanned(&written(9, 9)), Ok(()));
    assert_eq!(client.scanned(b"x"), Err(IntegrityError::Corrupt));
}

#[test]
fn data_is_reproducible() {
    let varying = options(&json!({"keys": 50, "value_size": {"from": 20, "to": 60}, "verify": true}));
    let (data, shape) = (Data::new(&varying, 1), varying.key_shape());
    assert_eq!(data.count, 50);
    let record = |number| {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        data.key(number, &mut key);
        data.value(number, &mut value);
        assert_eq!(key.len(), shape.size(number));
        (String::from_utf8(key).unwrap(), value)
    };
    assert_eq!(record(7), record(7));
    assert_eq!(record(7).0, "key:000000000007");
    assert_eq!(super::values::check(7, LOADED, &record(7).1), Ok(LOADED));
    assert_ne!(record(7).1.len(), record(8).1.len());
    assert_eq!(Data::new(&options(&json!({"load": false})), 1).count, 0);
}
