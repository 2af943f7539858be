//! A group of clients that do the same work, as the coordinator sees it: its threads, and what they report.

use std::ops::Range;

use super::GroupInput;
use super::interval_merge::{IntervalMerger, ThreadIntervals};
use super::overload::OverloadDetector;
use super::threads::{ClientFactory, LoadThreads};
use loadcell_core::clock::{Nanos, now};
use loadcell_core::record::{ErrorEvent, IntervalStats, LifetimeCounts, Operation, Phase, Timeline};
use loadcell_core::spec::Load;

pub struct Group<'a> {
    pub name: &'a str,
    pub clients: &'a dyn ClientFactory,
    pub operations: &'a [Operation],
    pub load: &'a Load,
    pub threads: LoadThreads,
    pub merger: IntervalMerger,
    pub lifetime: LifetimeCounts,
    /// That of the threads that have ended, where it was asked for.
    pub timeline: Option<Timeline>,
    /// The next interval, once all threads of the group have reported it.
    pub complete: Option<ThreadIntervals>,
    /// The last error reported, which explains a loss of all connections.
    pub last_error: Option<ErrorEvent>,
    /// State of a bounded load: number of threads whose warm-up has drained, number of those whose quota is
    /// exhausted, and end of the last transaction of the latter.
    drained: usize,
    exhausted: usize,
    last_end: Nanos,
    /// Number of the group's first thread among those of all groups.
    first: usize,
    /// Present in an open loop.
    overload: Option<OverloadDetector>,
    /// When the last connection was lost, if there is none.
    disconnected_since: Option<Nanos>,
}

impl<'a> Group<'a> {
    pub fn new(input: &GroupInput<'a>, first: usize, threads: LoadThreads) -> Self {
        let GroupInput { name, clients, load } = *input;
        let operations = clients.operations();
        Self {
            name,
            clients,
            operations,
            load,
            merger: IntervalMerger::new(threads.size(), operations),
            threads,
            lifetime: LifetimeCounts::new(operations.len()),
            timeline: None,
            complete: None,
            last_error: None,
            drained: 0,
            exhausted: 0,
            last_end: 0,
            first,
            overload: load.schedule.as_ref().map(|schedule| OverloadDetector::new(schedule.most_overdue_ns)),
            disconnected_since: None,
        }
    }

    /// Numbers of the group's threads among those of all groups.
    pub fn thread_numbers(&self) -> Range<usize> {
        self.first..self.first + self.threads.size()
    }

    /// Takes an interval that a thread has published.
    pub fn put(&mut self, thread: usize, interval: Box<IntervalStats>) {
        self.merger.put(thread - self.first, interval);
    }

    /// Takes the counts of a thread that has ended.
    pub fn finish(&mut self, thread: usize, lifetime: &LifetimeCounts) {
        self.merger.finish(thread - self.first);
        self.lifetime.add(lifetime);
    }

    /// Counts a thread whose warm-up has drained. Returns true once all have.
    pub fn on_drained(&mut self) -> bool {
        self.drained += 1;
        self.drained == self.threads.size()
    }

    /// Counts a thread whose quota is exhausted and whose last transaction ended at `last_end`. Returns the
    /// end of the last transaction of all threads once all quotas are exhausted. The first report wakes the
    /// other threads to check theirs.
    pub fn on_exhausted(&mut self, last_end: Nanos) -> Option<Nanos> {
        self.exhausted += 1;
        self.last_end = self.last_end.max(last_end);
        if self.exhausted == 1 {
            self.threads.wake_all();
        }
        (self.exhausted == self.threads.size()).then_some(self.last_end)
    }

    /// Advances to the next complete interval. Returns true if one is available or all threads have finished.
    pub fn poll_interval(&mut self) -> bool {
        if self.complete.is_none() {
            self.complete = self.merger.next_complete();
        }
        self.complete.is_some() || self.merger.is_finished()
    }

    /// The merged interval with this key, if it is complete and the group takes part in it.
    pub fn interval(&self, key: (Phase, u32)) -> Option<&IntervalStats> {
        let merged = self.complete.as_ref().map(|by_thread| &*by_thread[0].1);
        merged.filter(|interval| interval.span.key() == key)
    }

    /// Returns the complete interval to the threads, cleared.
    pub fn recycle(&mut self) {
        for (thread, mut interval) in self.complete.take().into_iter().flatten() {
            interval.clear();
            self.threads.recycle(thread, interval);
        }
    }

    /// Adds the complete interval to the history of the backlog. Returns true if the group is overloaded.
    pub fn check_overload(&mut self) -> bool {
        let (Some(overload), Some(by_thread)) = (&mut self.overload, &self.complete) else { return false };
        overload.add(&by_thread[0].1)
    }

    /// Updates since when there is no connection. Returns true if that is too long ago.
    pub fn check_connectivity(&mut self) -> bool {
        if self.threads.connections() > 0 {
            self.disconnected_since = None;
            return false;
        }
        let since = *self.disconnected_since.get_or_insert_with(now);
        now() - since >= self.load.lost_ns
    }
}
