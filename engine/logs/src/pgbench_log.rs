//! pgbench's log of every transaction (`-l`): client, number, time (microseconds, or a word), script, second,
//! microsecond, and perhaps more.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::digits::{ended, exactly, number, past};
use super::ledger::Ledger;
use super::lines::{self, Lines, Unfinished};
use super::unread::Unread;
use loadcell_core::observe::Observer;

/// A run has no more clients than this; a larger number is no client.
const MOST_CLIENTS: i64 = 1 << 20;
/// Far beyond any clock: a larger number is no second since 1970.
const MOST_S: i64 = 1 << 40;
/// pgbench has four (`failed`, `serialization`, `deadlock`, `skipped`); no log is believed to have more than
/// this.
const MOST_WORDS: usize = 16;
const TICKS_PER_MS: u32 = 1000;

/// Reads the logs of one execution, one for each of its threads.
///
/// `{"count", "length_s", "began_s", "clients", "words", "response", "intervals", "unread", "examples"}`:
/// `words` stand in place of the times of transactions that failed or were skipped; `intervals` are columns,
/// see [`Ledger`]. Where no transaction ended, only `count`, `words`, `unread` and `examples` are there.
pub fn pgbench_log(files: &[PathBuf], observer: &mut dyn Observer) -> Result<Value, Unfinished> {
    let mut log = Log::default();
    lines::read(files, &mut log, observer)?;
    Ok(log.summary())
}

pub struct Log {
    ledger: Ledger,
    clients: Vec<bool>,
    words: BTreeMap<String, u64>,
    unread: Unread,
}

impl Default for Log {
    fn default() -> Self {
        let ledger = Ledger::new(TICKS_PER_MS, None);
        Self { ledger, clients: Vec::new(), words: BTreeMap::new(), unread: Unread::default() }
    }
}

struct Transaction {
    client: usize,
    ticks: u64,
    end_s: f64,
    next: usize,
}

impl lines::Reader for Log {
    fn take(&mut self, lines: Lines<'_>) {
        let mut at = lines.begin;
        while at < lines.end {
            at = match transaction(lines.bytes, at) {
                Some(transaction) => {
                    self.count(&transaction);
                    transaction.next
                }
                None => self.odd(lines.bytes, at),
            };
        }
    }

    fn too_long(&mut self, begin: &[u8]) {
        self.unread.add(begin);
    }
}

/// The transaction whose line begins at `at`; none if it is no whole one, or did not succeed. Ignored fields
/// may hold anything.
#[inline(always)]
fn transaction(bytes: &[u8], at: usize) -> Option<Transaction> {
    let (client, at) = number(bytes, at)?;
    let at = past(bytes, exactly(bytes, at, b' ')?, b' ')?;
    let (ticks, at) = number(bytes, at)?;
    let at = past(bytes, exactly(bytes, at, b' ')?, b' ')?;
    let (second, at) = number(bytes, at)?;
    let (microsecond, at) = number(bytes, exactly(bytes, at, b' ')?)?;
    let next = ended(bytes, at, b' ')?;
    let end_s = second as f64 + microsecond as f64 * 1e-6;
    (client < MOST_CLIENTS && second < MOST_S).then_some(Transaction {
        client: client as usize,
        ticks: ticks as u64,
        end_s,
        next,
    })
}

impl Log {
    #[inline(always)]
    fn count(&mut self, transaction: &Transaction) {
        match self.clients.get_mut(transaction.client) {
            Some(seen) => *seen = true,
            None => self.add_client(transaction.client),
        }
        self.ledger.add(transaction.end_s, transaction.ticks);
    }

    #[cold]
    fn add_client(&mut self, client: usize) {
        self.clients.resize(client + 1, false);
        self.clients[client] = true;
    }

    /// Skips a line that is not a successful transaction.
    #[cold]
    fn odd(&mut self, bytes: &[u8], begin: usize) -> usize {
        let end = memchr::memchr(b'\n', &bytes[begin..]).map_or(bytes.len(), |length| begin + length);
        let line = &bytes[begin..end];
        match word(line) {
            Some(word) if self.words.len() < MOST_WORDS || self.words.contains_key(word) => {
                *self.words.entry(word.into()).or_default() += 1;
            }
            _ => self.unread.add(line),
        }
        end + 1
    }

    pub fn summary(mut self) -> Value {
        let mut summary = json!({"count": self.ledger.times.count, "words": self.words});
        summary["unread"] = self.unread.count.into();
        summary["examples"] = self.unread.examples.into();
        if self.ledger.times.count > 0 {
            summary["length_s"] = self.ledger.length_s().into();
            summary["began_s"] = self.ledger.begun_s.into();
            summary["clients"] = self.clients.iter().filter(|seen| **seen).count().into();
            summary["response"] = self.ledger.times.response().into();
            summary["intervals"] = self.ledger.intervals();
        }
        summary
    }
}

/// Word in place of the time of a transaction that failed or was skipped; none if the line is not of the log.
fn word(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line.trim_ascii()).ok()?;
    let is_number = |field: &str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    let mut fields = line.split(' ');
    let client = fields.next().filter(|client| client.len() <= 8 && is_number(client));
    let counted = fields.next().filter(|number| is_number(number));
    let word = fields.next()?;
    let others: Vec<&str> = fields.collect();
    (client.is_some()
        && counted.is_some()
        && !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_lowercase())
        && others.len() >= 3
        && others.into_iter().all(is_number))
    .then_some(word)
}
