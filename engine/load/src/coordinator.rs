//! Leads a load: decides when it begins and ends, and tells what happens. Runs on the caller's thread, beside the load.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::{Value, json};

use super::group::Group;
use super::group_merge::GroupMerger;
use super::outcome::Outcome;
use super::report;
use super::{NoResult, TargetContext};
use crate::reactor::{Refusal, ThreadEvent};
use loadcell_core::clock::{Calendar, MILLISECOND, Nanos, SECOND, now};
use loadcell_core::error::Problem;
use loadcell_core::observe::{Directive, Observer, TICK};
use loadcell_core::record::{Phase, Published, RECONNECTED, Window};

/// Between a decision and the instant it is for, so that every thread has heard of it by then.
const LEAD: Nanos = 20 * MILLISECOND;

/// How long a warm-up's last transactions may take, over and above what is allowed to those of the measurement.
const SETTLING: Nanos = SECOND;

/// When the first client is refused, the others have so long to say whether they are too.
const REFUSAL_GRACE: Nanos = 3 * SECOND / 2;

pub struct Coordinator<'a> {
    groups: Vec<Group<'a>>,
    /// Of several groups; one by itself is the whole.
    groups_merger: Option<GroupMerger>,
    context: &'a TargetContext,
    events: Receiver<(usize, ThreadEvent)>,
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

