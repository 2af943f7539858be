//! Leads a load: decides when it begins and ends, and tells what happens. Runs on the caller's thread, beside the load.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::{Value, json};

use super::books::Books;
use super::crew::Crew;
use super::overload::Overload;
use super::report::{self, Outcome};
use super::{Ground, NoResult};
use crate::clock::{Calendar, MILLISECOND, Nanos, SECOND, now};
use crate::observe::{Go, Observer, TICK};
use crate::reactor::{Message, Refusal};
use crate::record::{Lifetime, Operation, Phase, Published, RECONNECTED, Slot, Trouble, Window};
use crate::spec::{Load, Problem};

/// Between a decision and the instant it is for, so that every thread has heard of it by then.
const LEAD: Nanos = 20 * MILLISECOND;

/// When the first client is refused, the others have so long to say whether they are too.
const REFUSAL_GRACE: Nanos = 3 * SECOND / 2;

pub struct Leader<'a> {
    operations: &'a [Operation],
    ground: &'a Ground,
    load: &'a Load,
    crew: Crew,
    observer: &'a mut dyn Observer,
    calendar: Calendar,
    books: Books,
    lifetime: Lifetime,
    finished: usize,
    window: Window,
    phase: Phase,
    outcome: Outcome,
    /// The last trouble that was told of, for when it turns out to be the end.
    trouble: Option<Trouble>,
    /// Since when there has been no connection at all.
    lost_since: Option<Nanos>,
    /// Of an open loop.
    overload: Option<Overload>,
    ticked: Nanos,
}

