//! The loop of one connection: it sends records, waits, and reads answers.
//!
//! Sending never waits in the kernel: what the socket does not take is offered again when it has room. In a
//! closed loop records are due as fast as the socket takes them. In an open loop they are due by a schedule;
//! those that cannot be offered yet are the backlog.

mod loss;

pub use loss::Survivors;

use std::collections::VecDeque;
use std::io;

use super::batch::Batch;
use super::connection::{Arrived, Connection};
use super::judge::{End, Judge, failure};
use super::lines::FILE;
use super::runs::Times;
use super::source::{Source, Stop};
use super::totals::Totals;
use loadcell_core::clock::{self, MILLISECOND, Nanos};
use loadcell_core::error::Failure;
use loadcell_core::pace::Pacer;
use loadcell_core::record::{LifetimeCounts, TRANSACTION};
use loadcell_load::reactor::{ThreadContext, ThreadState};

/// Period in which the bytes that the peer has not acknowledged are sampled.
const SAMPLE_PERIOD: Nanos = 10 * MILLISECOND;

/// Batches that are sent before the socket is asked for input that no judge waits for.
const BATCHES_BETWEEN_POLLS: u32 = 64;

/// Reads before records are sent again: a service that answers without end does not keep them from it.
const READS_AT_ONCE: usize = 16;

#[cold]
fn no_more_lines() -> Failure {
    failure(FILE, "the file has no more lines")
}

/// Limits of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Limit of an answer, and of a write of which the socket takes nothing.
    pub timeout_ns: Option<Nanos>,
    /// Limit of records in progress at the end.
    pub drain_ns: Nanos,
}

/// State of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Records are sent.
    Sending,
    /// All records are sent, and the sending half is shut down.
    Ended,
    /// The peer has closed the connection after that.
    Closed,
    /// The connection is lost: it failed before all was sent or answered.
    Lost,
}

/// Everything of a connection apart from its thread.
pub struct Parts {
    pub connection: Connection,
    pub source: Source,
    /// Has the records of a source that replays them.
    pub batch: Batch,
    pub judge: Box<dyn Judge>,
    /// The judge waits for answers.
    pub answered: bool,
    pub limits: Limits,
    pub survivors: Survivors,
}

pub struct StreamLoop<P> {
    thread: ThreadState<P>,
    parts: Parts,
    stage: Stage,
    /// Why the connection was lost while others continue the load.
    retired: Option<Failure>,
    totals: Totals,
    /// The clock as it was read last.
    now: Nanos,
    /// When the records of the batch were first offered; none if they have not been.
    offered_at: Option<Nanos>,
    /// Intended starts of records that have started and are not offered yet (open loop).
    dues: VecDeque<Nanos>,
    /// Reason why the source ended the batch early.
    stop: Option<Stop>,
    /// The quota or the source is exhausted.
    exhausted: bool,
    /// The number of records until the end of the source is known to the recorder (open loop).
    is_ending: bool,
    /// The last write took less than it was given; and since when no byte was taken.
    is_full: bool,
    blocked_since: Option<Nanos>,
    /// When the batch was last sent completely.
    idle_since: Nanos,
    /// When something was last received.
    received_at: Nanos,
    next_sample: Nanos,
    batches: u32,
}

impl<P: Pacer> StreamLoop<P> {
    /// The loop of client `number`, which is connected. To be created and run on its own thread.
    pub fn new(number: u32, parts: Parts, context: ThreadContext, pacer: P) -> io::Result<Self> {
        let mut thread = ThreadState::new(context, pacer)?;
        parts.connection.register(&thread.epoll)?;
        let now = clock::now();
        thread.recorder.set_client(number);
        thread.on_connected(now, false);
        Ok(Self {
            thread,
            parts,
            stage: Stage::Sending,
            retired: None,
            totals: Totals::default(),
            now,
            offered_at: None,
            dues: VecDeque::new(),
            stop: None,
            exhausted: false,
            is_ending: false,
            is_full: false,
            blocked_since: None,
            idle_since: now,
            received_at: now,
            next_sample: 0,
            batches: 0,
        })
    }

