//! One thread's load: what its task chooses is carried out at once, by a call.
//!
//! Unlike a reactor's thread it has nothing to wait for but the instant at which something is due: what was called is done when
//! the call returns. Service begins when all is ready for the call, and ends when that has returned.

use std::io;
use std::sync::Arc;

use super::Fault;
use crate::reactor::{Bounds, Control, Epoll, EventSender, PreciseWait, ThreadEvent};
use loadcell_core::clock::{self, Nanos};
use loadcell_core::pace::Pacer;
use loadcell_core::record::{LifetimeCounts, Recorder, Window};

/// What one client does, over and over.
pub trait Task {
    /// From now on it may carry out several operations within one `carry_out`, one after the other: none is due by a schedule, and
    /// none is to be carried out together with another. The first is the one that was chosen; of the others it tells by its events.
    fn look_ahead(&mut self) {}

    /// Nothing is chosen.
    fn clear(&mut self);

    /// Chooses one more operation, which is due at `due`: what it counts as is started.
    fn choose(&mut self, recorder: &mut Recorder, due: Nanos);

    /// How many are chosen.
    fn chosen(&self) -> usize;

    /// Carries out what was chosen; whether anything more can be.
    fn carry_out(&mut self) -> Result<(), Fault>;

    /// Of what happened within what was carried out, when the first was that is to be in the record and is not yet.
    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        None
    }

    /// Puts that into the record.
    fn record_event(&mut self, _: &mut Recorder) {}

    /// Puts what was carried out, from `sent` to `done`, into the record.
    fn record(&mut self, recorder: &mut Recorder, sent: Nanos, done: Nanos);

    /// Whether what was chosen earlier is under way still: it is carried on even if nothing more may be chosen.
    fn goes_on(&self) -> bool {
        false
    }
}

/// What a thread has to know besides its client.
pub struct Settings {
    pub client: u32,
    /// The most operations that are chosen before they are carried out.
    pub batch: usize,
    /// None where time alone ends the load.
    pub bounds: Option<Bounds>,
}

/// One thread.
pub struct Worker<P, T> {
    task: T,
    batch: usize,
    pacer: P,
    thread: ThreadState,
}

/// What a thread has that is no part of its work.
struct ThreadState {
    recorder: Recorder,
    control: Arc<Control>,
    events: EventSender,
    epoll: Epoll,
    precise_wait: PreciseWait,
    window: Window,
    bounds: Option<Bounds>,
    /// While it lasts transactions may be started, `[opens, closes)`: the window, or of a load with bounds first the
    /// warm-up and then the measurement.
    opens: Nanos,
    closes: Nanos,
    /// Of a load with bounds: when the warm-up brings nothing more, and what was told.
    hold: Nanos,
    settled: bool,
    spent: bool,
    /// There is nothing left for its client, which rests.
    resting: bool,
    /// The instant that was read last.
    now: Nanos,
    /// Since when the client is free, whether or not anything could be started then.
    free: Nanos,
    /// What this thread took in the open interval for itself: to choose, to record, to keep time.
    own: Nanos,
    /// Its CPU time when the interval began.
    cpu: Nanos,
}

impl<P: Pacer, T: Task> Worker<P, T> {
    /// To be made and run on its own thread.
    pub fn new(
        mut task: T,
        settings: Settings,
        pacer: P,
        mut recorder: Recorder,
        control: Arc<Control>,
        events: EventSender,
    ) -> io::Result<Self> {
        let epoll = Epoll::new(control.waker.clone())?;
        if !P::SCHEDULED && settings.batch == 1 {
            task.look_ahead();
        }
        let now = clock::now();
        recorder.set_client(settings.client);
        recorder.connected(now, false);
        control.set_connections(recorder.connections());
        events.send(ThreadEvent::Connected);
        let thread = ThreadState {
            recorder,
            control,
            events,
            epoll,
            precise_wait: PreciseWait::default(),
            window: Window::UNKNOWN,
            bounds: settings.bounds,
            opens: Nanos::MAX,
            closes: Nanos::MAX,
            hold: Nanos::MAX,
            settled: false,
            spent: false,
            resting: false,
            now,
            free: now,
            own: 0,
            cpu: clock::thread_cpu(),
        };
        Ok(Self { task, batch: settings.batch, pacer, thread })
    }