impl<'a> Coordinator<'a> {
    pub fn new(
        groups: Vec<Group<'a>>,
        groups_merger: Option<GroupMerger>,
        context: &'a TargetContext,
        events: Receiver<(usize, ThreadEvent)>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            groups,
            groups_merger,
            context,
            events,
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

    pub fn run(mut self) -> Result<Value, NoResult> {
        if self.connect()? {
            self.begin()?;
            let threads = self.groups.iter().map(|group| group.threads.size()).sum();
            while self.finished < threads {
                self.step()?;
            }
            let load = self.groups[0].load;
            if load.is_bounded() && !self.all_made && self.outcome.is_completed() {
                self.outcome = Outcome::unfinished(load, &self.groups[0].merger.totals);
            }
        }
        Ok(report::result(
            &self.groups,
            self.groups_merger.as_ref(),
            &self.window,
            &self.calendar,
            &self.outcome,
        ))
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
            match self.next_event(deadline)? {
                Some((_, ThreadEvent::Connected)) => connected += 1,
                Some((_, ThreadEvent::Refused(refusal))) => {
                    deadline = deadline.min(now() + REFUSAL_GRACE);
                    refusals.push(refusal);
                }
                Some((thread, event)) => self.on_event(thread, event)?,
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
                self.outcome = Outcome::connect_failed(self.context, clients, refused, first);
                return Ok(false);
            }
        }
        let done = now();
        self.emit(json!({
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
        self.groups.iter().for_each(|group| group.threads.begin(self.window));
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
        self.groups.iter().for_each(|group| group.threads.measure(self.window));
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
            group.merger.end_at(end);
            group.threads.end_at(end);
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
    fn step(&mut self) -> Result<(), NoResult> {
        if let Some((thread, event)) = self.next_event(self.next_phase().1)? {
            self.on_event(thread, event)?;
        }
        while let Some(key) = self.next_interval() {
            self.emit_interval(key)?;
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
        ready.map(|intervals| intervals[0].1.span.key()).min().filter(|_| complete)
    }

    /// The next message, if one comes until `until` or the next tick.
    fn next_event(&mut self, until: Nanos) -> Result<Option<(usize, ThreadEvent)>, NoResult> {
        let wait = Duration::from_nanos(until.saturating_sub(now())).min(TICK);
        let event = match self.events.recv_timeout(wait) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err(broken("every thread is gone").into()),
        };
        let now = now();
        if now >= self.ticked + TICK.as_nanos() as Nanos {
            self.ticked = now;
            let go = self.observer.tick();
            self.apply_directive(go)?;
        }
        Ok(event)
    }

    fn on_event(&mut self, thread: usize, event: ThreadEvent) -> Result<(), NoResult> {
        match event {
            ThreadEvent::Published(Published::Interval(interval)) => {
                self.group_of(thread).put(thread, interval)
            }
            ThreadEvent::Published(Published::Trouble(trouble)) => {
                let mut event = json!({
                    "type": "trouble",
                    "mono_ns": trouble.at,
                    "utc_ns": self.calendar.utc(trouble.at),
                    "code": trouble.code,
                    "message": trouble.message,
                    "client": trouble.client,
                });
                if self.groups_merger.is_some() {
                    event["group"] = self.group_of(thread).name.into();
                }
                self.emit(event)?;
                if trouble.code != RECONNECTED {
                    self.group_of(thread).trouble = Some(trouble);
                }
            }
            ThreadEvent::Finished(Ok(lifetime)) => {
                self.group_of(thread).done(thread, &lifetime);
                self.finished += 1;
            }
            ThreadEvent::Finished(Err(why)) => return Err(broken(&why).into()),
            ThreadEvent::WarmupDrained => {
                if self.group_of(thread).settles() {
                    self.measure();
                }
            }
            ThreadEvent::QuotaExhausted(at) => {
                if let Some(last) = self.group_of(thread).is_exhausted(at) {
                    self.all_made(last);
                }
            }
            ThreadEvent::Connected | ThreadEvent::Refused(_) => {}
        }
        Ok(())
    }

    fn group_of(&mut self, thread: usize) -> &mut Group<'a> {
        let found = self.groups.iter_mut().find(|group| group.threads().contains(&thread));
        found.expect("every thread is some group's")
    }

    fn emit(&mut self, event: Value) -> Result<(), NoResult> {
        let go = self.observer.event(&event);
        self.apply_directive(go)
    }

    fn apply_directive(&mut self, go: Directive) -> Result<(), NoResult> {
        match go {
            Directive::Continue => Ok(()),
            Directive::Finish => {
                self.end_early(Outcome::stopped());
                Ok(())
            }
            Directive::Abort => Err(NoResult::Aborted),
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
            self.groups.iter().for_each(|group| group.threads.end_at(end));
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
        self.emit(json!({"type": "phase", "phase": phase, "mono_ns": at, "utc_ns": self.calendar.utc(at)}))
    }

    fn emit_interval(&mut self, key: (Phase, u32)) -> Result<(), NoResult> {
        let (phase, _) = key;
        if !matches!(phase, Phase::Warmup | Phase::Measure) {
            return Ok(());
        }
        // A reader may count on hearing of a phase before its intervals.
        while self.phase < phase {
            self.change_phase()?;
        }
        let intervals = self.groups.iter().map(|group| group.at(key));
        let (interval, operations) = match &mut self.groups_merger {
            Some(groups_merger) => {
                groups_merger.bring_together(intervals);
                (groups_merger.whole(), &groups_merger.operations[..])
            }
            None => (self.groups[0].at(key).expect("it is ready"), self.groups[0].operations),
        };
        let open = self.groups.iter().any(|group| group.load.schedule.is_some());
        let mut event = report::interval(interval, operations, &self.calendar, self.window.start, open);
        if self.groups_merger.is_some() {
            let took_part =
                self.groups.iter().filter_map(|group| group.at(key).map(|interval| (group, interval)));
            event["groups"] =
                took_part.map(|(group, interval)| report::group_interval(group, interval)).collect();
        }
        self.emit(event)
    }

    /// Gives up when ever more is due than the target takes.
    fn watch_backlog(&mut self, key: (Phase, u32)) {
        if !matches!(key.0, Phase::Warmup | Phase::Measure) {
            return;
        }
        let mut overloaded = None;
        for group in self.groups.iter_mut().filter(|group| group.at(key).is_some()) {
            if group.is_overloaded() {
                let interval = group.at(key).expect("it took part");
                overloaded = overloaded
                    .or(Some(Outcome::overloaded(interval, group.load.clients).of_group(group.name)));
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
        while let Ok((thread, event)) = self.events.try_recv() {
            self.on_event(thread, event)?;
        }
        let context = self.context;
        let lost = self.groups.iter_mut().filter_map(|group| group.is_lost().then_some(&*group)).next();
        let outcome = lost.map(|group| {
            Outcome::lost(context, group.load.lost_ns, group.trouble.as_ref()).of_group(group.name)
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