    /// Runs the load as the control says. Returns all that was counted.
    pub fn run(mut self) -> io::Result<(LifetimeCounts, Totals)> {
        loop {
            self.thread.advance(self.now);
            if self.thread.apply_control() {
                (self.exhausted, self.is_ending) = (false, false);
                self.thread.advance(self.now);
            }
            self.thread.report_bounds(self.now);
            if self.is_over() {
                return Ok(self.finish());
            }
            self.fail_unsent();
            let handled = self.send().and_then(|()| self.expire());
            if let Err(why) = handled {
                self.lose(&why);
            }
            self.wait()?;
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Sending | Stage::Ended)
    }

    /// True when the thread has nothing more to do.
    fn is_over(&self) -> bool {
        let ThreadState { control, window, .. } = &self.thread;
        if control.is_abandoned() {
            return true;
        }
        let in_progress = self.parts.judge.outstanding() > 0 || !self.dues.is_empty();
        self.now >= window.end && (!in_progress || self.now >= self.drain_end())
    }

    fn drain_end(&self) -> Nanos {
        self.thread.window.end.saturating_add(self.parts.limits.drain_ns)
    }

    /// Offers the batch to the socket, and fills the next one. Ends the sending half after the last record.
    #[inline]
    fn send(&mut self) -> Result<(), Failure> {
        if self.stage != Stage::Sending || self.is_full {
            return Ok(());
        }
        if self.parts.batch.is_empty() {
            self.fill()?;
        }
        if !self.parts.batch.is_empty() {
            return self.write();
        }
        if self.has_sent_all() {
            self.parts.connection.end_writing();
            self.stage = Stage::Ended;
        }
        Ok(())
    }

    /// True if no record follows.
    fn has_sent_all(&self) -> bool {
        let ThreadState { window, admit_from, admit_until, .. } = &self.thread;
        // A bounded load is continued after its warm-up.
        window.start != Nanos::MAX
            && self.now >= *admit_from
            && (self.now >= *admit_until || self.exhausted)
            && self.dues.is_empty()
    }

    /// Fills the empty batch with records that are due.
    #[inline]
    fn fill(&mut self) -> Result<(), Failure> {
        let now = self.now;
        if let Some(stop) = self.stop.take() {
            self.handle_stop(stop)?;
        }
        let admitted = (self.thread.admit_from..self.thread.admit_until).contains(&now);
        if !admitted && self.dues.is_empty() {
            return Ok(());
        }
        let Parts { source, judge, .. } = &mut self.parts;
        let room = judge.room(now, &mut self.thread.recorder).min(source.batch_records());
        let most = if P::SCHEDULED { self.start_due(room, admitted) } else { self.reserve(room) };
        if most > 0 {
            let Parts { source, batch, .. } = &mut self.parts;
            let filled = source.fill(most, batch);
            self.stop = filled.stop;
            self.offered_at = None;
            if filled.records == 0 {
                self.now = clock::now(); // Nothing is written, after which it is read otherwise.
            }
            if self.stop == Some(Stop::Ended) {
                self.end_source(filled.records);
            }
        }
        Ok(())
    }

    /// Number of records that a closed loop may send.
    #[inline]
    fn reserve(&mut self, room: u64) -> u64 {
        if room == 0 {
            return 0;
        }
        let most = self.thread.recorder.reserve(room);
        self.exhausted = most == 0;
        most
    }

    /// Starts the records of an open loop that are due, as far as there is room. Returns their number.
    #[inline]
    fn start_due(&mut self, room: u64, admitted: bool) -> u64 {
        let (now, idle_since) = (self.now, self.idle_since);
        let ThreadState { pacer, recorder, .. } = &mut self.thread;
        if !self.is_ending
            && let Some(remaining) = self.parts.source.remaining()
        {
            // Those that are due already are among the remaining ones.
            let due = recorder.in_progress() - self.parts.judge.outstanding();
            recorder.limit_quota(remaining.saturating_sub(due));
            self.is_ending = true;
        }
        if admitted {
            pacer.mark_due_until(now + 1, recorder);
        }
        while admitted && (self.dues.len() as u64) < room {
            let due = pacer.due(now);
            if due > now {
                self.exhausted = due == Nanos::MAX;
                break;
            }
            if idle_since > due {
                recorder.record_backlog_wait(now - due);
            } else {
                recorder.record_lateness(now - due);
            }
            pacer.start_next(recorder);
            self.dues.push_back(due);
        }
        room.min(self.dues.len() as u64)
    }