    /// Works as the control says, and tells what was counted.
    pub fn run(mut self) -> io::Result<LifetimeCounts> {
        let mut usable = true;
        loop {
            let now = self.thread.now;
            self.advance(now);
            self.obey();
            self.advance(now); // What was decided may have ended an interval.
            if self.thread.bounds.is_some() {
                self.pacer.mark_due_until(now + 1, &mut self.thread.recorder); // What fell due meanwhile is in progress.
                self.thread.tell_bounds(now);
            }
            if self.thread.control.is_abandoned() || now >= self.thread.window.end {
                return Ok(self.thread.recorder.finish());
            }
            if now < self.thread.opens {
                self.thread.wait(self.thread.opens)?;
                continue;
            }
            let goes_on = usable
                && self.task.goes_on()
                && (now >= self.thread.closes || self.thread.recorder.reserve(1) == 0);
            if !goes_on && (now >= self.thread.closes || !usable || self.is_exhausted(now)) {
                self.thread.wait(Nanos::MAX)?;
                continue;
            }
            let due = if goes_on { now } else { self.due(now) };
            if due > now {
                self.thread.wait(due)?;
            } else if let Err(fault) = if goes_on { self.carry_on(now) } else { self.work(due, now) } {
                // It is over for this client; when it is for all the load is given up.
                usable = false;
                self.thread.lose(&fault);
            }
        }
    }

    /// Takes note of what was decided about the load as a whole.
    #[inline]
    fn obey(&mut self) {
        let Self { pacer, thread, .. } = self;
        if thread.window == Window::UNKNOWN
            && let Some(window) = thread.control.window()
        {
            thread.window = window;
            thread.recorder.set_window(window);
            thread.open(pacer);
        }
        if thread.window.start == Nanos::MAX
            && let Some(window) = thread.control.measurement()
        {
            thread.window = window;
            thread.recorder.set_measurement(window);
            thread.open(pacer);
        }
        let end = thread.control.end();
        if end < thread.window.end {
            thread.window.end = end;
            thread.closes = thread.closes.min(end);
            thread.recorder.end_at(end);
        }
    }

    /// Whether there is nothing left for the client of a closed loop.
    #[inline]
    fn is_exhausted(&mut self, now: Nanos) -> bool {
        let thread = &mut self.thread;
        if P::SCHEDULED || thread.recorder.reserve(1) > 0 {
            return false;
        }
        if !std::mem::replace(&mut thread.resting, true) {
            thread.recorder.begin_rest(now);
        }
        true
    }

    /// When the next transaction is due, which has been told of if that is past.
    #[inline]
    fn due(&mut self, now: Nanos) -> Nanos {
        let free = self.thread.free();
        let due = self.pacer.due(free);
        if due > now {
            return due;
        }
        self.pacer.mark_due_until(now + 1, &mut self.thread.recorder);
        self.pacer.due(free) // There may be nothing more to make.
    }

    /// It is `now`: whatever was due until then is in the record, in the interval to which it belongs.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        while now >= self.thread.recorder.interval_end() {
            let boundary = self.thread.recorder.interval_end();
            self.pacer.mark_due_until(boundary, &mut self.thread.recorder);
            self.thread.close();
            self.thread.recorder.advance(boundary);
        }
    }

    /// One call: the operation that is due since `due`, and others that are due by now.
    #[inline]
    fn work(&mut self, due: Nanos, now: Nanos) -> Result<(), Fault> {
        let Self { task, batch, pacer, thread } = self;
        task.clear();
        let mut due = due;
        loop {
            if P::SCHEDULED && thread.began_late(due) {
                thread.recorder.record_backlog_wait(now - due);
            } else {
                thread.recorder.record_lateness(now - due);
            }
            pacer.start_next(&mut thread.recorder);
            task.choose(&mut thread.recorder, due);
            if task.chosen() >= *batch || !P::SCHEDULED && thread.recorder.reserve(1) == 0 {
                break;
            }
            due = pacer.due(thread.free());
            if due > now {
                break;
            }
        }
        self.carry_on(now)
    }

    /// Carries out what was chosen, since `now`.
    #[inline]
    fn carry_on(&mut self, now: Nanos) -> Result<(), Fault> {
        let sent = clock::now();
        let carried_out = self.task.carry_out();
        let done = clock::now();
        self.thread.own += sent - now;
        self.record(sent, done);
        carried_out
    }

    /// What was carried out from `sent` to `done` goes into the record.
    #[inline]
    fn record(&mut self, sent: Nanos, done: Nanos) {
        while let Some(at) = self.task.next_event() {
            self.advance(at.min(done));
            self.task.record_event(&mut self.thread.recorder);
        }
        self.advance(done);
        self.task.record(&mut self.thread.recorder, sent, done);
        (self.thread.now, self.thread.free) = (done, done);
    }
}

