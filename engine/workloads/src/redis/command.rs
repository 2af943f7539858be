//! Encodes operations of a key-value client as Redis commands.

use crate::keyvalue::command::{Command, Piece, Script};
use crate::keyvalue::options::Numbers;
use crate::keyvalue::{Client, KvOperation, OpKind, Options};
use loadcell_core::clock::MILLISECOND;
use loadcell_core::error::SpecError;
use loadcell_protocols::digits::{self, decimal};
use loadcell_protocols::resp::encode;
use serde_json::json;

/// Commands that a load's connections cannot send, with the reason.
const REFUSED: [(&[&str], &str); 4] = [
    (
        &[
            "SUBSCRIBE",
            "PSUBSCRIBE",
            "SSUBSCRIBE",
            "UNSUBSCRIBE",
            "PUNSUBSCRIBE",
            "SUNSUBSCRIBE",
            "MONITOR",
            "SYNC",
            "PSYNC",
        ],
        "engine.spec.command-answers",
    ),
    (
        &["FLUSHALL", "FLUSHDB", "SWAPDB", "SHUTDOWN", "DEBUG", "REPLICAOF", "SLAVEOF", "FAILOVER"],
        "engine.spec.command-destroys",
    ),
    (&["AUTH", "HELLO", "SELECT", "QUIT", "RESET", "CLIENT", "ASKING"], "engine.spec.command-connection"),
    (&["DISCARD", "WATCH", "UNWATCH"], "engine.spec.command-watch"),
];

/// Reject commands that a load cannot send, and transactions that are not closed within one operation.
pub fn check(options: &Options) -> Result<(), SpecError> {
    options.commands()?.iter().try_for_each(check_command)
}

fn check_command(command: &Command) -> Result<(), SpecError> {
    let refusal = |code: &'static str, word: &str| {
        let arguments = json!({"name": command.name, "command": word});
        SpecError::new(code, format!("workload.kv.commands.{}", command.name), arguments)
    };
    let mut in_transaction = false;
    for request in &command.requests {
        let Some([Piece::Text(name)]) = request.first().map(Vec::as_slice) else {
            return Err(refusal("engine.spec.command-word", ""));
        };
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        if let Some((_, code)) = REFUSED.iter().find(|(names, _)| names.contains(&name.as_str())) {
            return Err(refusal(code, &name));
        }
        in_transaction = match (name.as_str(), in_transaction) {
            ("MULTI", true) => return Err(refusal("engine.spec.command-multi", &name)),
            ("EXEC", false) => return Err(refusal("engine.spec.command-exec", &name)),
            ("MULTI", false) => true,
            ("EXEC", true) => false,
            (_, unchanged) => unchanged,
        };
    }
    if in_transaction { Err(refusal("engine.spec.command-multi", "MULTI")) } else { Ok(()) }
}

/// Append the command that makes the server cache a script.
pub fn load_script(script: &Script, out: &mut Vec<u8>) {
    encode::command(out, &[b"SCRIPT", b"LOAD", &script.text]);
}

/// Command encoder.
#[derive(Clone, Debug)]
pub struct Writer {
    /// End of each SET: `PX`, and the expiry if it is constant.
    expiry: Vec<u8>,
    /// Range of the expiry in milliseconds, if each SET draws its own.
    lifetimes: Option<(u64, u64)>,
}

impl Writer {
    pub fn new(ttl_ns: Option<Numbers>) -> Self {
        let mut expiry = Vec::new();
        let mut lifetimes = None;
        if let Some((shortest, longest)) = ttl_ns.map(Numbers::bounds) {
            let (from, to) = (shortest / MILLISECOND, longest / MILLISECOND);
            encode::word(&mut expiry, b"PX");
            if from == to {
                encode::word(&mut expiry, from.to_string().as_bytes());
            } else {
                lifetimes = Some((from, to));
            }
        }
        Self { expiry, lifetimes }
    }

