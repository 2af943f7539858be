//! Leads a load: decides when it begins and ends, and tells what happens. Runs on the caller's thread, beside the load.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::{Value, json};

use super::group::Group;
use super::mix::Mix;
use super::outcome::Outcome;
use super::report;
use super::{Ground, NoResult};
use crate::clock::{Calendar, MILLISECOND, Nanos, SECOND, now};
use crate::observe::{Go, Observer, TICK};
use crate::reactor::{Message, Refusal};
use crate::record::{Phase, Published, RECONNECTED, Window};
use crate::spec::Problem;

/// Between a decision and the instant it is for, so that every thread has heard of it by then.
const LEAD: Nanos = 20 * MILLISECOND;

/// How long a warm-up's last transactions may take, over and above what is allowed to those of the measurement.
const SETTLING: Nanos = SECOND;

/// When the first client is refused, the others have so long to say whether they are too.
const REFUSAL_GRACE: Nanos = 3 * SECOND / 2;

pub struct Leader<'a> {
    groups: Vec<Group<'a>>,
    /// Of several groups; one by itself is the whole.
    mix: Option<Mix>,
    ground: &'a Ground,
    news: Receiver<(usize, Message)>,
    observer: &'a mut dyn Observer,
    calendar: Calendar,
    finished: usize,
    window: Window,
    phase: Phase,
    outcome: Outcome,
    /// Of a load with bounds: all was made.
    all_made: bool,
    ticked: Nanos,
}