    /// Ends the load of the connection after `last` more records, the last ones of the source. Records that a
    /// number of records lacks fail.
    #[cold]
    fn end_source(&mut self, last: u64) {
        let (now, recorder) = (self.now, &mut self.thread.recorder);
        let missing = recorder.take_quota_of_clients().saturating_sub(if P::SCHEDULED { 0 } else { last });
        recorder.end_quota();
        if missing == 0 {
            return;
        }
        if P::SCHEDULED {
            (0..missing).for_each(|_| recorder.mark_due(now));
        }
        recorder.start_many(now, missing);
        recorder.fail_many(now, now, now, &no_more_lines(), missing);
    }

    /// Handles what followed the last batch in the source.
    #[cold]
    fn handle_stop(&mut self, stop: Stop) -> Result<(), Failure> {
        match stop {
            Stop::Rejected(why) => {
                let (now, recorder) = (self.now, &mut self.thread.recorder);
                let due = self.dues.pop_front().unwrap_or(now);
                recorder.start(TRANSACTION, due);
                recorder.fail(TRANSACTION, due, now, now, &why);
                self.parts.judge.skip();
                Ok(())
            }
            Stop::Ended => {
                self.exhausted = true;
                self.fail_dues(&no_more_lines());
                Ok(())
            }
            Stop::Broken(why) => Err(why),
        }
    }

