//! What a thread's clients share: the clock of their load, its events, its record, and who waits for what.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::READ_SIZE;
use super::control::{Bounds, Control, EventSender, ThreadEvent};
use super::epoll::Epoll;
use super::precise_wait::PreciseWait;
use super::timers::TimerQueue;
use loadcell_core::clock::{self, Nanos};
use loadcell_core::pace::Pacer;
use loadcell_core::record::{Recorder, Window};
use loadcell_transport::Endpoint;

/// What a reactor has to know beside its clients.
pub struct Settings {
    pub endpoint: Arc<Endpoint>,
    /// How long one attempt to connect may take, the protocol's handshake included.
    pub connect_timeout_ns: Nanos,
    /// How long transactions may take that are in progress when the window ends.
    pub drain_ns: Nanos,
    /// None where time alone ends the load.
    pub bounds: Option<Bounds>,
    /// How long a transaction may take from when it was begun, if there is a limit.
    pub timeout_ns: Option<Nanos>,
}

/// Everything of a reactor that is not a connection.
pub struct ThreadState<P> {
    pub settings: Settings,
    pub control: Arc<Control>,
    pub events: EventSender,
    pub epoll: Epoll,
    precise_wait: PreciseWait,
    pub timers: TimerQueue,
    pub recorder: Recorder,
    pub pacer: P,
    pub window: Window,
    /// While it lasts transactions may be started, `[opens, closes)`: the window, or of a load with bounds first the
    /// warm-up and then the measurement.
    pub opens: Nanos,
    pub closes: Nanos,
    /// Of a load with bounds: when the warm-up brings nothing more.
    hold: Nanos,
    pub started: bool,
    /// What was told of a load with bounds.
    settled: bool,
    spent: bool,
    /// What a session wants to send; empty again when it is sent.
    pub output: Vec<u8>,
    /// When the last wait for events ended.
    pub woken: Nanos,
    /// Transactions in progress.
    pub busy: usize,
    /// Clients for whom no transaction is due, in the order in which they became free. None in a closed loop.
    pub idle: VecDeque<usize>,
    /// Connections being made, and clients that wait until there are fewer of them.
    pub opening: usize,
    pub queue: VecDeque<usize>,
    /// Clients whose transaction waits for a connection that is not begun to be made yet.
    pub renewing: VecDeque<usize>,
    /// When to look next for transactions that take too long.
    pub sweep: Nanos,
}

impl<P: Pacer> ThreadState<P> {
    /// Of a thread with so many clients.
    pub fn new(
        clients: usize,
        settings: Settings,
        pacer: P,
        recorder: Recorder,
        control: Arc<Control>,
        events: EventSender,
    ) -> io::Result<Self> {
        let epoll = Epoll::new(control.waker.clone())?;
        Ok(Self {
            settings,
            control,
            events,
            epoll,
            precise_wait: PreciseWait::default(),
            timers: TimerQueue::default(),
            recorder,
            pacer,
            window: Window::UNKNOWN,
            opens: Nanos::MAX,
            closes: Nanos::MAX,
            hold: Nanos::MAX,
            started: false,
            settled: false,
            spent: false,
            output: Vec::with_capacity(READ_SIZE),
            woken: clock::now(),
            busy: 0,
            idle: VecDeque::with_capacity(clients),
            opening: 0,
            queue: VecDeque::with_capacity(clients),
            renewing: VecDeque::new(),
            sweep: Nanos::MAX,
        })
    }

    /// Waits until something happens or is to be done; the number of events. To start a transaction when it is due
    /// matters more than anything else, and if none is to come the wait costs no more than the kernel's.
    #[inline]
    pub fn wait(&mut self) -> io::Result<usize> {
        let until = self.next_deadline();
        let due = if self.idle.is_empty() { Nanos::MAX } else { self.pacer.due(Nanos::MAX) };
        if due == Nanos::MAX || due >= self.closes {
            return self.epoll.wait(until);
        }
        let count = self.precise_wait.wait(&mut self.epoll, until, due)?;
        self.recorder.add_busy_wait(self.precise_wait.take_busy_wait_ns());
        Ok(count)
    }

    /// It is `now`: whatever was due until then is in the record, in the interval to which it belongs.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        while now >= self.recorder.interval_end() {
            let boundary = self.recorder.interval_end();
            self.pacer.mark_due_until(boundary, &mut self.recorder);
            self.recorder.advance(boundary);
        }
    }

    /// Until when nothing has to be done if nothing happens.
    #[inline]
    fn next_deadline(&self) -> Nanos {
        let mut next = self.recorder.interval_end().min(self.timers.next()).min(self.sweep);
        if self.hold > self.woken {
            next = next.min(self.hold); // That a warm-up has settled is to be told.
        }
        // The last client may have finished after the window's end in a batch that began before it: then there is
        // nothing left to wait for, and whether the load is over has still to be asked.
        next.min(if self.window.end > self.woken { self.window.end } else { self.drained_by() })
    }

    /// A window is known: work may be done in it from now on, or of a load with bounds in the first part of it.
    pub fn open(&mut self) {
        let window = self.window;
        self.idle.clear();
        self.started = false;
        self.sweep =
            self.settings.timeout_ns.map_or(Nanos::MAX, |timeout| self.woken.saturating_add(timeout));
        let bounds = self.settings.bounds.as_mut();
        if window.start == Nanos::MAX {
            let hold_after = bounds.and_then(|bounds| bounds.hold_after_ns).unwrap_or_default();
            self.hold = window.begin + hold_after;
            // What is due by then is still sent when a connection is free.
            (self.opens, self.closes) = (window.begin, if P::SCHEDULED { window.end } else { self.hold });
            self.pacer.begin(&Window { start: self.hold, end: self.hold, ..window }, &mut self.recorder);
            return;
        }
        if let Some(bounds) = bounds {
            self.recorder.set_quota(std::mem::take(&mut bounds.quota));
            (self.opens, self.closes) = (window.start, window.end);
        } else {
            (self.opens, self.closes) = (window.begin, window.end);
        }
        self.pacer.begin(&Window { begin: self.opens, ..window }, &mut self.recorder);
    }

    /// Tells, once, that the warm-up has settled, and that all has been made.
    pub fn tell_bounds(&mut self, now: Nanos) {
        let warming_up = self.window.start == Nanos::MAX;
        if warming_up && !self.settled && now >= self.hold {
            self.pacer.mark_due_until(now + 1, &mut self.recorder); // What fell due while the thread stood still is in progress.
            if self.recorder.in_progress() == 0 {
                self.settled = true;
                self.events.send(ThreadEvent::WarmupDrained);
            }
        } else if !warming_up && !self.spent && self.started && self.recorder.is_exhausted() {
            self.spent = true;
            self.events.send(ThreadEvent::QuotaExhausted(self.recorder.last_end()));
        }
    }

    fn drained_by(&self) -> Nanos {
        self.window.end.saturating_add(self.settings.drain_ns)
    }

    /// Whether there is nothing more to do.
    #[inline]
    pub fn is_over(&self, now: Nanos) -> bool {
        if now >= self.window.end && (self.busy == 0 || now >= self.drained_by()) {
            return true;
        }
        self.control.is_abandoned()
    }

    /// How many connections there are has changed.
    pub fn count_connections(&self) {
        self.control.set_connections(self.recorder.connections());
    }
}
