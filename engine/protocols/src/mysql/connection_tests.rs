//! Tests of the packet decoder: responses by command, and malformed input.

use std::sync::Arc;

use proptest::prelude::*;

use super::connection::Mysql;
use super::encode::{self, EXECUTE, HEAD, PREPARE};
use crate::{Columns, Config, Event, Message, Progress, SqlProtocol, StatementKind};
use loadcell_core::error::Failure;
use loadcell_core::target::SslMode;

const DEPRECATE_EOF: u32 = 1 << 24;
const ALL: u32 = 0x81ff_f7fe;

const BEGUN: &[u8] = b"\x07\0\0\x01\0\0\0\x03\0\0\0";
const COMMITTED: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
/// OK: three rows changed, within a transaction.
const CHANGED: &[u8] = b"\x07\0\0\x01\0\x03\0\x03\0\0\0";
const CHANGED_AND_MORE: &[u8] = b"\x07\0\0\x01\0\x01\0\x0b\0\0\0";
const DEADLOCK: &[u8] = b"\x11\0\0\x01\xff\xbd\x04#40001Deadlock";

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode::packet(&mut out, number, |out| out.extend_from_slice(body));
    out
}

fn column(name: &str, kind: u8) -> Vec<u8> {
    let mut body = b"\x03def\0\0\0".to_vec();
    encode::text(&mut body, name.as_bytes());
    encode::text(&mut body, name.as_bytes());
    body.extend_from_slice(&[0x0c, 63, 0, 11, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
    packet(2, &body)
}

/// Two rows of an integer and a text.
fn rows(eof: bool, binary: bool) -> Vec<u8> {
    let end = if eof { &b"\xfe\0\0\x02\0"[..] } else { b"\xfe\0\0\x02\0\0\0" };
    let between = if eof { packet(4, end) } else { Vec::new() };
    let (first, second) = if binary {
        (&b"\0\0\x07\0\0\0\x02ab"[..], &b"\0\x08\x08\0\0\0"[..])
    } else {
        (&b"\x017\x02ab"[..], &b"\x018\xfb"[..])
    };
    [
        packet(1, b"\x02"),
        column("n", 3),
        column("t", 0xfd),
        between,
        packet(5, first),
        packet(6, second),
        packet(7, end),
    ]
    .concat()
}

struct Harness {
    wire: Mysql,
    pending: Vec<u8>,
}

impl Harness {
    fn open(capabilities: u32) -> Self {
        let config = Config {
            user: "u".into(),
            password: None,
            database: String::new(),
            application_name: String::new(),
            options: String::new(),
            sslmode: SslMode::Disable,
            local: false,
        };
        let mut wire = Mysql::new(Arc::new(config));
        let mut out = Vec::new();
        wire.opened(&mut out);
        let mut greeting = b"\x0a5.5.5\0\x09\0\0\x0012345678\0".to_vec();
        greeting.extend_from_slice(&capabilities.to_le_bytes()[..2]);
        greeting.extend_from_slice(&[45, 2, 0]);
        greeting.extend_from_slice(&capabilities.to_le_bytes()[2..]);
        greeting.extend_from_slice(b"\x15\0\0\0\0\0\0\0\0\0\0abcdefghijkl\0mysql_native_password\0");
        let stream = [packet(0, &greeting), packet(2, b"\0\0\0\x02\0\0\0")].concat();
        assert_eq!(wire.open(&stream, &mut out).unwrap(), (stream.len(), Progress::Ready));
        Self { wire, pending: Vec::new() }
    }

    fn ask(&mut self, sql: &str, events: bool) {
        let mut out = Vec::new();
        Mysql::query(&mut out, sql);
        self.wire.announce(&mut out, events);
    }

    /// Events of these bytes in text form.
    fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, Failure> {
        self.pending.extend_from_slice(bytes);
        let (mut at, mut events) = (0, Vec::new());
        while let Some((size, message)) = self.wire.next(&self.pending[at..])? {
            let none = size == 0;
            at += size;
            match message {
                Message::Nothing => assert!(!none, "no progress"),
                Message::Names(names) => {
                    let names: Vec<_> = names.map(String::from_utf8_lossy).collect();
                    events.push(format!("columns {}", names.join(" ")));
                }
                Message::Row(mut row) => {
                    let columns =
                        row.by_ref().map(|column| String::from_utf8_lossy(column.unwrap_or(b"NULL")));
                    events.push(format!("row {}", columns.collect::<Vec<_>>().join(" ")));
                    row.end()?;
                }
                Message::Event(Event::Completed { rows, changed, kind }) => {
                    let fewer = if changed < rows && kind == StatementKind::Change {
                        format!(" of {changed}")
                    } else {
                        String::new()
                    };
                    events.push(format!("{rows} {kind:?}{fewer}"));
                }
                Message::Event(Event::Ready { open }) => {
                    events.push(if open { "open" } else { "ready" }.into())
                }
                Message::Event(Event::Send) => events.push("send".into()),
                Message::Event(Event::Refused { why, fatal }) => {
                    events.push(format!("no: {} {fatal}", why.code))
                }
            }
        }
        self.pending.drain(..at);
        Ok(events)
    }
}

#[test]
fn statements_complete_one_by_one() {
    let mut harness = Harness::open(ALL);
    harness.ask("BEGIN", false);
    assert_eq!(harness.feed(BEGUN).unwrap(), ["0 Change", "open"]);
    harness.ask("UPDATE", false);
    assert_eq!(harness.feed(CHANGED).unwrap(), ["3 Change", "open"]);
    harness.ask("COMMIT", false);
    assert_eq!(harness.feed(COMMITTED).unwrap(), ["0 Change", "ready"]);
    harness.ask("ROLLBACK", false);
    assert_eq!(harness.feed(COMMITTED).unwrap(), ["0 Rollback", "ready"]);
}

#[test]
fn update_distinguishes_matched_and_changed_rows() {
    let message = |rows: u8, info: &str| {
        let mut body = vec![0, rows, 0, 2, 0, 0, 0];
        encode::text(&mut body, info.as_bytes());
        packet(1, &body)
    };
    let mut harness = Harness::open(ALL);
    for (rows, info, events) in [
        (2, "Rows matched: 2  Changed: 1  Warnings: 0", "2 Change of 1"),
        (1, "Rows matched: 1  Changed: 0  Warnings: 0", "1 Change of 0"),
        (2, "Rows matched: 2  Changed: 2  Warnings: 0", "2 Change"),
        (3, "Records: 3  Duplicates: 0  Warnings: 0", "3 Change"),
        (3, "Rows matched: 3  Changed: many", "3 Change"),
        (3, "", "3 Change"),
    ] {
        harness.ask("UPDATE", false);
        assert_eq!(harness.feed(&message(rows, info)).unwrap(), [events, "ready"], "{info}");
    }
    harness.ask("UPDATE", false);
    let cut = packet(1, b"\0\x02\0\x02\0\0\0\x28Rows matched: 2  Cha");
    assert_eq!(harness.feed(&cut).unwrap(), ["2 Change", "ready"]);
}

#[test]
fn rows_are_read_or_skipped_however_split() {
    for eof in [true, false] {
        let capabilities = if eof { ALL & !DEPRECATE_EOF } else { ALL };
        let stream = rows(eof, false);
        for cut in 0..=stream.len() {
            for wants_rows in [true, false] {
                let mut harness = Harness::open(capabilities);
                harness.ask("SELECT", wants_rows);
                let mut events = harness.feed(&stream[..cut]).unwrap();
                events.extend(harness.feed(&stream[cut..]).unwrap());
                let expected: &[&str] = if wants_rows {
                    &["columns n t", "row 7 ab", "row 8 NULL", "2 Other", "ready"]
                } else {
                    &["2 Other", "ready"]
                };
                assert_eq!(events, expected, "cut at {cut}, EOF {eof}");
            }
        }
    }
}

#[test]
fn prepared_statements_use_the_servers_ids() {
    for eof in [true, false] {
        let mut harness = Harness::open(if eof { ALL & !DEPRECATE_EOF } else { ALL });
        let mut parse = Vec::new();
        Mysql::query(&mut parse, "SET autocommit = 0");
        encode::command(&mut parse, PREPARE, b"SELECT ?");
        encode::command(&mut parse, PREPARE, b"COMMIT");
        let mut out = Vec::new();
        harness.wire.prepare(&parse, &mut out);
        assert_eq!(out, parse);
        let end = if eof { packet(3, b"\xfe\0\0\x02\0") } else { Vec::new() };
        let first = packet(1, b"\0\x2a\0\0\0\x01\0\x01\0\0\0\0");
        let definitions = [column("?", 8), end.clone(), column("n", 3), end].concat();
        let second = packet(1, b"\0\x2c\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(harness.feed(COMMITTED).unwrap(), ["0 Change"], "there is more to come");
        assert_eq!(harness.feed(&[first, definitions, second].concat()).unwrap(), ["ready"]);
        for (index, number) in [(0u32, 0x2au8), (1, 0x2c)] {
            let mut execute = Vec::new();
            let body = [&index.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
            encode::command(&mut execute, EXECUTE, &body);
            harness.wire.announce(&mut execute, true);
            assert_eq!(execute[HEAD + 1], number);
            let events = harness.feed(&rows(eof, true)).unwrap();
            assert_eq!(events, ["columns n t", "row 7 ab", "row 8 NULL", "2 Other", "ready"]);
        }
    }
}

#[test]
fn pipelined_statements_are_ready_after_the_last() {
    let mut harness = Harness::open(ALL);
    harness.ask("UPDATE a; UPDATE b", false);
    assert_eq!(harness.feed(CHANGED_AND_MORE).unwrap(), ["1 Change"]);
    assert_eq!(harness.feed(CHANGED).unwrap(), ["3 Change", "open"]);
    harness.ask("UPDATE a; UPDATE b", false);
    assert_eq!(harness.feed(CHANGED_AND_MORE).unwrap(), ["1 Change"]);
    assert_eq!(harness.feed(DEADLOCK).unwrap(), ["no: 40001 false", "open"], "the rest is not done");
    harness.ask("UPDATE a", false);
    harness.ask("UPDATE b", false);
    assert_eq!(harness.feed(DEADLOCK).unwrap(), ["no: 40001 false"]);
    assert_eq!(harness.feed(CHANGED).unwrap(), ["3 Change", "open"], "the rest is done all the same");
}

#[test]
fn error_ends_the_rows() {
    let mut harness = Harness::open(ALL);
    harness.ask("SELECT", false);
    let stream = rows(false, false);
    let cut = stream.len() - 11;
    assert!(harness.feed(&stream[..cut]).unwrap().is_empty());
    assert_eq!(harness.feed(DEADLOCK).unwrap(), ["no: 40001 false", "ready"]);
}

#[test]
fn load_data_sends_rows_on_request() {
    let mut harness = Harness::open(ALL);
    harness.ask("LOAD DATA LOCAL INFILE 'rows' INTO TABLE t", true);
    assert_eq!(harness.feed(&packet(1, b"\xfbrows")).unwrap(), ["send"]);
    let mut out = Vec::new();
    harness.wire.rows(&mut out, |out| out.extend_from_slice(b"1\t2\n"));
    harness.wire.rows(&mut out, |_| {});
    harness.wire.rows(&mut out, |out| out.push(b'3'));
    harness.wire.rows_end(&mut out);
    assert_eq!(out, b"\x04\0\0\x021\t2\n\x01\0\0\x033\0\0\0\x04");
    assert_eq!(harness.feed(b"\x07\0\0\x05\0\x02\0\x02\0\0\0").unwrap(), ["2 Change", "ready"]);
}

#[test]
fn shutdown_is_reported_to_idle_connections() {
    let mut harness = Harness::open(ALL);
    let gone = packet(0, b"\xff\x87\x07#70100Connection was killed");
    assert_eq!(harness.feed(&gone).unwrap()[0], "no: 70100 true");
}

#[test]
fn unrequested_packets_are_errors() {
    for stray in [BEGUN, b"\x01\0\0\x01\x02", b"\0\0\0\x01", b"\x01\0\0\x01\xfe"] {
        assert_eq!(Harness::open(ALL).feed(stray).unwrap_err().code, "protocol", "{stray:?}");
    }
    // Zero columns; more than the maximum; truncated OK, definition and row.
    let column_cut = [packet(1, b"\x01"), packet(2, b"\x03de")].concat();
    let row_cut = [&rows(false, false)[..rows(false, false).len() - 11 - 7], &packet(6, b"\x028")].concat();
    for stray in [
        packet(1, b"\0"),
        packet(1, b"\0\x01"),
        packet(1, b"\xfd\xff\xff\xff"),
        packet(1, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
        packet(1, b""),
        column_cut,
        row_cut,
    ] {
        let mut harness = Harness::open(ALL);
        harness.ask("SELECT", true);
        assert_eq!(harness.feed(&stray).unwrap_err().code, "protocol", "{stray:?}");
    }
}

#[test]
fn cancel_uses_another_connection() {
    let harness = Harness::open(ALL);
    assert_eq!(harness.wire.cancel(), crate::Cancel::Query("KILL QUERY 9".into()));
}

/// Valid packets and invalid ones.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let unsplit = vec![
        BEGUN.to_vec(),
        CHANGED.to_vec(),
        CHANGED_AND_MORE.to_vec(),
        COMMITTED.to_vec(),
        DEADLOCK.to_vec(),
        rows(true, false),
        rows(false, false),
        rows(false, true),
        packet(1, b"\0\x2a\0\0\0\x01\0\x01\0\0\0\0"),
        packet(1, b"\xfbrows"),
    ];
    prop_oneof![
        4 => prop::sample::select(unsplit),
        2 => (any::<u8>(), prop::collection::vec(any::<u8>(), 0..30)).prop_map(|(number,
            body)| packet(number, &body)),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// No input, split in any way, panics or loops forever.
    #[test]
    fn arbitrary_packets_never_panic(
        pieces in prop::collection::vec((piece(), 0usize..40), 0..20),
        asked in prop::collection::vec((any::<bool>(), any::<bool>()), 1..6),
        eof in any::<bool>(),
    ) {
        let mut harness = Harness::open(if eof { ALL & !DEPRECATE_EOF } else { ALL });
        for (events, prepared) in asked {
            let mut request = Vec::new();
            if prepared {
                encode::command(&mut request, EXECUTE, &[0; 9]);
            } else {
                Mysql::query(&mut request, "SELECT");
            }
            harness.wire.announce(&mut request, events);
        }
        'all: for (piece, cut) in pieces {
            let cut = cut.min(piece.len());
            for part in [&piece[..cut], &piece[cut..]] {
                if harness.feed(part).is_err() {
                    break 'all;
                }
            }
        }
    }

    /// The same for the greeting and the login.
    #[test]
    fn arbitrary_greetings_never_panic(
        start in 0usize..2,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0usize..200,
    ) {
        let config = Config {
            user: "u".into(),
            password: Some("pw".into()),
            database: "d".into(),
            application_name: String::new(),
            options: String::new(),
            sslmode: SslMode::Prefer,
            local: false,
        };
        let mut wire = Mysql::new(Arc::new(config));
        let mut out = Vec::new();
        wire.opened(&mut out);
        let greeting = [&b"\x0a5\0\x09\0\0\x0012345678\0"[..], &bytes].concat();
        let stream = if start == 0 { bytes } else { packet(0, &greeting) };
        let cut = cut.min(stream.len());
        if let Ok((done, Progress::More)) = wire.open(&stream[..cut], &mut out) {
            let _ = wire.open(&stream[done..], &mut out);
        }
    }
}
