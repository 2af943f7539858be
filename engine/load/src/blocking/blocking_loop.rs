//! The loop of one blocking client: it selects operations, executes them by a call, and records them.
//!
//! Unlike a reactor it waits only for the instant at which an operation is due: an operation has ended when
//! its call returns. Service time begins when everything is ready for the call, and ends when the call has
//! returned.

use std::io;

use super::Fault;
use crate::reactor::{ThreadContext, ThreadState};
use loadcell_core::clock::{self, Nanos};
use loadcell_core::pace::Pacer;
use loadcell_core::record::{LifetimeCounts, Recorder};

/// One client whose operations are calls: selects, executes and records them.
pub trait BlockingClient {
    /// Permits several operations within one `execute`, one after another. Called in a closed loop without
    /// batches. The first operation is the selected one; the others are reported by `next_event` and
    /// `record_event`.
    fn allow_batching(&mut self) {}

    /// Clears the selection.
    fn clear(&mut self);

    /// Selects one more operation, due at `due`, and records its start.
    fn select(&mut self, recorder: &mut Recorder, due: Nanos);

    /// Number of selected operations.
    fn selected(&self) -> usize;

    /// Executes the selection. After an error the client cannot be used any longer.
    fn execute(&mut self) -> Result<(), Fault>;

    /// Instant of the oldest event of the last `execute` that is not yet recorded.
    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        None
    }

    /// Records that event.
    fn record_event(&mut self, _: &mut Recorder) {}

    /// Records the execution from `sent` to `done`.
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos);

    /// Returns true while earlier operations are in progress: `execute` is then called even if nothing more
    /// may start.
    fn is_unfinished(&self) -> bool {
        false
    }
}

/// Runs one client on its own thread.
pub struct BlockingLoop<P, C> {
    client: C,
    max_batch: usize,
    thread: ThreadState<P>,
    /// The client is out of quota, and rests.
    resting: bool,
    /// The clock as it was read last.
    now: Nanos,
    /// End of the client's last operation.
    idle_since: Nanos,
    /// Time within the open interval that selecting, recording and pacing took, as opposed to the client's
    /// calls.
    overhead_ns: Nanos,
    /// CPU time of the thread when the interval began.
    cpu_ns: Nanos,
}

impl<P: Pacer, C: BlockingClient> BlockingLoop<P, C> {
    /// Creates the loop of client `number`, which executes at most `max_batch` operations by one call. To be
    /// created and run on its own thread.
    pub fn new(
        number: u32,
        mut client: C,
        max_batch: usize,
        context: ThreadContext,
        pacer: P,
    ) -> io::Result<Self> {
        let mut thread = ThreadState::new(context, pacer)?;
        if !P::SCHEDULED && max_batch == 1 {
            client.allow_batching();
        }
        let now = clock::now();
        thread.recorder.set_client(number);
        thread.on_connected(now, false);
        let cpu_ns = clock::thread_cpu();
        Ok(Self { client, max_batch, thread, resting: false, now, idle_since: now, overhead_ns: 0, cpu_ns })
    }

    /// Runs the load as the control says. Returns all that was counted.
    pub fn run(mut self) -> io::Result<LifetimeCounts> {
        let mut usable = true;
        loop {
            let now = self.now;
            self.advance(now);
            self.thread.apply_control();
            self.advance(now); // A decision may have ended an interval.
            self.thread.report_bounds(now);
            let ThreadState { control, window, admit_from, admit_until, .. } = &self.thread;
            if control.is_abandoned() || now >= window.end {
                return Ok(self.thread.recorder.finish());
            }
            if now < *admit_from {
                self.wait(*admit_from)?;
                continue;
            }
            let closed = now >= *admit_until;
            let unfinished =
                usable && self.client.is_unfinished() && (closed || self.thread.recorder.reserve(1) == 0);
            if !unfinished && (closed || !usable || !self.reserve_or_idle(now)) {
                self.wait(Nanos::MAX)?;
                continue;
            }
            let due = if unfinished { now } else { self.next_due(now) };
            if due > now {
                self.wait(due)?;
                continue;
            }
            let executed = if unfinished { self.execute(now) } else { self.start(due, now) };
            if let Err(fault) = executed {
                // The client is lost; the load ends when all are.
                usable = false;
                self.thread.recorder.report_error(self.now, &fault.code, &fault.message);
                self.thread.on_disconnected(self.now);
            }
        }
    }