impl<'a> Leader<'a> {
    pub fn new(
        groups: Vec<Group<'a>>,
        mix: Option<Mix>,
        ground: &'a Ground,
        news: Receiver<(usize, Message)>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            groups,
            mix,
            ground,
            news,
            observer,
            calendar: Calendar::read(),
            finished: 0,
            window: Window::UNKNOWN,
            phase: Phase::Connect,
            outcome: Outcome::completed(),
            all_made: false,
            ticked: 0,
        }
    }

    pub fn lead(mut self) -> Result<Value, NoResult> {
        if self.connect()? {
            self.begin()?;
            let threads = self.groups.iter().map(|group| group.crew.size()).sum();
            while self.finished < threads {
                self.work()?;
            }
            let load = self.groups[0].load;
            if load.is_bounded() && !self.all_made && self.outcome.is_completed() {
                self.outcome = Outcome::unfinished(load, &self.groups[0].books.totals);
            }
        }
        Ok(report::result(&self.groups, self.mix.as_ref(), &self.window, &self.calendar, &self.outcome))
    }

    /// How many clients there are.
    fn clients(&self) -> u32 {
        self.groups.iter().map(|group| group.load.clients).sum()
    }

    /// Waits until all clients are connected; whether they are.
    fn connect(&mut self) -> Result<bool, NoResult> {
        let started = now();
        let clients = self.clients();
        let mut connected = 0;
        let mut refusals: Vec<Refusal> = Vec::new();
        let mut deadline = Nanos::MAX;
        while connected < clients {
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
            let decided = connected + refusals.len() as u32 == clients;
            if let Some(first) = refusals.first()
                && (decided || now() >= deadline)
            {
                let refused = clients - connected;
                self.outcome = Outcome::connect_failed(self.ground, clients, refused, first);
                return Ok(false);
            }
        }
        let done = now();
        self.tell(json!({
            "type": "connected",
            "clients": clients,
            "took_ns": done - started,
            "mono_ns": done,
            "utc_ns": self.calendar.utc(done),
        }))?;
        Ok(true)
    }

    /// Sets the instants of the load.
    fn begin(&mut self) -> Result<(), NoResult> {
        let load = self.groups[0].load;
        let begin = now() + LEAD;
        let (start, end) = if self.settles() {
            (Nanos::MAX, Nanos::MAX)
        } else {
            (begin + load.warmup_ns, begin + load.warmup_ns + load.duration_ns)
        };
        self.window = Window { begin, start, end, interval: load.interval_ns };
        self.groups.iter().for_each(|group| group.crew.begin(self.window));
        Ok(())
    }

    /// Whether the measurement begins only when nothing of the warm-up is in progress any more: where transactions are counted
    /// out, each belongs to one of the two.
    fn settles(&self) -> bool {
        let load = self.groups[0].load;
        load.is_bounded() && load.warmup_ns > 0
    }

    /// The warm-up has settled: the measurement is next.
    fn measure(&mut self) {
        if !self.outcome.is_completed() {
            return;
        }
        let start = now() + LEAD;
        self.window = Window { start, end: start + self.groups[0].load.duration_ns, ..self.window };
        self.groups.iter().for_each(|group| group.crew.measure(self.window));
    }

    /// All was made, the last of it at `at`: there the window ends.
    fn all_made(&mut self, at: Nanos) {
        let end = (at + 1).max(self.window.start + 1);
        if !self.outcome.is_completed() || end > self.window.end {
            return;
        }
        self.all_made = true;
        self.window.end = end;
        for group in &mut self.groups {
            group.books.end_at(end);
            group.crew.end_at(end);
        }
    }

    /// Gives up when the warm-up's last transactions do not end.
    fn watch_settling(&mut self) {
        let load = self.groups[0].load;
        let patience = load.warmup_ns.saturating_add(load.drain_ns).saturating_add(SETTLING);
        if self.window.start == Nanos::MAX && now() >= self.window.begin.saturating_add(patience) {
            self.end_early(Outcome::unsettled(load));
        }
    }

    /// Deals with what happens next.
    fn work(&mut self) -> Result<(), NoResult> {
        if let Some((thread, message)) = self.next_message(self.next_phase().1)? {
            self.note(thread, message)?;
        }
        while let Some(key) = self.next_interval() {
            self.tell_interval(key)?;
            self.watch_backlog(key);
            let took_part = self.groups.iter_mut().filter(|group| group.at(key).is_some());
            took_part.for_each(Group::give_back);
        }
        self.change_phase()?;
        self.watch_connections()?;
        self.watch_settling();
        Ok(())
    }

    /// The next interval that is complete in every group that took part in it.
    fn next_interval(&mut self) -> Option<(Phase, u32)> {
        let mut complete = true;
        for group in &mut self.groups {
            complete &= group.is_ready();
        }
        let ready = self.groups.iter().filter_map(|group| group.ready.as_ref());
        ready.map(|slots| slots[0].1.span.key()).min().filter(|_| complete)
    }

    /// The next message, if one comes until `until` or the next tick.
    fn next_message(&mut self, until: Nanos) -> Result<Option<(usize, Message)>, NoResult> {
        let wait = Duration::from_nanos(until.saturating_sub(now())).min(TICK);
        let message = match self.news.recv_timeout(wait) {
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
            Message::Published(Published::Slot(slot)) => self.group_of(thread).put(thread, slot),
            Message::Published(Published::Trouble(trouble)) => {
                let mut event = json!({
                    "type": "trouble",
                    "mono_ns": trouble.at,
                    "utc_ns": self.calendar.utc(trouble.at),
                    "code": trouble.code,
                    "message": trouble.message,
                    "client": trouble.client,
                });
                if self.mix.is_some() {
                    event["group"] = self.group_of(thread).name.into();
                }
                self.tell(event)?;
                if trouble.code != RECONNECTED {
                    self.group_of(thread).trouble = Some(trouble);
                }
            }
            Message::Finished(Ok(lifetime)) => {
                self.group_of(thread).done(thread, &lifetime);
                self.finished += 1;
            }
            Message::Finished(Err(why)) => return Err(broken(&why).into()),
            Message::Settled => {
                if self.group_of(thread).settles() {
                    self.measure();
                }
            }
            Message::Spent(at) => {
                if let Some(last) = self.group_of(thread).is_spent(at) {
                    self.all_made(last);
                }
            }
            Message::Connected | Message::Refused(_) => {}
        }
        Ok(())
    }

    fn group_of(&mut self, thread: usize) -> &mut Group<'a> {
        let found = self.groups.iter_mut().find(|group| group.threads().contains(&thread));
        found.expect("every thread is some group's")
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
            self.groups.iter().for_each(|group| group.crew.end_at(end));
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

    fn tell_interval(&mut self, key: (Phase, u32)) -> Result<(), NoResult> {
        let (phase, _) = key;
        if !matches!(phase, Phase::Warmup | Phase::Measure) {
            return Ok(());
        }
        // A reader may count on hearing of a phase before its intervals.
        while self.phase < phase {
            self.change_phase()?;
        }
        let slots = self.groups.iter().map(|group| group.at(key));
        let (slot, operations) = match &mut self.mix {
            Some(mix) => {
                mix.bring_together(slots);
                (mix.whole(), &mix.operations[..])
            }
            None => (self.groups[0].at(key).expect("it is ready"), self.groups[0].operations),
        };
        let open = self.groups.iter().any(|group| group.load.schedule.is_some());
        let mut event = report::interval(slot, operations, &self.calendar, self.window.start, open);
        if self.mix.is_some() {
            let took_part = self.groups.iter().filter_map(|group| group.at(key).map(|slot| (group, slot)));
            event["groups"] = took_part.map(|(group, slot)| report::group_interval(group, slot)).collect();
        }
        self.tell(event)
    }

    /// Gives up when ever more is due than the target takes.
    fn watch_backlog(&mut self, key: (Phase, u32)) {
        if !matches!(key.0, Phase::Warmup | Phase::Measure) {
            return;
        }
        let mut overloaded = None;
        for group in self.groups.iter_mut().filter(|group| group.at(key).is_some()) {
            if group.is_overloaded() {
                let slot = group.at(key).expect("it took part");
                overloaded =
                    overloaded.or(Some(Outcome::overloaded(slot, group.load.clients).of_group(group.name)));
            }
        }
        if let Some(outcome) = overloaded {
            self.end_early(outcome);
        }
    }

    /// Gives up when no client of a group has had a connection for too long.
    fn watch_connections(&mut self) -> Result<(), NoResult> {
        if self.phase == Phase::Drain || !self.groups.iter_mut().any(Group::is_lost) {
            return Ok(());
        }
        // Why it is so was told before, and may not be read yet.
        while let Ok((thread, message)) = self.news.try_recv() {
            self.note(thread, message)?;
        }
        let ground = self.ground;
        let lost = self.groups.iter_mut().filter_map(|group| group.is_lost().then_some(&*group)).next();
        let outcome = lost.map(|group| {
            Outcome::lost(ground, group.load.lost_ns, group.trouble.as_ref()).of_group(group.name)
        });
        if let Some(outcome) = outcome {
            self.end_early(outcome);
        }
        Ok(())
    }
}

/// Never the user's fault.
fn broken(why: &str) -> Problem {
    Problem::new(
        "internal",
        format!("a thread of the engine broke: {why}"),
        "please report this with the plan",
    )
}
