//! State that every load thread has, whether its clients share a reactor or block in calls: the instants of
//! the load, the thread's recorder and pacer, and its channel to the coordinator.

use std::io;
use std::sync::Arc;

use super::control::{Bounds, Control, EventSender, ThreadEvent};
use super::precise_wait::PreciseWait;
use loadcell_core::clock::Nanos;
use loadcell_core::pace::Pacer;
use loadcell_core::record::{Recorder, Window};
use loadcell_transport::epoll::Epoll;

/// Inputs of a new load thread.
pub struct ThreadContext {
    pub recorder: Recorder,
    pub control: Arc<Control>,
    pub events: EventSender,
    /// None where time alone ends the load.
    pub bounds: Option<Bounds>,
}

/// State of a load thread apart from its clients.
pub struct ThreadState<P> {
    pub recorder: Recorder,
    pub pacer: P,
    pub control: Arc<Control>,
    pub events: EventSender,
    pub epoll: Epoll,
    pub precise_wait: PreciseWait,
    pub window: Window,
    bounds: Option<Bounds>,
    /// Transactions may start in `[admit_from, admit_until)`: in the window, or in a bounded load first in
    /// the warm-up and then in the measurement.
    pub admit_from: Nanos,
    pub admit_until: Nanos,
    /// End of a bounded load's warm-up, after which nothing of it starts.
    pub warmup_end: Nanos,
    warmup_drained: bool,
    quota_exhausted: bool,
}

impl<P: Pacer> ThreadState<P> {
    pub fn new(context: ThreadContext, pacer: P) -> io::Result<Self> {
        let ThreadContext { recorder, control, events, bounds } = context;
        Ok(Self {
            recorder,
            pacer,
            epoll: Epoll::new(control.waker.clone())?,
            control,
            events,
            precise_wait: PreciseWait::default(),
            window: Window::UNKNOWN,
            bounds,
            admit_from: Nanos::MAX,
            admit_until: Nanos::MAX,
            warmup_end: Nanos::MAX,
            warmup_drained: false,
            quota_exhausted: false,
        })
    }

    /// Records everything that was due before `now`, each in its interval.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        while now >= self.recorder.interval_end() {
            let end = self.recorder.interval_end();
            self.pacer.mark_due_until(end, &mut self.recorder);
            self.recorder.advance(end);
        }
    }

    /// Applies the coordinator's decisions. Returns true when a new window has opened.
    #[inline]
    pub fn apply_control(&mut self) -> bool {
        let mut opened = false;
        if self.window == Window::UNKNOWN
            && let Some(window) = self.control.window()
        {
            self.recorder.set_window(window);
            self.open(window);
            opened = true;
        }
        if self.window.start == Nanos::MAX
            && let Some(window) = self.control.measurement()
        {
            self.recorder.set_measurement(window);
            self.open(window);
            opened = true;
        }
        let end = self.control.end();
        if end < self.window.end {
            self.window.end = end;
            self.admit_until = self.admit_until.min(end);
            self.recorder.end_at(end);
        }
        opened
    }

    /// Admits transactions within `window`, or within its warm-up while the start of the measurement is
    /// unknown.
    #[cold]
    fn open(&mut self, window: Window) {
        self.window = window;
        let bounds = self.bounds.as_mut();
        if window.start == Nanos::MAX {
            let warmup_ns = bounds.and_then(|bounds| bounds.warmup_ns).unwrap_or_default();
            self.warmup_end = window.begin + warmup_ns;
            self.admit_from = window.begin;
            // Requests of a schedule that are due by the warm-up's end are still sent when a client is free.
            self.admit_until = if P::SCHEDULED { window.end } else { self.warmup_end };
            let warmup = Window { start: self.warmup_end, end: self.warmup_end, ..window };
            self.pacer.begin(&warmup, &mut self.recorder);
            return;
        }
        self.admit_from = window.begin;
        self.admit_until = window.end;
        if let Some(bounds) = bounds {
            self.recorder.set_quota(std::mem::take(&mut bounds.quota));
            self.admit_from = window.start;
        }
        self.pacer.begin(&Window { begin: self.admit_from, ..window }, &mut self.recorder);
    }

    /// Reports of a bounded load, once each, that the warm-up has drained and that the quota is exhausted;
    /// the latter also of a load whose sessions have ended it.
    #[inline]
    pub fn report_bounds(&mut self, now: Nanos) {
        if self.bounds.is_none() && !self.recorder.is_exhausted() {
            return;
        }
        if self.window.start == Nanos::MAX {
            if self.warmup_drained || now < self.warmup_end {
                return;
            }
            // Requests that fell due while the thread did not run are in progress.
            self.pacer.mark_due_until(now + 1, &mut self.recorder);
            if self.recorder.in_progress() == 0 {
                self.warmup_drained = true;
                self.events.send(ThreadEvent::WarmupDrained);
            }
        } else if !self.quota_exhausted && now >= self.admit_from && self.recorder.is_exhausted() {
            self.quota_exhausted = true;
            self.events.send(ThreadEvent::QuotaExhausted(self.recorder.last_end()));
        }
    }

    /// Records a new connection; `again` if its client had one before.
    pub fn on_connected(&mut self, now: Nanos, again: bool) {
        self.recorder.connected(now, again);
        self.control.set_connections(self.recorder.connections());
        if !again {
            self.events.send(ThreadEvent::Connected);
        }
    }

    /// Records the loss of a connection.
    pub fn on_disconnected(&mut self, now: Nanos) {
        self.recorder.disconnected(now);
        self.control.set_connections(self.recorder.connections());
    }
}
