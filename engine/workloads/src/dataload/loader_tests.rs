//! Loading into a scripted MySQL server that ends transactions with an error.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};

use super::{Data, Prepared, Table, load};
use loadcell_core::error::LoadError;
use loadcell_core::observe::{Directive, Observer};
use loadcell_core::spec::Spec;

const DEADLOCK: &[u8] = b"\xff\xbd\x04#40001Deadlock found when trying to get lock";
const LOCK_WAIT: &[u8] = b"\xff\xb5\x04#HY000Lock wait timeout exceeded";
const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
/// The server wants the rows of the file `rows`.
const SEND_ROWS: &[u8] = b"\xfbrows";
const ROWS: u64 = 500;

/// A server that answers the first `refusals` statements that contain `refused` with `error`.
struct Scripted {
    refused: &'static str,
    refusals: usize,
    error: &'static [u8],
    /// Statements received, each followed by the number of its rows, if it loads some.
    log: Mutex<Vec<String>>,
}

impl Scripted {
    fn converse(&self, stream: TcpStream) {
        let mut output = stream.try_clone().unwrap();
        let mut input = BufReader::new(stream);
        output.write_all(&packet(0, &greeting())).unwrap();
        read_packet(&mut input).expect("a login");
        output.write_all(&packet(2, OK)).unwrap();
        while let Some(command) = read_packet(&mut input).filter(|command| command[0] == 3) {
            let mut statement = String::from_utf8_lossy(&command[1..]).into_owned();
            let mut number = 1;
            if statement.starts_with("LOAD DATA") {
                output.write_all(&packet(1, SEND_ROWS)).unwrap();
                let mut rows = 0;
                while let Some(chunk) = read_packet(&mut input).filter(|chunk| !chunk.is_empty()) {
                    rows += chunk.iter().filter(|&&byte| byte == b'\n').count();
                    number += 1;
                }
                statement = format!("{statement}: {rows}");
                number += 2;
            }
            let refused = self.note(&statement);
            let rows = if statement.starts_with("LOAD DATA") { ROWS as u16 } else { 0 };
            let [low, high] = rows.to_le_bytes();
            let taken = [&[0, 0xfc, low, high, 0, 2, 0, 0, 0][..]].concat();
            let answer = if refused { self.error } else { &taken };
            output.write_all(&packet(number, answer)).unwrap();
        }
    }

    /// Record a statement. Returns whether to refuse it.
    fn note(&self, statement: &str) -> bool {
        if statement.starts_with("SELECT @@") {
            return false; // whether it takes local data; the answer without a value means that it does
        }
        let mut log = self.log.lock().unwrap();
        let earlier = log.iter().filter(|earlier| earlier.contains(self.refused)).count();
        log.push(statement.into());
        statement.contains(self.refused) && earlier < self.refusals
    }
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..3], &[number], body].concat()
}

fn read_packet(input: &mut impl Read) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    input.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    input.read_exact(&mut body).ok()?;
    Some(body)
}

/// A MariaDB with all capabilities but TLS.
fn greeting() -> Vec<u8> {
    let capabilities: u32 = 0x81ff_f7fe;
    let mut greeting = b"\x0a5.5.5\0\x09\0\0\x0012345678\0".to_vec();
    greeting.extend_from_slice(&capabilities.to_le_bytes()[..2]);
    greeting.extend_from_slice(&[45, 2, 0]);
    greeting.extend_from_slice(&capabilities.to_le_bytes()[2..]);
    greeting.extend_from_slice(b"\x15\0\0\0\0\0\0\0\0\0\0abcdefghijkl\0mysql_native_password\0");
    greeting
}

struct OneTable(Vec<Table>);

impl Data for OneTable {
    fn tables(&self) -> &[Table] {
        &self.0
    }

    fn rows(&self, _: usize, units: Range<u64>, out: &mut Vec<u8>) -> u64 {
        let rows = units.end - units.start;
        units.for_each(|unit| out.extend_from_slice(format!("{unit}\n").as_bytes()));
        rows
    }
}

/// The number of loaded rows in each progress event.
struct LoadedRows(Vec<u64>);

impl Observer for LoadedRows {
    fn event(&mut self, event: &Value) -> Directive {
        self.0.push(event["done_rows"].as_u64().unwrap());
        Directive::Continue
    }

    fn tick(&mut self) -> Directive {
        Directive::Continue
    }
}