impl ThreadState {
    /// Since when the client could do its next transaction: it is due then in a closed loop, even if the thread wakes up later.
    #[inline]
    fn free(&self) -> Nanos {
        self.free.max(self.opens)
    }

    /// Whether the client was not free yet when something fell due.
    #[inline]
    fn began_late(&self, due: Nanos) -> bool {
        self.free > due
    }

    /// Waits until `due`, or until something else is to be looked at.
    #[cold]
    fn wait(&mut self, due: Nanos) -> io::Result<()> {
        let mut until = self.recorder.interval_end().min(self.window.end);
        if self.hold > self.now {
            until = until.min(self.hold); // That a warm-up has settled is to be told.
        }
        if due == Nanos::MAX {
            self.epoll.wait(until)?;
        } else {
            self.precise_wait.wait(&mut self.epoll, until, due)?;
        }
        self.now = clock::now();
        Ok(())
    }

    /// A window is known: work may be done in it from now on, or of a load with bounds in the first part of it.
    #[cold]
    fn open<P: Pacer>(&mut self, pacer: &mut P) {
        let window = self.window;
        if window.start == Nanos::MAX {
            let bounds = self.bounds.as_ref();
            self.hold = window.begin + bounds.and_then(|bounds| bounds.hold_after_ns).unwrap_or_default();
            // What is due by then is still done when the client is free.
            (self.opens, self.closes) = (window.begin, if P::SCHEDULED { window.end } else { self.hold });
            pacer.begin(&Window { start: self.hold, end: self.hold, ..window }, &mut self.recorder);
            return;
        }
        self.opens = window.begin;
        if let Some(bounds) = &mut self.bounds {
            self.recorder.set_quota(std::mem::take(&mut bounds.quota));
            self.opens = window.start;
        }
        self.closes = window.end;
        pacer.begin(&Window { begin: self.opens, ..window }, &mut self.recorder);
    }

    /// Tells, once, that the warm-up has settled, and that all has been made.
    fn tell_bounds(&mut self, now: Nanos) {
        if self.window.start == Nanos::MAX {
            if !self.settled && now >= self.hold && self.recorder.in_progress() == 0 {
                self.settled = true;
                self.events.send(ThreadEvent::WarmupDrained);
            }
        } else if !self.spent && now >= self.opens && self.recorder.is_exhausted() {
            self.spent = true;
            self.events.send(ThreadEvent::QuotaExhausted(self.recorder.last_end()));
        }
    }

    /// Nothing more can be had of what is called.
    #[cold]
    fn lose(&mut self, fault: &Fault) {
        self.recorder.report_error(self.now, fault.code, &fault.message);
        self.recorder.disconnected(self.now);
        self.control.set_connections(self.recorder.connections());
    }

    /// An interval ends. Of its CPU time the recorder is told what was not the thread's own: the task's work, which is done on
    /// this thread, and waiting awake.
    #[cold]
    fn close(&mut self) {
        let cpu = clock::thread_cpu();
        let used = cpu - std::mem::replace(&mut self.cpu, cpu);
        self.recorder.add_busy_wait(used.saturating_sub(std::mem::take(&mut self.own)));
        self.precise_wait.take_busy_wait_ns();
    }
}