impl<'a> Leader<'a> {
    pub fn new(
        operations: &'a [Operation],
        ground: &'a Ground,
        load: &'a Load,
        crew: Crew,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            operations,
            ground,
            load,
            books: Books::new(crew.size(), operations),
            crew,
            observer,
            calendar: Calendar::read(),
            lifetime: Lifetime::new(operations.len()),
            finished: 0,
            window: Window::UNKNOWN,
            phase: Phase::Connect,
            outcome: Outcome::completed(),
            trouble: None,
            lost_since: None,
            overload: load.schedule.as_ref().map(|schedule| Overload::new(schedule.most_overdue_ns)),
            ticked: 0,
        }
    }

    pub fn lead(mut self) -> Result<Value, NoResult> {
        if self.connect()? {
            self.begin()?;
            while self.finished < self.crew.size() {
                self.work()?;
            }
        }
        Ok(report::result(&report::Account {
            operations: self.operations,
            window: &self.window,
            calendar: &self.calendar,
            totals: &self.books.totals,
            lifetime: &self.lifetime,
            clients: &self.crew.clients().collect::<Vec<_>>(),
            schedule: self.load.schedule.as_ref(),
            outcome: &self.outcome,
        }))
    }

    /// Waits until all clients are connected; whether they are.
    fn connect(&mut self) -> Result<bool, NoResult> {
        let started = now();
        let mut connected = 0;
        let mut refusals: Vec<Refusal> = Vec::new();
        let mut deadline = Nanos::MAX;
        while connected < self.load.clients {
            match self.next_message(deadline)? {
                Some((_, Message::Connected)) => connected += 1,
                Some((_, Message::Refused(refusal))) => {
                    deadline = deadline.min(now() + REFUSAL_GRACE);
                    refusals.push(refusal);
                }
                Some((thread, message)) => self.note(thread, message)?,
                None => {}
            }
            if self.outcome.is_stopped() {
                return Ok(false);
            }
            let decided = connected + refusals.len() as u32 == self.load.clients;
            if let Some(first) = refusals.first()
                && (decided || now() >= deadline)
            {
                let refused = self.load.clients - connected;
                self.outcome = Outcome::connect_failed(self.ground, self.load.clients, refused, first);
                return Ok(false);
            }
        }
        let done = now();
        self.tell(json!({
            "type": "connected",
            "clients": self.load.clients,
            "took_ns": done - started,
            "mono_ns": done,
            "utc_ns": self.calendar.utc(done),
        }))?;
        Ok(true)
    }

    /// Sets the instants of the load.
    fn begin(&mut self) -> Result<(), NoResult> {
        let begin = now() + LEAD;
        let start = begin + self.load.warmup_ns;
        self.window = Window { begin, start, end: start + self.load.duration_ns, interval: self.load.interval_ns };
        self.crew.begin(self.window);
        Ok(())
    }

    /// Deals with what happens next.
    fn work(&mut self) -> Result<(), NoResult> {
        if let Some((thread, message)) = self.next_message(self.next_phase().1)? {
            self.note(thread, message)?;
        }
        while let Some(slots) = self.books.take() {
            self.tell_interval(&slots[0].1)?;
            self.watch_backlog(&slots[0].1);
            for (thread, mut slot) in slots {
                slot.clear();
                self.crew.give_back(thread, slot);
            }
        }
        self.change_phase()?;
        self.watch_connections();
        Ok(())
    }

    /// The next message, if one comes until `until` or the next tick.
    fn next_message(&mut self, until: Nanos) -> Result<Option<(usize, Message)>, NoResult> {
        let wait = Duration::from_nanos(until.saturating_sub(now())).min(TICK);
        let message = match self.crew.news.recv_timeout(wait) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err(broken("every thread is gone").into()),
        };
        let now = now();
        if now >= self.ticked + TICK.as_nanos() as Nanos {
            self.ticked = now;
            let go = self.observer.tick();
            self.heed(go)?;
        }
        Ok(message)
    }

    fn note(&mut self, thread: usize, message: Message) -> Result<(), NoResult> {
        match message {
            Message::Published(Published::Slot(slot)) => self.books.put(thread, slot),
            Message::Published(Published::Trouble(trouble)) => {
                self.tell(json!({
                    "type": "trouble",
                    "mono_ns": trouble.at,
                    "utc_ns": self.calendar.utc(trouble.at),
                    "code": trouble.code,
                    "message": trouble.message,
                    "client": trouble.client,
                }))?;
                if trouble.code != RECONNECTED {
                    self.trouble = Some(trouble);
                }
            }
            Message::Finished(Ok(lifetime)) => {
                self.books.done(thread);
                self.lifetime.add(&lifetime);
                self.finished += 1;
            }
            Message::Finished(Err(why)) => return Err(broken(&why).into()),
            Message::Connected | Message::Refused(_) => {}
        }
        Ok(())
    }

    fn tell(&mut self, event: Value) -> Result<(), NoResult> {
        let go = self.observer.event(&event);
        self.heed(go)
    }

    fn heed(&mut self, go: Go) -> Result<(), NoResult> {
        match go {
            Go::On => Ok(()),
            Go::Stop => {
                self.end_early(Outcome::stopped());
                Ok(())
            }
            Go::Abort => Err(NoResult::Aborted),
        }
    }

    /// Ends the load before its time; what is in progress may still finish.
    fn end_early(&mut self, outcome: Outcome) {
        if !self.outcome.is_completed() {
            return;
        }
        let end = now() + LEAD;
        if end < self.window.end {
            self.outcome = outcome;
            self.window.end = end;
            self.crew.end_at(end);
        }
    }

    fn next_phase(&self) -> (Phase, Nanos) {
        match self.phase {
            Phase::Connect if self.window.begin < self.window.start => (Phase::Warmup, self.window.begin),
            Phase::Connect | Phase::Warmup if self.window.start < self.window.end => {
                (Phase::Measure, self.window.start)
            }
            Phase::Drain => (Phase::Drain, Nanos::MAX),
            _ => (Phase::Drain, self.window.end),
        }
    }

    fn change_phase(&mut self) -> Result<(), NoResult> {
        let (phase, at) = self.next_phase();
        if now() < at {
            return Ok(());
        }
        self.phase = phase;
        self.tell(json!({"type": "phase", "phase": phase, "mono_ns": at, "utc_ns": self.calendar.utc(at)}))
    }

    fn tell_interval(&mut self, slot: &Slot) -> Result<(), NoResult> {
        match slot.span.phase {
            Phase::Warmup | Phase::Measure => {
                // A reader may count on hearing of a phase before its intervals.
                while self.phase < slot.span.phase {
                    self.change_phase()?;
                }
                let open = self.load.schedule.is_some();
                self.tell(report::interval(slot, self.operations, &self.calendar, self.window.start, open))
            }
            Phase::Connect | Phase::Drain => Ok(()),
        }
    }

    /// Gives up when ever more is due than the target takes.
    fn watch_backlog(&mut self, slot: &Slot) {
        let counts = matches!(slot.span.phase, Phase::Warmup | Phase::Measure);
        if let Some(overload) = self.overload.as_mut().filter(|_| counts)
            && overload.sees(slot)
        {
            self.end_early(Outcome::overloaded(slot, self.load.clients));
        }
    }

    /// Gives up when no client has had a connection for too long.
    fn watch_connections(&mut self) {
        if self.crew.connections() > 0 || self.phase == Phase::Drain {
            self.lost_since = None;
            return;
        }
        let since = *self.lost_since.get_or_insert_with(now);
        if now() - since >= self.load.lost_ns {
            self.end_early(Outcome::lost(self.ground, self.load.lost_ns, self.trouble.as_ref()));
        }
    }
}

/// Never the user's fault.
fn broken(why: &str) -> Problem {
    Problem::new("internal", format!("a thread of the engine broke: {why}"), "please report this with the plan")
}