    /// Reserves one transaction of a closed loop's quota. Returns false when there is none: the client rests.
    #[inline]
    fn reserve_or_idle(&mut self, now: Nanos) -> bool {
        let recorder = &mut self.thread.recorder;
        if P::SCHEDULED || recorder.reserve(1) > 0 {
            return true;
        }
        if !std::mem::replace(&mut self.resting, true) {
            recorder.begin_think_time(now);
        }
        false
    }

    /// Instant of the next operation, which may be past; `Nanos::MAX` if there is none.
    #[inline]
    fn next_due(&mut self, now: Nanos) -> Nanos {
        let ready_since = self.ready_since();
        let thread = &mut self.thread;
        let due = thread.pacer.due(ready_since);
        if due > now {
            return due;
        }
        thread.pacer.mark_due_until(now + 1, &mut thread.recorder);
        thread.pacer.due(ready_since) // The quota may be exhausted.
    }

    /// Records everything that was due before `now`, each in its interval.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        while now >= self.thread.recorder.interval_end() {
            self.close_interval();
            self.thread.advance(self.thread.recorder.interval_end());
        }
    }

    /// Executes the operation that is due at `due`, together with others due by now.
    #[inline]
    fn start(&mut self, mut due: Nanos, now: Nanos) -> Result<(), Fault> {
        let ready_since = self.ready_since();
        let Self { client, max_batch, thread, .. } = self;
        client.clear();
        loop {
            if P::SCHEDULED && self.idle_since > due {
                thread.recorder.record_backlog_wait(now - due);
            } else {
                thread.recorder.record_lateness(now - due);
            }
            thread.pacer.start_next(&mut thread.recorder);
            client.select(&mut thread.recorder, due);
            if client.selected() >= *max_batch || !P::SCHEDULED && thread.recorder.reserve(1) == 0 {
                break;
            }
            due = thread.pacer.due(ready_since);
            if due > now {
                break;
            }
        }
        self.execute(now)
    }

    /// Executes the selection, and records it.
    #[inline]
    fn execute(&mut self, now: Nanos) -> Result<(), Fault> {
        let sent = clock::now();
        let executed = self.client.execute();
        let done = clock::now();
        self.overhead_ns += sent - now;
        while let Some(at) = self.client.next_event() {
            self.advance(at.min(done));
            self.client.record_event(&mut self.thread.recorder);
        }
        self.advance(done);
        self.client.record(&mut self.thread.recorder, sent, done);
        (self.now, self.idle_since) = (done, done);
        executed
    }

    /// When the client could start its next operation: in a closed loop it is due then, even if the thread
    /// wakes up later.
    #[inline]
    fn ready_since(&self) -> Nanos {
        self.idle_since.max(self.thread.admit_from)
    }

    /// Waits until `due`, or until a decision or the end of an interval.
    #[cold]
    fn wait(&mut self, due: Nanos) -> io::Result<()> {
        let ThreadState { epoll, precise_wait, recorder, window, warmup_end, .. } = &mut self.thread;
        let mut until = recorder.interval_end().min(window.end);
        if *warmup_end > self.now {
            until = until.min(*warmup_end); // The drained warm-up is to be reported.
        }
        if due == Nanos::MAX {
            epoll.wait(until)?;
        } else {
            precise_wait.wait(epoll, until, due)?;
        }
        self.now = clock::now();
        Ok(())
    }

    /// Ends an interval's CPU accounting: all but the overhead counts as waiting, be it the client's calls,
    /// which run on this thread, or busy waits.
    #[cold]
    fn close_interval(&mut self) {
        let cpu_ns = clock::thread_cpu();
        let used_ns = cpu_ns - std::mem::replace(&mut self.cpu_ns, cpu_ns);
        let overhead_ns = std::mem::take(&mut self.overhead_ns);
        self.thread.recorder.add_busy_wait(used_ns.saturating_sub(overhead_ns));
        self.thread.precise_wait.take_busy_wait_ns();
    }
}
