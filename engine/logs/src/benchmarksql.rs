//! BenchmarkSQL's result.csv: run, elapsed and latency (milliseconds), dblatency, type, rbk, dskipped, error.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::digits::{ended, exactly, number, past, signed};
use super::ledger::Ledger;
use super::lines::{self, Lines, Unfinished};
use super::times::Times;
use super::unread::Unread;
use loadcell_core::observe::Observer;

const HEAD: &[u8] = b"run,elapsed,latency,dblatency,ttype,rbk,dskipped,error";
const BOM: &[u8] = b"\xef\xbb\xbf";
/// With the comma behind them. The last is the deferred part of a delivery, which has a separate row and
/// counts in nothing.
const TYPES: [&[u8]; 6] =
    [b"NEW_ORDER,", b"PAYMENT,", b"ORDER_STATUS,", b"STOCK_LEVEL,", b"DELIVERY,", b"DELIVERY_BG,"];
const COUNTED: usize = 5;
/// One session has one number, and a table one or two sessions.
const MOST_RUNS: usize = 1_000;
/// Thirty thousand years.
const MOST_MS: i64 = 1 << 50;
const TICKS_PER_MS: u32 = 1;

/// Reads one table, perhaps in several files.
///
/// `{"runs": [{"run", "ended_s", "count", "response", "failed", "types": {name: {"count", "failed",
/// "response"}}, "rolled_back": {"count", "response"}, "intervals"}], "unread", "examples"}`; `intervals` are
/// columns, see [`Ledger`].
pub fn benchmarksql(files: &[PathBuf], observer: &mut dyn Observer) -> Result<Value, Unfinished> {
    let mut table = Table::default();
    lines::read(files, &mut table, observer)?;
    Ok(table.summary())
}

#[derive(Default)]
pub struct Table {
    runs: Vec<Run>,
    /// Which run the last row was of.
    last: usize,
    unread: Unread,
}

struct Run {
    number: i64,
    all: Ledger,
    types: [Times; COUNTED],
    failed: [u64; COUNTED],
    rolled_back: Times,
    ended_ms: i64,
}

struct Row {
    run: i64,
    elapsed_ms: i64,
    latency_ms: u64,
    kind: usize,
    rolled_back: bool,
    failed: bool,
    next: usize,
}

impl lines::Reader for Table {
    fn take(&mut self, lines: Lines<'_>) {
        let mut at = lines.begin;
        while at < lines.end {
            at = match row(lines.bytes, at) {
                Some(row) if self.count(&row) => row.next,
                _ => self.odd(lines.bytes, at),
            };
        }
    }

    fn too_long(&mut self, begin: &[u8]) {
        self.unread.add(begin);
    }
}

/// The row that begins at `at`; none if it is no whole one. What is in columns that count for nothing does
/// not matter.
#[inline(always)]
fn row(bytes: &[u8], at: usize) -> Option<Row> {
    let (run, at) = signed(bytes, at)?;
    let (elapsed_ms, at) = number(bytes, exactly(bytes, at, b',')?)?;
    let (latency_ms, at) = number(bytes, exactly(bytes, at, b',')?)?;
    let at = past(bytes, exactly(bytes, at, b',')?, b',')?;
    let (kind, at) = kind(bytes, at)?;
    let (rolled_back, at) = signed(bytes, at)?;
    let at = past(bytes, exactly(bytes, at, b',')?, b',')?;
    let (error, at) = signed(bytes, at)?;
    let next = ended(bytes, at, b',')?;
    (elapsed_ms < MOST_MS).then_some(Row {
        run,
        elapsed_ms,
        latency_ms: latency_ms as u64,
        kind,
        rolled_back: rolled_back != 0,
        failed: error != 0,
        next,
    })
}

#[inline(always)]
fn kind(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let kind = match bytes[at] {
        b'N' => 0,
        b'P' => 1,
        b'O' => 2,
        b'S' => 3,
        _ if bytes[at..].starts_with(TYPES[4]) => 4,
        _ => 5,
    };
    bytes[at..].starts_with(TYPES[kind]).then_some((kind, at + TYPES[kind].len()))
}

impl Table {
    /// Counts the row. Returns false if its run is not among those counted.
    #[inline(always)]
    fn count(&mut self, row: &Row) -> bool {
        match self.runs.get_mut(self.last) {
            Some(run) if run.number == row.run => run.count(row),
            _ => match self.of(row.run) {
                Some(run) => run.count(row),
                None => return false,
            },
        }
        true
    }

    #[cold]
    fn of(&mut self, number: i64) -> Option<&mut Run> {
        let index = self.runs.iter().position(|run| run.number == number);
        if index.is_none() && self.runs.len() == MOST_RUNS {
            return None;
        }
        self.last = index.unwrap_or_else(|| {
            self.runs.push(Run::new(number));
            self.runs.len() - 1
        });
        Some(&mut self.runs[self.last])
    }

    #[cold]
    fn odd(&mut self, bytes: &[u8], begin: usize) -> usize {
        let end = memchr::memchr(b'\n', &bytes[begin..]).map_or(bytes.len(), |length| begin + length);
        let line = &bytes[begin..end];
        // The head of this table, or of a further one that was joined to it, counts for nothing.
        if !line.strip_prefix(BOM).unwrap_or(line).starts_with(HEAD) {
            self.unread.add(line);
        }
        end + 1
    }

    pub fn summary(self) -> Value {
        let runs: Vec<Value> = self.runs.into_iter().map(Run::summary).collect();
        json!({"runs": runs, "unread": self.unread.count, "examples": self.unread.examples})
    }
}

impl Run {
    fn new(number: i64) -> Self {
        Self {
            number,
            // Elapsed counts from the session's start, when all terminals began.
            all: Ledger::new(TICKS_PER_MS, Some(0.0)),
            types: std::array::from_fn(|_| Times::new(TICKS_PER_MS)),
            failed: [0; COUNTED],
            rolled_back: Times::new(TICKS_PER_MS),
            ended_ms: 0,
        }
    }

    #[inline(always)]
    fn count(&mut self, row: &Row) {
        self.ended_ms = self.ended_ms.max(row.elapsed_ms);
        if row.kind >= COUNTED {
            return;
        }
        if row.failed {
            self.failed[row.kind] += 1;
            return;
        }
        self.all.add(row.elapsed_ms as f64 / 1e3, row.latency_ms);
        self.types[row.kind].add(row.latency_ms);
        if row.rolled_back {
            self.rolled_back.add(row.latency_ms);
        }
    }

    fn summary(mut self) -> Value {
        let times_summary = |times: &Times| json!({"count": times.count, "response": times.response()});
        let types = self.types.iter().zip(self.failed).zip(TYPES).map(|((times, failed), name)| {
            let name = String::from_utf8_lossy(&name[..name.len() - 1]).into_owned();
            let mut summary = times_summary(times);
            summary["failed"] = failed.into();
            (name, summary)
        });
        let types: Map<String, Value> = types.collect();
        let mut summary = times_summary(&self.all.times);
        summary["run"] = self.number.into();
        summary["ended_s"] = (self.ended_ms as f64 / 1e3).into();
        summary["failed"] = self.failed.iter().sum::<u64>().into();
        summary["types"] = types.into();
        summary["rolled_back"] = times_summary(&self.rolled_back);
        summary["intervals"] = self.all.intervals();
        summary
    }
}