    /// Append the first or only command of the client's current operation.
    #[inline]
    pub fn write(&self, client: &mut Client, operation: &KvOperation, out: &mut Vec<u8>) {
        match operation.op_kind {
            OpKind::Get | OpKind::ReadModifyWrite => {
                out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
                key(client, 0, out);
            }
            OpKind::Set | OpKind::Insert => self.set(client, out),
            OpKind::MultiGet => {
                encode::begin(out, operation.keys + 1);
                out.extend_from_slice(b"$4\r\nMGET\r\n");
                (0..operation.keys).for_each(|index| key(client, index, out));
            }
            OpKind::MultiSet => {
                encode::begin(out, 2 * operation.keys + 1);
                out.extend_from_slice(b"$4\r\nMSET\r\n");
                for index in 0..operation.keys {
                    key(client, index, out);
                    value(client, index, out);
                }
            }
            OpKind::Delete => {
                out.extend_from_slice(b"*2\r\n$3\r\nDEL\r\n");
                key(client, 0, out);
            }
            OpKind::Command(at) => template(client, at, out),
            OpKind::Scan => debug_assert!(false, "Redis has no scans in order"),
        }
    }

    /// Append the write of a key, alone or after its read.
    #[inline]
    pub fn set(&self, client: &mut Client, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.expiry.is_empty() {
            b"*3\r\n$3\r\nSET\r\n"
        } else {
            b"*5\r\n$3\r\nSET\r\n"
        });
        key(client, 0, out);
        value(client, 0, out);
        out.extend_from_slice(&self.expiry);
        if let Some((from, to)) = self.lifetimes {
            number(client.between(from, to), out);
        }
    }
}

/// Start a word of `size` bytes, preceded by the arguments' end `end`.
#[inline]
fn head(size: usize, out: &mut Vec<u8>) {
    out.push(b'$');
    decimal(out, size as u64);
    out.extend_from_slice(END);
}

const END: &[u8] = b"\r\n";

/// A number as a word.
#[inline]
fn number(value: u64, out: &mut Vec<u8>) {
    head(digits::count(value), out);
    decimal(out, value);
    out.extend_from_slice(END);
}

#[inline]
fn key(client: &Client, index: usize, out: &mut Vec<u8>) {
    head(client.key_size(index), out);
    client.key(index, out);
    out.extend_from_slice(END);
}

#[inline]
fn value(client: &mut Client, index: usize, out: &mut Vec<u8>) {
    head(client.value_size(index), out);
    client.value(index, out);
    out.extend_from_slice(END);
}

/// A user-defined command, or several.
pub fn template(client: &mut Client, at: usize, out: &mut Vec<u8>) {
    for request in 0..client.command(at).requests.len() {
        let arguments = client.command(at).requests[request].len();
        encode::begin(out, arguments);
        for argument in 0..arguments {
            word(client, at, (request, argument), out);
        }
    }
}

