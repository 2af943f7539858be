//! State that the clients of one reactor share.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::READ_SIZE;
use super::thread_state::{ThreadContext, ThreadState};
use super::timers::TimerQueue;
use loadcell_core::clock::{self, Nanos};
use loadcell_core::pace::Pacer;
use loadcell_transport::Endpoint;

/// Settings of a reactor.
pub struct Settings {
    pub endpoint: Arc<Endpoint>,
    /// Limit of one attempt to connect, including the protocol's handshake.
    pub connect_timeout_ns: Nanos,
    /// Limit of transactions in progress at the window's end.
    pub drain_ns: Nanos,
    /// Limit of a transaction from its start, if there is one.
    pub timeout_ns: Option<Nanos>,
}

/// Everything of a reactor that does not belong to a single client.
pub struct Shared<P> {
    pub thread: ThreadState<P>,
    pub settings: Settings,
    pub timers: TimerQueue,
    /// Clients have been started in the open window.
    pub started: bool,
    /// Output of a session; empty again once it is sent.
    pub output: Vec<u8>,
    /// End of the last wait for events.
    pub woken_at: Nanos,
    /// Transactions in progress.
    pub in_progress: usize,
    /// Clients without a due transaction, longest idle first. Empty in a closed loop.
    pub idle: VecDeque<usize>,
    /// Number of connections being made.
    pub connecting: usize,
    /// Clients that wait until fewer connections are being made.
    pub connect_queue: VecDeque<usize>,
    /// Clients whose transaction needs a new connection, which has not been started yet.
    pub reconnect_queue: VecDeque<usize>,
    /// Next search for transactions that exceed their timeout.
    pub next_sweep: Nanos,
}

impl<P: Pacer> Shared<P> {
    pub fn new(clients: usize, settings: Settings, context: ThreadContext, pacer: P) -> io::Result<Self> {
        Ok(Self {
            thread: ThreadState::new(context, pacer)?,
            settings,
            timers: TimerQueue::default(),
            started: false,
            output: Vec::with_capacity(READ_SIZE),
            woken_at: clock::now(),
            in_progress: 0,
            idle: VecDeque::with_capacity(clients),
            connecting: 0,
            connect_queue: VecDeque::with_capacity(clients),
            reconnect_queue: VecDeque::new(),
            next_sweep: Nanos::MAX,
        })
    }

    /// Waits for events or the next deadline. Returns the number of events.
    ///
    /// Starting a due transaction on time has precedence; where none is to come the wait costs one call of
    /// the kernel.
    #[inline]
    pub fn wait(&mut self) -> io::Result<usize> {
        let until = self.next_deadline();
        let thread = &mut self.thread;
        let due = if self.idle.is_empty() { Nanos::MAX } else { thread.pacer.due(Nanos::MAX) };
        if due == Nanos::MAX || due >= thread.admit_until {
            return thread.epoll.wait(until);
        }
        let count = thread.precise_wait.wait(&mut thread.epoll, until, due)?;
        thread.recorder.add_busy_wait(thread.precise_wait.take_busy_wait_ns());
        Ok(count)
    }

    #[inline]
    fn next_deadline(&self) -> Nanos {
        let ThreadState { recorder, warmup_end, window, .. } = &self.thread;
        let mut next = recorder.interval_end().min(self.timers.next()).min(self.next_sweep);
        if *warmup_end > self.woken_at {
            next = next.min(*warmup_end); // The drained warm-up is to be reported.
        }
        // The last client may have finished after the window's end, in a batch of events that began before
        // it. Then no event follows, and the end of the load must still be noticed.
        next.min(if window.end > self.woken_at { window.end } else { self.drain_end() })
    }

    /// Forgets who was idle in the window before.
    pub fn on_window_opened(&mut self) {
        self.idle.clear();
        self.started = false;
        self.next_sweep =
            self.settings.timeout_ns.map_or(Nanos::MAX, |timeout| self.woken_at.saturating_add(timeout));
    }

    fn drain_end(&self) -> Nanos {
        self.thread.window.end.saturating_add(self.settings.drain_ns)
    }

    /// Returns true when the thread has nothing more to do.
    #[inline]
    pub fn is_over(&self, now: Nanos) -> bool {
        if now >= self.thread.window.end && (self.in_progress == 0 || now >= self.drain_end()) {
            return true;
        }
        self.thread.control.is_abandoned()
    }
}
