//! The actions of a key-value client, as a thread's work on a store.
//!
//! Where they only read, and none is due by a schedule, a handful is chosen beforehand and carried out in a row: one ends as the
//! next begins, with one look at the clock between them. What chooses and what records is not called in between, so that neither
//! its time nor what it drives out of the processor's caches is in the store's.

use super::batch::{Batch, BatchEntry};
use super::{Fault, Handle};
use loadcell_core::clock::{self, MICROSECOND, Nanos};
use loadcell_core::record::{Recorder, TRANSACTION};
use loadcell_load::blocking::BlockingClient;
use loadcell_workloads::keyvalue::Client;

/// So many are chosen beforehand: few enough for their keys to be in the processor's caches still when they are carried out.
const AHEAD: u64 = 16;

/// So long they are carried out in a row, before what became of them is put into the record.
const STRETCH: Nanos = 50 * MICROSECOND;

pub struct KvClient<H> {
    handle: H,
    client: Client,
    batch: Batch,
    /// How one goes does not bear on which comes next.
    only_read: bool,
    row: Option<Row>,
}

/// Actions that are carried out in a row: some of those that are chosen.
#[derive(Default)]
struct Row {
    /// The first of them, and the first that is not of them.
    first: usize,
    end: usize,
    /// No other is begun after that.
    until: Nanos,
    /// When each was begun: all but the first as the one before it ended.
    begun: Vec<Nanos>,
    /// How many of them are in the record.
    recorded: usize,
}

impl<H: Handle> KvClient<H> {
    /// Creates a client of a store of `files` files. `only_read`: it has no writes, and its operations may run in a row.
    pub fn new(handle: H, client: Client, only_read: bool, files: usize) -> Self {
        Self { handle, client, batch: Batch::new(files), only_read, row: None }
    }

    /// Puts one that was carried out into the record.
    #[inline]
    fn record_one(
        client: &mut Client,
        entry: &BatchEntry,
        recorder: &mut Recorder,
        sent: Nanos,
        done: Nanos,
    ) {
        match &entry.outcome {
            Ok(()) => {
                let written = entry.written();
                recorder.succeed_single(entry.operation.op, entry.intended, sent, done);
                recorder.queries(done, u64::from(written == 0), u64::from(written > 0), 0);
                recorder.rows_changed(written as u64);
                if let Some(outcome) = client.done() {
                    recorder.start(outcome, entry.intended);
                    recorder.succeed(outcome, entry.intended, sent, done);
                }
            }
            Err(why) => {
                recorder.fail(entry.operation.op, entry.intended, sent, done, why);
                recorder.fail(TRANSACTION, entry.intended, sent, done, why);
                client.failed();
            }
        }
    }

    #[inline]
    fn start(entry: &mut BatchEntry, recorder: &mut Recorder, due: Nanos) {
        entry.intended = due;
        recorder.start_single(entry.operation.op, due);
    }
}

impl<H: Handle> BlockingClient for KvClient<H> {
    fn allow_batching(&mut self) {
        self.row = self.only_read.then(Row::default);
    }

    #[inline]
    fn clear(&mut self) {
        if self.row.is_none() {
            self.batch.clear();
        }
    }

    #[inline]
    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        let Self { client, batch, row, .. } = self;
        let at = match row {
            None => {
                batch.choose(client, due);
                batch.list.len() - 1
            }
            Some(row) => {
                row.first = row.end;
                if row.first == batch.list.len() {
                    batch.clear();
                    row.first = 0;
                    (0..recorder.reserve(AHEAD).max(1)).for_each(|_| batch.choose(client, due));
                }
                let left = (batch.list.len() - row.first) as u64;
                row.end = row.first + recorder.reserve(left).max(1) as usize;
                row.until = recorder.interval_end().min(due + STRETCH);
                row.first
            }
        };
        Self::start(&mut batch.list[at], recorder, due);
    }

    #[inline]
    fn selected(&self) -> usize {
        self.batch.list.len()
    }

    #[inline]
    fn execute(&mut self) -> Result<(), Fault> {
        let Self { handle, client, batch, row, .. } = self;
        let Some(row) = row else { return batch.execute(handle, client) };
        row.recorded = 0;
        row.begun.clear();
        row.begun.push(clock::now());
        let (end, mut at) = (row.end, row.first);
        loop {
            let carried_out = batch.carry_out_read(at, row.first, handle, client);
            at += 1;
            row.end = at;
            if at == end || carried_out.is_err() {
                return carried_out;
            }
            let now = clock::now();
            if now >= row.until {
                return Ok(());
            }
            row.begun.push(now);
        }
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        let row = self.row.as_ref()?;
        row.begun.get(row.recorded + 1).copied()
    }

    /// One in a row has ended, and the next one begun.
    #[inline]
    fn record_event(&mut self, recorder: &mut Recorder) {
        let Self { client, batch, row: Some(row), .. } = self else { return };
        let (at, turn) = (row.first + row.recorded, row.begun[row.recorded + 1]);
        Self::record_one(client, &batch.list[at], recorder, row.begun[row.recorded], turn);
        recorder.record_lateness(0);
        Self::start(&mut batch.list[at + 1], recorder, turn);
        row.recorded += 1;
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Self { client, batch, row, .. } = self;
        if let Some(row) = row {
            let entry = &batch.list[row.first + row.recorded];
            return Self::record_one(client, entry, recorder, row.begun[row.recorded], done);
        }
        let mut read = 0;
        for at in 0..batch.list.len() {
            batch.judge(at, &mut read, client);
            Self::record_one(client, &batch.list[at], recorder, sent, done);
        }
    }
}