/// Load one table. Returns the result, the statements that the server received, and the rows of the last
/// progress event.
fn run(
    refused: &'static str,
    refusals: usize,
    error: &'static [u8],
) -> (Result<Prepared, LoadError>, Vec<String>, Option<u64>) {
    run_with_connections(usize::MAX, refused, refusals, error)
}

/// The same with a server that takes only this number of connections.
fn run_with_connections(
    connections: usize,
    refused: &'static str,
    refusals: usize,
    error: &'static [u8],
) -> (Result<Prepared, LoadError>, Vec<String>, Option<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = json!({"protocol": "mysql", "host": "127.0.0.1", "sslmode": "disable", "user": "u",
        "port": listener.local_addr().unwrap().port()});
    let spec = loadcell_testing::specification(json!({"seed": 1, "target": target,
        "load": {"clients": 1, "duration_ns": 1}, "workload": {"sysbench": {}}}));
    let spec = Spec::read(&spec.to_string()).unwrap();
    let table = Table {
        name: "t".into(),
        create: "CREATE TABLE t".into(),
        copy: "LOAD DATA t".into(),
        rows: ROWS,
        units: ROWS,
        unit_bytes: 4,
        indexes: vec!["CREATE INDEX i".into()],
        ..Table::default()
    };
    let server: &'static Scripted =
        Box::leak(Box::new(Scripted { refused, refusals, error, log: Mutex::new(Vec::new()) }));
    thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            thread::spawn(|| server.converse(stream.unwrap()));
        }
    });
    let mut progress = LoadedRows(Vec::new());
    let result = load(&spec, &OneTable(vec![table]), 1, &mut progress);
    let mut log = server.log.lock().unwrap().clone();
    log.retain(|statement| !statement.starts_with("SELECT"));
    (result, log, progress.0.last().copied())
}

const SETUP: &str = "SET SESSION unique_checks = 0, foreign_key_checks = 0";

#[test]
fn rows_of_a_rolled_back_load_are_sent_again_over_a_new_connection() {
    for error in [DEADLOCK, LOCK_WAIT] {
        let (result, log, done_rows) = run("LOAD DATA", 2, error);
        assert_eq!(result.unwrap().rows, ROWS);
        let load = "LOAD DATA t: 500";
        let expected = [SETUP, "CREATE TABLE t", load, SETUP, load, SETUP, load, "CREATE INDEX i"];
        assert_eq!(log, expected);
        assert_eq!(done_rows, Some(ROWS), "each row counts once");
    }
}

#[test]
fn rolled_back_statements_are_repeated() {
    let (result, log, _) = run("CREATE INDEX", 1, DEADLOCK);
    assert_eq!(result.unwrap().rows, ROWS);
    assert_eq!(log[2..], ["LOAD DATA t: 500", "CREATE INDEX i", SETUP, "CREATE INDEX i"]);
}

#[test]
fn error_of_the_last_attempt_has_their_number() {
    let (result, log, _) = run("LOAD DATA", usize::MAX, DEADLOCK);
    let expected = json!({"code": "40001", "reason": {"code": "engine.load-table", "args": {"name": "t",
        "said": "Deadlock found when trying to get lock (error 1213)", "attempts": 6}}});
    assert_eq!(result.unwrap_err().document(), expected);
    assert_eq!(log.iter().filter(|statement| statement.starts_with("LOAD DATA")).count(), 6);
}

#[test]
fn error_of_a_failed_reconnect_has_the_rollback_before_it() {
    let (result, log, _) = run_with_connections(1, "CREATE TABLE", usize::MAX, DEADLOCK);
    let document = result.unwrap_err().document();
    assert_ne!(document["code"], "40001");
    let rollback = "Deadlock found when trying to get lock (error 1213)";
    assert_eq!(document["reason"]["args"]["rolled_back"], rollback);
    assert_eq!(log, [SETUP, "CREATE TABLE t"]);
}

#[test]
fn other_errors_are_not_repeated() {
    let (result, log, _) = run("LOAD DATA", usize::MAX, DUPLICATE);
    let expected = json!({"code": "23000", "reason": {"code": "engine.load-table", "args": {"name": "t",
        "said": "Duplicate entry (error 1062)"}}});
    assert_eq!(result.unwrap_err().document(), expected);
    assert_eq!(log, [SETUP, "CREATE TABLE t", "LOAD DATA t: 500"]);
}
