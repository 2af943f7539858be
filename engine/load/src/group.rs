//! A group of clients that all do the same, as the one that leads the load sees it: its threads, and what they say.

use std::ops::Range;

use super::GroupInput;
use super::interval_merge::IntervalMerger;
use super::overload::OverloadDetector;
use super::threads::{ClientFactory, LoadThreads};
use loadcell_core::clock::{Nanos, now};
use loadcell_core::record::{IntervalStats, LifetimeCounts, Operation, Phase, Trouble};
use loadcell_core::spec::Load;

/// What a group's threads recorded in one interval: the first slot holds all of it.
pub type IntervalsByThread = Vec<(usize, Box<IntervalStats>)>;

pub struct Group<'a> {
    pub name: &'a str,
    pub sessions: &'a dyn ClientFactory,
    pub operations: &'a [Operation],
    pub load: &'a Load,
    pub threads: LoadThreads,
    pub merger: IntervalMerger,
    pub lifetime: LifetimeCounts,
    /// The next interval, once it is complete in this group.
    pub ready: Option<IntervalsByThread>,
    /// The last trouble that was told of, for when it turns out to be the end.
    pub trouble: Option<Trouble>,
    /// Of a load with bounds: its threads in which nothing of the warm-up is in progress any more, those that have made all,
    /// and when the last of it ended.
    settled: usize,
    spent: usize,
    last_end: Nanos,
    /// The number of its first thread among those of all groups.
    first: usize,
    /// Of an open loop.
    overload: Option<OverloadDetector>,
    /// Since when there has been no connection at all.
    lost_since: Option<Nanos>,
}

impl<'a> Group<'a> {
    pub fn new(part: &GroupInput<'a>, first: usize, threads: LoadThreads) -> Self {
        let GroupInput { name, sessions, load } = *part;
        let operations = sessions.counted();
        Self {
            name,
            sessions,
            operations,
            load,
            merger: IntervalMerger::new(threads.size(), operations),
            threads,
            lifetime: LifetimeCounts::new(operations.len()),
            ready: None,
            trouble: None,
            settled: 0,
            spent: 0,
            last_end: 0,
            first,
            overload: load.schedule.as_ref().map(|schedule| OverloadDetector::new(schedule.most_overdue_ns)),
            lost_since: None,
        }
    }

    /// The numbers of its threads.
    pub fn threads(&self) -> Range<usize> {
        self.first..self.first + self.threads.size()
    }

    /// A thread has handed over a slot.
    pub fn put(&mut self, thread: usize, interval: Box<IntervalStats>) {
        self.merger.put(thread - self.first, interval);
    }

    /// A thread has ended.
    pub fn done(&mut self, thread: usize, lifetime: &LifetimeCounts) {
        self.merger.done(thread - self.first);
        self.lifetime.add(lifetime);
    }

    /// Nothing of the warm-up is in progress any more in one of its threads; whether in none.
    pub fn settles(&mut self) -> bool {
        self.settled += 1;
        self.settled == self.threads.size()
    }

    /// A thread has made all that it was to make, and knows when the last of it ended; the end of the last of all threads.
    /// The others look at once whether they have, too.
    pub fn is_exhausted(&mut self, last_end: Nanos) -> Option<Nanos> {
        self.spent += 1;
        self.last_end = self.last_end.max(last_end);
        if self.spent == 1 {
            self.threads.wake_all();
        }
        (self.spent == self.threads.size()).then_some(self.last_end)
    }

    /// Takes the next interval up if it is complete. Whether one is there, or none will come any more.
    pub fn is_ready(&mut self) -> bool {
        if self.ready.is_none() {
            self.ready = self.merger.take();
        }
        self.ready.is_some() || self.merger.is_done()
    }

    /// What it recorded in the interval that is ready and has this key, if it took part in it.
    pub fn at(&self, key: (Phase, u32)) -> Option<&IntervalStats> {
        self.ready.as_ref().map(|intervals| &*intervals[0].1).filter(|interval| interval.span.key() == key)
    }

    /// Gives the slots of the interval that is ready back to their threads.
    pub fn give_back(&mut self) {
        for (thread, mut interval) in self.ready.take().into_iter().flatten() {
            interval.clear();
            self.threads.give_back(thread, interval);
        }
    }

    /// Whether ever more is due than the target takes, at the end of the interval that is ready.
    pub fn is_overloaded(&mut self) -> bool {
        let (Some(overload), Some(intervals)) = (&mut self.overload, &self.ready) else { return false };
        overload.sees(&intervals[0].1)
    }

    /// Whether no client has had a connection for too long.
    pub fn is_lost(&mut self) -> bool {
        if self.threads.connections() > 0 {
            self.lost_since = None;
            return false;
        }
        let since = *self.lost_since.get_or_insert_with(now);
        now() - since >= self.load.lost_ns
    }
}
