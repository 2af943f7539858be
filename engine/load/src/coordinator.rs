//! The coordinator of a load: decides when it begins and ends, and reports events. Runs on the caller's
//! thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::{Value, json};

use super::TargetContext;
use super::group::Group;
use super::group_merge::GroupMerger;
use super::outcome::Outcome;
use super::pause_watch::PauseWatch;
use super::report;
use super::result::LoadResult;
use crate::reactor::{Loss, ThreadEvent};
use loadcell_core::clock::{Calendar, MILLISECOND, Nanos, SECOND, now};
use loadcell_core::error::LoadError;
use loadcell_core::observe::{Directive, Observer, TICK};
use loadcell_core::record::{Phase, Published, RECONNECTED, Window};

/// Time between a decision and its instant, so that every thread has read it by then.
const LEAD: Nanos = 20 * MILLISECOND;

/// Longest delay between the instant of an armed start and its arrival here: threads start late by as much.
const MAX_START_DELAY: Nanos = SECOND / 10;

/// Time for a warm-up's last transactions to end, beyond their own limit.
const WARMUP_DRAIN_GRACE: Nanos = SECOND;

/// Once a client is refused, time for the others to connect or to be refused too.
const REFUSAL_GRACE: Nanos = 3 * SECOND / 2;

pub struct Coordinator<'a> {
    groups: Vec<Group<'a>>,
    /// Merges several groups; none if there is only one.
    group_merger: Option<GroupMerger>,
    context: &'a TargetContext,
    events: Receiver<(usize, ThreadEvent)>,
    observer: &'a mut dyn Observer,
    pauses: &'a PauseWatch,
    calendar: Calendar,
    finished: usize,
    window: Window,
    phase: Phase,
    outcome: Outcome,
    /// All transactions of a bounded load have ended.
    quota_exhausted: bool,
    last_tick: Nanos,
}

impl<'a> Coordinator<'a> {
    pub fn new(
        groups: Vec<Group<'a>>,
        group_merger: Option<GroupMerger>,
        context: &'a TargetContext,
        events: Receiver<(usize, ThreadEvent)>,
        observer: &'a mut dyn Observer,
        pauses: &'a PauseWatch,
    ) -> Self {
        Self {
            groups,
            group_merger,
            context,
            events,
            observer,
            pauses,
            calendar: Calendar::read(),
            finished: 0,
            window: Window::UNKNOWN,
            phase: Phase::Connect,
            outcome: Outcome::completed(),
            quota_exhausted: false,
            last_tick: 0,
        }
    }

    /// Runs the load. Returns its result.
    pub fn run(mut self) -> Result<LoadResult, LoadError> {
        if self.connect()?
            && let Some(begin) = self.await_start()?
        {
            self.begin(begin);
            let threads = self.groups.iter().map(|group| group.threads.size()).sum();
            while self.finished < threads {
                self.step()?;
            }
            let load = self.groups[0].load;
            if load.is_bounded() && !self.quota_exhausted && self.outcome.is_completed() {
                self.outcome = Outcome::unfinished(load, &self.groups[0].merger.totals);
            }
        }
        Ok(report::result(
            &self.groups,
            self.group_merger.as_ref(),
            &self.window,
            &self.calendar,
            self.outcome,
            self.pauses,
        ))
    }

    fn clients(&self) -> u32 {
        self.groups.iter().map(|group| group.load.clients).sum()
    }

