//! Key-value client on an embedded store.
//!
//! Read-only closed loops choose several operations in advance and execute them back to back, with one clock
//! reading between two of them. Choosing and recording are outside of this run, so that their time and cache
//! misses are not attributed to the store.

use super::batch::{Batch, BatchEntry};
use super::{Fault, Handle};
use loadcell_core::clock::{self, MICROSECOND, Nanos};
use loadcell_core::record::{Recorder, TRANSACTION};
use loadcell_load::blocking::BlockingClient;
use loadcell_workloads::keyvalue::Client;

/// Number of operations chosen in advance; small, so that their keys stay in the CPU caches.
const LOOKAHEAD: u64 = 16;

/// Duration of a back-to-back run before its operations are recorded.
const RUN_DURATION: Nanos = 50 * MICROSECOND;

pub struct KvClient<H> {
    handle: H,
    client: Client,
    batch: Batch,
    /// Outcomes do not affect later operations.
    only_read: bool,
    run: Option<Run>,
}

/// A back-to-back run: a range of the chosen operations.
#[derive(Default)]
struct Run {
    /// Range of its operations.
    first: usize,
    end: usize,
    /// No operation starts after this.
    until: Nanos,
    /// Start of each operation; all but the first start at the end of the previous one.
    begun: Vec<Nanos>,
    /// Number of recorded operations.
    recorded: usize,
}

impl<H: Handle> KvClient<H> {
    /// Client in a store of `files` files. `only_read`: it never writes, so its operations may run back to
    /// back.
    pub fn new(handle: H, client: Client, only_read: bool, files: usize) -> Self {
        Self { handle, client, batch: Batch::new(files), only_read, run: None }
    }

    /// Record one executed operation.
    #[inline]
    fn record_entry(
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
        self.run = self.only_read.then(Run::default);
    }

    #[inline]
    fn clear(&mut self) {
        if self.run.is_none() {
            self.batch.clear();
        }
    }

    #[inline]
    fn select(&mut self, recorder: &mut Recorder, due: Nanos) {
        let Self { client, batch, run, .. } = self;
        let at = match run {
            None => {
                batch.choose(client, due);
                batch.list.len() - 1
            }
            Some(run) => {
                run.first = run.end;
                if run.first == batch.list.len() {
                    batch.clear();
                    run.first = 0;
                    (0..recorder.reserve(LOOKAHEAD).max(1)).for_each(|_| batch.choose(client, due));
                }
                let remaining = (batch.list.len() - run.first) as u64;
                run.end = run.first + recorder.reserve(remaining).max(1) as usize;
                run.until = recorder.interval_end().min(due + RUN_DURATION);
                run.first
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
        let Self { handle, client, batch, run, .. } = self;
        let Some(run) = run else { return batch.execute(handle, client) };
        run.recorded = 0;
        run.begun.clear();
        run.begun.push(clock::now());
        let (end, mut at) = (run.end, run.first);
        loop {
            let carried_out = batch.execute_read(at, run.first, handle, client);
            at += 1;
            run.end = at;
            if at == end || carried_out.is_err() {
                return carried_out;
            }
            let now = clock::now();
            if now >= run.until {
                return Ok(());
            }
            run.begun.push(now);
        }
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        let run = self.run.as_ref()?;
        run.begun.get(run.recorded + 1).copied()
    }

    /// Record the end of one operation of a run and the start of the next.
    #[inline]
    fn record_event(&mut self, recorder: &mut Recorder) {
        let Self { client, batch, run: Some(run), .. } = self else { return };
        let (at, turn) = (run.first + run.recorded, run.begun[run.recorded + 1]);
        Self::record_entry(client, &batch.list[at], recorder, run.begun[run.recorded], turn);
        recorder.record_lateness(0);
        Self::start(&mut batch.list[at + 1], recorder, turn);
        run.recorded += 1;
    }

    #[inline]
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos) {
        let Self { client, batch, run, .. } = self;
        if let Some(run) = run {
            let entry = &batch.list[run.first + run.recorded];
            return Self::record_entry(client, entry, recorder, run.begun[run.recorded], done);
        }
        let mut read = 0;
        for at in 0..batch.list.len() {
            batch.check(at, &mut read, client);
            Self::record_entry(client, &batch.list[at], recorder, sent, done);
        }
    }
}