    /// Offers the batch to the socket.
    #[inline]
    fn write(&mut self) -> Result<(), Failure> {
        if self.offered_at.is_none() {
            self.offer();
        }
        let Parts { connection, batch, judge, .. } = &mut self.parts;
        let unsent = batch.unsent();
        let most = unsent.len();
        let result = connection.write(unsent);
        let done = clock::now();
        self.now = done;
        match result {
            Ok(bytes) => {
                let thread = &mut self.thread;
                thread.advance(done);
                self.totals.sent_bytes += bytes as u64;
                let records = batch.take(bytes);
                if records > 0 {
                    self.totals.sent_records += records;
                    judge.take(records, done, &mut thread.recorder);
                }
                if let Some(since) = self.blocked_since.take() {
                    self.add_blocked(since, done);
                }
                if bytes < most {
                    (self.is_full, self.blocked_since) = (true, Some(done));
                } else {
                    self.idle_since = done;
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_full = true;
                self.blocked_since.get_or_insert(done);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => {
                // What the peer said before it closed may still be read.
                connection.expect_input();
                self.read_all()?;
                Err(error.into())
            }
        }
    }

    /// Notes that the records of the batch are offered to the kernel now.
    #[inline]
    fn offer(&mut self) {
        let sent = clock::now();
        self.thread.advance(sent);
        let Self { thread, parts, dues, totals, .. } = self;
        let count = parts.batch.open_records();
        let keys = &parts.batch.keys;
        if P::SCHEDULED {
            for (index, due) in dues.drain(..count as usize).enumerate() {
                let key = keys.get(index..=index).unwrap_or_default();
                parts.judge.offer(1, Times { due, sent }, key);
            }
        } else {
            thread.recorder.start_many(sent, count);
            parts.judge.offer(count, Times { due: sent, sent }, keys);
        }
        if totals.first_sent.is_none() && sent >= thread.window.start {
            totals.first_sent = Some(sent);
        }
        totals.outstanding_max = totals.outstanding_max.max(parts.judge.outstanding());
        self.offered_at = Some(sent);
    }

    /// Adds a span in which the socket took nothing, as far as it lies within the measurement.
    fn add_blocked(&mut self, since: Nanos, until: Nanos) {
        let window = &self.thread.window;
        self.totals.blocked_ns += until.min(window.end).saturating_sub(since.max(window.start));
    }

    /// Waits for input, for room in the socket, or for the next instant, and reads what has arrived.
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        let due = self.next_due();
        if due <= self.now && !P::SCHEDULED {
            self.batches += 1;
            if !self.parts.answered && !self.batches.is_multiple_of(BATCHES_BETWEEN_POLLS) {
                return Ok(());
            }
        }
        let until = self.next_deadline();
        let ThreadState { epoll, precise_wait, recorder, .. } = &mut self.thread;
        let count = match due {
            Nanos::MAX => epoll.wait(until)?,
            due if due <= self.now => epoll.sleep(0)?,
            due => {
                let count = precise_wait.wait(epoll, until, due)?;
                recorder.add_busy_wait(precise_wait.take_busy_wait_ns());
                count
            }
        };
        self.now = clock::now();
        let mut readable = self.parts.connection.has_more();
        for index in 0..count {
            if let Some((token, readiness)) = self.thread.epoll.event(index) {
                self.is_full &= !readiness.writable();
                readable |= self.parts.connection.note(token, readiness);
            }
        }
        self.sample();
        if readable
            && self.is_open()
            && let Err(why) = self.read_all()
        {
            self.lose(&why);
        }
        Ok(())
    }

    /// Instant at which a record can be offered; `Nanos::MAX` if that depends on the peer or a decision.
    #[inline]
    fn next_due(&self) -> Nanos {
        let thread = &self.thread;
        if self.is_open() && self.parts.connection.has_more() {
            return self.now; // Input waits that is reported no more.
        }
        if self.stage != Stage::Sending || self.is_full {
            return Nanos::MAX;
        }
        if !self.parts.batch.is_empty() || !self.dues.is_empty() || self.stop.is_some() {
            return self.now;
        }
        if self.now < thread.admit_from {
            return thread.admit_from;
        }
        if self.now >= thread.admit_until || self.exhausted {
            return Nanos::MAX;
        }
        if self.parts.judge.is_full() { Nanos::MAX } else { thread.pacer.due(self.now) }
    }

    /// Next instant at which something is to be done without an event.
    #[inline]
    fn next_deadline(&self) -> Nanos {
        let ThreadState { recorder, warmup_end, window, admit_until, .. } = &self.thread;
        let after_now = |at: Nanos| if at > self.now { at } else { Nanos::MAX };
        let mut until = recorder.interval_end().min(after_now(*warmup_end)).min(after_now(*admit_until));
        until = until.min(if window.end > self.now { window.end } else { self.drain_end() });
        until = until.min(self.quiet_limit().map_or(Nanos::MAX, after_now));
        if self.retired.is_some() {
            let unsent = if P::SCHEDULED { self.thread.pacer.due(self.now) } else { Nanos::MAX };
            until = until.min(unsent.max(self.now + MILLISECOND)).min(after_now(self.thread.admit_from));
        }
        if self.is_open() {
            if let Some(timeout) = self.parts.limits.timeout_ns {
                let oldest = self.blocked_since.into_iter().chain(self.parts.judge.oldest_sent()).min();
                // A sweep comes a little later, so that it is not repeated without effect.
                until =
                    until.min(oldest.map_or(Nanos::MAX, |since| since.saturating_add(timeout + MILLISECOND)));
            }
            if self.next_sample > 0 && self.now < window.end {
                until = until.min(self.next_sample.max(self.now + MILLISECOND));
            }
        }
        until
    }

    /// Samples the bytes that the peer has not acknowledged, within the measurement.
    #[inline]
    fn sample(&mut self) {
        let window = &self.thread.window;
        if self.now < self.next_sample || !self.is_open() || !(window.start..window.end).contains(&self.now) {
            return;
        }
        self.next_sample = self.now + SAMPLE_PERIOD;
        if let Ok(bytes) = self.parts.connection.unacknowledged() {
            self.totals.unacknowledged.add(bytes);
        }
    }

    /// Reads and judges what has arrived, or a part of it if it is much.
    fn read_all(&mut self) -> Result<(), Failure> {
        for _ in 0..READS_AT_ONCE {
            let Parts { connection, judge, answered, .. } = &mut self.parts;
            let arrived = connection.read()?;
            let now = clock::now();
            self.now = now;
            self.thread.advance(now);
            let recorder = &mut self.thread.recorder;
            match arrived {
                Arrived::Nothing => return Ok(()),
                Arrived::Bytes(count) => {
                    self.received_at = now;
                    recorder.received(count);
                    if !*answered {
                        connection.discard();
                        continue;
                    }
                    let judged = connection.lines(|line| judge.answer(line, now, recorder));
                    judge.flush(now, recorder);
                    judged?;
                }
                Arrived::End => return self.on_end(),
            }
        }
        Ok(())
    }

    /// Ends the connection. Returns all that was counted.
    fn finish(mut self) -> (LifetimeCounts, Totals) {
        let now = clock::now();
        self.thread.advance(now);
        if let Some(since) = self.blocked_since.take().filter(|_| self.is_open()) {
            self.add_blocked(since, now);
        }
        self.parts.judge.end(&End::Unfinished, now, &mut self.thread.recorder);
        self.now = now;
        self.fail_dues(&End::Unfinished.failure(false));
        self.totals.judged = self.parts.judge.judged();
        self.parts.connection.close();
        (self.thread.recorder.finish(), self.totals)
    }
}