/// An argument of a user-defined command, by its indices.
fn word(client: &mut Client, at: usize, (request, argument): (usize, usize), out: &mut Vec<u8>) {
    let size = |piece: &Piece| match piece {
        Piece::Text(text) => text.len(),
        Piece::Key => client.key_size(0),
        Piece::Number => digits::count(client.number(0)),
        Piece::Value => client.value_size(0),
    };
    let pieces = &client.command(at).requests[request][argument];
    let count = pieces.len();
    head(pieces.iter().map(size).sum(), out);
    for piece in 0..count {
        match &client.command(at).requests[request][argument][piece] {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::Key => client.key(0, out),
            Piece::Number => decimal(out, client.number(0)),
            Piece::Value => client.value(0, out),
        }
    }
    out.extend_from_slice(END);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::keyvalue::Clients;
    use loadcell_protocols::resp::Reader;

    /// The first command with these options.
    fn written(options: serde_json::Value) -> String {
        String::from_utf8(bytes(options)).unwrap()
    }

    fn bytes(options: serde_json::Value) -> Vec<u8> {
        let options = Options::of(&options).unwrap();
        check(&options).unwrap();
        let mut client = Clients::new(&options, 1, 1).unwrap().client(0);
        let mut out = Vec::new();
        let operation = client.next();
        Writer::new(options.ttl_ns).write(&mut client, &operation, &mut out);
        out
    }

    fn with(change: serde_json::Value) -> serde_json::Value {
        let mut options =
            json!({"mix": {}, "keys": 1, "key_prefix": "k", "key_size": 3, "value_size": 0, "multi": 2});
        options.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        options
    }

    #[test]
    fn each_kind_has_a_command() {
        for (change, command) in [
            (json!({"mix": {"get": 1}}), "*2\r\n$3\r\nGET\r\n$3\r\nk00\r\n"),
            (json!({"mix": {"read_modify_write": 1}}), "*2\r\n$3\r\nGET\r\n$3\r\nk00\r\n"),
            (json!({"mix": {"set": 1}}), "*3\r\n$3\r\nSET\r\n$3\r\nk00\r\n$0\r\n\r\n"),
            (json!({"mix": {"insert": 1}}), "*3\r\n$3\r\nSET\r\n$3\r\nk01\r\n$0\r\n\r\n"),
            (
                json!({"mix": {"set": 1}, "ttl_ns": 1_500_000_000u64}),
                "*5\r\n$3\r\nSET\r\n$3\r\nk00\r\n$0\r\n\r\n$2\r\nPX\r\n$4\r\n1500\r\n",
            ),
            (json!({"mix": {"mget": 1}}), "*3\r\n$4\r\nMGET\r\n$3\r\nk00\r\n$3\r\nk00\r\n"),
            (
                json!({"mix": {"mset": 1}}),
                "*5\r\n$4\r\nMSET\r\n$3\r\nk00\r\n$0\r\n\r\n$3\r\nk00\r\n$0\r\n\r\n",
            ),
            (json!({"mix": {"delete": 1}}), "*2\r\n$3\r\nDEL\r\n$3\r\nk00\r\n"),
            (
                json!({"commands": {"push": {"commands": ["LPUSH ${key}:list n${number} ${value}"]}}}),
                "*4\r\n$5\r\nLPUSH\r\n$8\r\nk00:list\r\n$2\r\nn0\r\n$0\r\n\r\n",
            ),
            (
                json!({"commands": {"once": {"commands": ["multi", "INCR ${key}", "EXEC"]}}}),
                "*1\r\n$5\r\nmulti\r\n*2\r\n$4\r\nINCR\r\n$3\r\nk00\r\n*1\r\n$4\r\nEXEC\r\n",
            ),
        ] {
            assert_eq!(written(with(change)), command);
        }
    }

    #[test]
    fn expiry_is_within_its_bounds() {
        let options = json!({"mix": {"set": 1}, "ttl_ns": {"from": 8_000_000u64, "to": 12_999_999u64}});
        let options = Options::of(&with(options)).unwrap();
        let mut client = Clients::new(&options, 1, 1).unwrap().client(0);
        let writer = Writer::new(options.ttl_ns);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let (operation, mut out) = (client.next(), Vec::new());
            writer.write(&mut client, &operation, &mut out);
            client.done();
            let text = String::from_utf8(out).unwrap();
            let (_, expiry) = text.split_once("$2\r\nPX\r\n$").unwrap();
            let (length, time) = expiry.strip_suffix("\r\n").unwrap().split_once("\r\n").unwrap();
            assert_eq!(length, time.len().to_string());
            seen.insert(time.parse::<u64>().unwrap());
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [8, 9, 10, 11, 12]);
    }

    #[test]
    fn value_has_its_declared_length() {
        for size in [json!(100), json!({"from": 1, "to": 300}), json!({"mean": 50, "deviation": 20})] {
            let command = bytes(with(json!({"mix": {"set": 1}, "value_size": size})));
            let (mut reader, mut at, mut ends) = (Reader::default(), 0, false);
            while let Some(read) = reader.next(&command[at..], 0).unwrap() {
                (at, ends) = (at + read.size, read.ends);
            }
            assert!(ends && at == command.len(), "{size}");
        }
    }

    #[test]
    fn commands_that_a_load_cannot_send_are_rejected() {
        for (change, finding) in [
            (
                json!({"commands": {"all": {"commands": ["flushall"]}}}),
                "command-destroys workload.kv.commands.all {\"command\":\"FLUSHALL\"",
            ),
            (
                json!({"commands": {"sub": {"commands": ["SUBSCRIBE x"]}}}),
                "command-answers workload.kv.commands.sub {\"command\":\"SUBSCRIBE\"",
            ),
            (json!({"commands": {"odd": {"commands": ["${key} x"]}}}), "command-word"),
            (json!({"commands": {"one": {"commands": ["MULTI"]}}}), "command-multi"),
            (json!({"commands": {"two": {"commands": ["MULTI", "PING", "multi", "EXEC"]}}}), "command-multi"),
            (json!({"commands": {"end": {"commands": ["MULTI", "EXEC", "EXEC"]}}}), "command-exec"),
            (
                json!({"commands": {"see": {"commands": ["WATCH x", "MULTI", "EXEC"]}}}),
                "command-watch workload.kv.commands.see {\"command\":\"WATCH\"",
            ),
        ] {
            let problem = check(&Options::of(&with(change)).unwrap()).unwrap_err();
            assert!(problem.to_string().contains(finding), "{problem}");
        }
    }
}