    /// Waits until all clients are connected. Returns false when the load has ended before.
    fn connect(&mut self) -> Result<bool, LoadError> {
        let started = now();
        let clients = self.clients();
        let mut connected = 0;
        let mut refusals: Vec<Loss> = Vec::new();
        let mut deadline = Nanos::MAX;
        while connected < clients {
            match self.next_event(deadline)? {
                Some((_, ThreadEvent::Connected)) => connected += 1,
                Some((_, ThreadEvent::Refused(loss))) => {
                    deadline = deadline.min(now() + REFUSAL_GRACE);
                    refusals.push(loss);
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

    /// Returns the instant at which the load begins; none if it has ended before. An armed load reports that
    /// it is ready, and waits until the observer gives the instant.
    fn await_start(&mut self) -> Result<Option<Nanos>, LoadError> {
        let Some(armed_ns) = self.groups[0].load.armed_ns else { return Ok(Some(now() + LEAD)) };
        let ready = now();
        self.emit(json!({"type": "ready", "mono_ns": ready, "utc_ns": self.calendar.utc(ready)}))?;
        let deadline = ready.saturating_add(armed_ns);
        loop {
            if let Some(begin) = self.observer.start_at() {
                return checked_start(begin, deadline).map(Some);
            }
            if now() >= deadline {
                return Err(never_started(armed_ns));
            }
            if let Some((thread, event)) = self.next_event(deadline)? {
                self.on_event(thread, event)?;
            }
            self.check_connectivity()?;
            if !self.outcome.is_completed() {
                return Ok(None);
            }
        }
    }

    /// Sets the window of the load that begins at `begin`.
    fn begin(&mut self, begin: Nanos) {
        let load = self.groups[0].load;
        let (start, end) = if self.drains_warmup() {
            (Nanos::MAX, Nanos::MAX)
        } else {
            (begin + load.warmup_ns, begin + load.warmup_ns + load.duration_ns)
        };
        self.window = Window { begin, start, end, interval: load.interval_ns };
        self.groups.iter().for_each(|group| group.threads.begin(self.window));
    }

    /// In a bounded load the measurement begins only when the warm-up has drained, so that each transaction
    /// belongs to one of the two.
    fn drains_warmup(&self) -> bool {
        let load = self.groups[0].load;
        load.is_bounded() && load.warmup_ns > 0
    }

    /// Begins the measurement, as the warm-up has drained.
    fn measure(&mut self) {
        if !self.outcome.is_completed() {
            return;
        }
        let start = now() + LEAD;
        self.window = Window { start, end: start + self.groups[0].load.duration_ns, ..self.window };
        self.groups.iter().for_each(|group| group.threads.measure(self.window));
    }

    /// Ends the window after the last transaction of the quota, which ended at `last_end`.
    fn on_quota_exhausted(&mut self, last_end: Nanos) {
        let end = (last_end + 1).max(self.window.start + 1);
        if !self.outcome.is_completed() || end > self.window.end {
            return;
        }
        self.quota_exhausted = true;
        self.window.end = end;
        for group in &mut self.groups {
            group.merger.end_at(end);
            group.threads.end_at(end);
        }
    }

    /// Ends the load when the warm-up does not drain in time: its last transactions may take until they time
    /// out, and fail.
    fn check_warmup_drain(&mut self) {
        if self.window.start != Nanos::MAX {
            return;
        }
        let load = self.groups[0].load;
        let timeouts = self.groups.iter().filter_map(|group| group.load.timeout_ns);
        let limit = timeouts.fold(load.drain_ns, Nanos::max);
        let since_begin = load.warmup_ns.saturating_add(limit).saturating_add(WARMUP_DRAIN_GRACE);
        if now() >= self.window.begin.saturating_add(since_begin) {
            self.end_early(Outcome::unsettled(limit));
        }
    }

    /// Handles the next event, and what follows from it and from the time.
    fn step(&mut self) -> Result<(), LoadError> {
        if let Some((thread, event)) = self.next_event(self.next_phase().1)? {
            self.on_event(thread, event)?;
        }
        while let Some(key) = self.next_interval() {
            self.emit_interval(key)?;
            self.check_overload(key);
            let participants = self.groups.iter_mut().filter(|group| group.interval(key).is_some());
            participants.for_each(Group::recycle);
        }
        self.change_phase()?;
        self.check_connectivity()?;
        self.check_warmup_drain();
        Ok(())
    }

    /// Key of the next interval that is complete in every group that takes part in it.
    fn next_interval(&mut self) -> Option<(Phase, u32)> {
        let mut complete = true;
        for group in &mut self.groups {
            complete &= group.poll_interval();
        }
        let intervals = self.groups.iter().filter_map(|group| group.complete.as_ref());
        intervals.map(|by_thread| by_thread[0].1.span.key()).min().filter(|_| complete)
    }

    /// Waits for the next event until `until` or the next tick, and asks the observer at each tick.
    fn next_event(&mut self, until: Nanos) -> Result<Option<(usize, ThreadEvent)>, LoadError> {
        let wait = Duration::from_nanos(until.saturating_sub(now())).min(TICK);
        let event = match self.events.recv_timeout(wait) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err(broken("every thread is gone")),
        };
        let now = now();
        if now >= self.last_tick + TICK.as_nanos() as Nanos {
            self.last_tick = now;
            let directive = self.observer.tick();
            self.apply_directive(directive)?;
        }
        Ok(event)
    }

    fn on_event(&mut self, thread: usize, event: ThreadEvent) -> Result<(), LoadError> {
        match event {
            ThreadEvent::Published(Published::Interval(interval)) => {
                self.group_of(thread).put(thread, interval)
            }
            ThreadEvent::Published(Published::Error(trouble)) => {
                let mut event = json!({
                    "type": "trouble",
                    "mono_ns": trouble.at,
                    "utc_ns": self.calendar.utc(trouble.at),
                    "code": trouble.code,
                    "message": trouble.message,
                    "client": trouble.client,
                });
                if self.group_merger.is_some() {
                    event["group"] = self.group_of(thread).name.into();
                }
                self.emit(event)?;
                if trouble.code != RECONNECTED {
                    self.group_of(thread).last_error = Some(trouble);
                }
            }
            ThreadEvent::Published(Published::Timeline(timeline)) => {
                self.group_of(thread).timeline.get_or_insert_default().merge(*timeline);
            }
            ThreadEvent::Finished(Ok(lifetime)) => {
                self.group_of(thread).finish(thread, &lifetime);
                self.finished += 1;
            }
            ThreadEvent::Finished(Err(reason)) => return Err(broken(&reason)),
            ThreadEvent::WarmupDrained => {
                if self.group_of(thread).on_drained() {
                    self.measure();
                }
            }
            ThreadEvent::QuotaExhausted(last_end) => {
                if let Some(last_end) = self.group_of(thread).on_exhausted(last_end) {
                    self.on_quota_exhausted(last_end);
                }
            }
            ThreadEvent::Connected | ThreadEvent::Refused(_) => {}
        }
        Ok(())
    }

    fn group_of(&mut self, thread: usize) -> &mut Group<'a> {
        let group = self.groups.iter_mut().find(|group| group.thread_numbers().contains(&thread));
        group.expect("every thread belongs to a group")
    }

    fn emit(&mut self, event: Value) -> Result<(), LoadError> {
        let directive = self.observer.event(&event);
        self.apply_directive(directive)
    }

    fn apply_directive(&mut self, directive: Directive) -> Result<(), LoadError> {
        match directive {
            Directive::Continue => Ok(()),
            Directive::Finish => {
                self.end_early(Outcome::stopped());
                Ok(())
            }
            Directive::Abort => Err(LoadError::aborted()),
        }
    }

    /// Ends the load before its time; transactions in progress may still finish.
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

    fn change_phase(&mut self) -> Result<(), LoadError> {
        let (phase, at) = self.next_phase();
        if now() < at {
            return Ok(());
        }
        self.phase = phase;
        self.emit(json!({"type": "phase", "phase": phase, "mono_ns": at, "utc_ns": self.calendar.utc(at)}))
    }

    fn emit_interval(&mut self, key: (Phase, u32)) -> Result<(), LoadError> {
        let (phase, _) = key;
        if !matches!(phase, Phase::Warmup | Phase::Measure) {
            return Ok(());
        }
        // A phase is always reported before its intervals.
        while self.phase < phase {
            self.change_phase()?;
        }
        let intervals = self.groups.iter().map(|group| group.interval(key));
        let (interval, operations) = match &mut self.group_merger {
            Some(merger) => {
                merger.merge_interval(intervals);
                (merger.interval(), &merger.operations[..])
            }
            None => {
                (self.groups[0].interval(key).expect("the interval is complete"), self.groups[0].operations)
            }
        };
        let open = self.groups.iter().any(|group| group.load.schedule.is_some());
        let mut event = report::interval(interval, operations, &self.calendar, self.window.start, open);
        if self.group_merger.is_some() {
            let groups =
                self.groups.iter().filter_map(|group| group.interval(key).map(|interval| (group, interval)));
            event["groups"] =
                groups.map(|(group, interval)| report::group_interval(group, interval)).collect();
        }
        self.emit(event)
    }

    /// Ends the load when a group's backlog grows beyond its limit.
    fn check_overload(&mut self, key: (Phase, u32)) {
        if !matches!(key.0, Phase::Warmup | Phase::Measure) {
            return;
        }
        let mut outcome = None;
        for group in self.groups.iter_mut().filter(|group| group.interval(key).is_some()) {
            if group.check_overload() {
                let interval = group.interval(key).expect("the group takes part");
                let overloaded = Outcome::overloaded(interval, group.load.clients);
                outcome = outcome.or(Some(overloaded.of_group(group.name)));
            }
        }
        if let Some(outcome) = outcome {
            self.end_early(outcome);
        }
    }

    /// Ends the load when no client of a group has had a connection for too long.
    fn check_connectivity(&mut self) -> Result<(), LoadError> {
        if self.phase == Phase::Drain || !self.groups.iter_mut().any(Group::check_connectivity) {
            return Ok(());
        }
        // The error that explains it may not have been received yet.
        while let Ok((thread, event)) = self.events.try_recv() {
            self.on_event(thread, event)?;
        }
        if let Some(group) =
            self.groups.iter_mut().find_map(|group| group.check_connectivity().then_some(&*group))
        {
            let lost = Outcome::lost(self.context, group.load.lost_ns, group.last_error.as_ref());
            let outcome = lost.of_group(group.name);
            self.end_early(outcome);
        }
        Ok(())
    }
}

/// Checks the instant of an armed start, which came by `deadline`.
fn checked_start(begin: Nanos, deadline: Nanos) -> Result<Nanos, LoadError> {
    let now = now();
    let seconds = |nanos: Nanos| nanos as f64 / 1e9;
    if now > begin.saturating_add(MAX_START_DELAY) {
        let arguments = json!({"late_s": seconds(now - begin)});
        return Err(LoadError::at("start-missed", "engine.start-missed", arguments));
    }
    if begin > deadline {
        let arguments = json!({"ahead_s": seconds(begin - now), "beyond_s": seconds(begin - deadline)});
        return Err(LoadError::at("start-too-far", "engine.start-too-far", arguments));
    }
    Ok(begin)
}

fn never_started(armed_ns: Nanos) -> LoadError {
    let arguments = json!({"limit_s": armed_ns as f64 / 1e9});
    LoadError::at("start-never-came", "engine.start-never-came", arguments)
}

/// A defect of the engine.
fn broken(reason: &str) -> LoadError {
    LoadError::with_text("internal", reason, "engine.thread", json!({}))
}
