//! Merges the threads' statistics: interval by interval, and over the window.

use std::collections::VecDeque;

use loadcell_core::clock::Nanos;
use loadcell_core::record::{
    Backlog, Counts, ErrorCount, Histogram, IntervalStats, Kind, Operation, OperationStats, Phase, Queries,
    Received, add_errors,
};

/// Statistics of one operation within the window. `carried_in + started = succeeded + failed + in_flight`.
#[derive(Clone, Default)]
pub struct OperationTotals {
    pub counts: Counts,
    pub carried_in: u64,
    pub in_flight: u64,
    pub response: Histogram,
    pub service: Histogram,
    pub failed_response: Histogram,
}

impl OperationTotals {
    fn add(&mut self, stats: &OperationStats) {
        self.counts.add(&stats.counts);
        self.response.merge(&stats.response);
        self.service.merge(&stats.service);
        if let Some(failed) = &stats.failed_response {
            self.failed_response.merge(failed);
        }
    }

    /// Adds the operation of other clients.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.carried_in += other.carried_in;
        self.in_flight += other.in_flight;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.failed_response.merge(&other.failed_response);
    }

    pub fn attempted(&self) -> u64 {
        self.carried_in + self.counts.started
    }
}

/// Resources that one thread used within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    pub cpu_ns: Nanos,
    pub wall_ns: Nanos,
    /// CPU time of busy waits for a due instant.
    pub busy_wait_ns: Nanos,
    /// Operations that ended; a transaction with parts counts by its parts.
    pub requests: u64,
}

/// Statistics of the window.
#[derive(Default)]
pub struct WindowTotals {
    pub operations: Vec<OperationTotals>,
    pub queries: Queries,
    pub received: Received,
    pub errors: Vec<ErrorCount>,
    pub lateness: Histogram,
    pub backlog_wait: Histogram,
    /// At the window's end, with the peak within it; of the warm-up if the load ended there.
    pub backlog: Backlog,
    pub presence_ns: u64,
    /// Total age of the transactions in progress at the window's start and end.
    pub age_at_start_ns: Nanos,
    pub age_at_end_ns: Nanos,
    pub reconnects: u64,
    pub disconnected_ns: Nanos,
    pub resting_ns: Nanos,
    pub threads: Vec<ThreadUsage>,
}

/// Collects the intervals of each thread until all threads have reported the same one, and merges them.
pub struct IntervalMerger {
    queues: Vec<ThreadQueue>,
    /// By operation: whether it counts as a request. Where transactions have parts, the parts do.
    requests: Vec<bool>,
    /// End of the window, once it is known: no interval extends beyond it.
    end: Nanos,
    pub totals: WindowTotals,
}

/// Intervals of one thread; the first one of a merge holds the sum of all.
pub type ThreadIntervals = Vec<(usize, Box<IntervalStats>)>;

#[derive(Default)]
struct ThreadQueue {
    intervals: VecDeque<Box<IntervalStats>>,
    finished: bool,
    /// By operation: in progress at the end of the thread's last interval within the window; empty before its
    /// first.
    in_flight: Vec<u64>,
    /// Total age of the transactions among them.
    age_ns: Nanos,
}

impl IntervalMerger {
    pub fn new(threads: usize, operations: &[Operation]) -> Self {
        let totals = WindowTotals {
            operations: vec![OperationTotals::default(); operations.len()],
            threads: vec![ThreadUsage::default(); threads],
            ..WindowTotals::default()
        };
        let is_part =
            |operation: &Operation| matches!(operation.kind, Kind::Read | Kind::Write | Kind::Other);
        let has_parts = operations.iter().any(is_part);
        let is_request = |operation: &Operation| {
            if has_parts { is_part(operation) } else { operation.kind == Kind::Transaction }
        };
        let requests = operations.iter().map(is_request).collect();
        Self {
            queues: (0..threads).map(|_| ThreadQueue::default()).collect(),
            requests,
            end: Nanos::MAX,
            totals,
        }
    }

    /// Adds the next interval of a thread.
    pub fn put(&mut self, thread: usize, mut interval: Box<IntervalStats>) {
        interval.resolve_shared();
        self.queues[thread].intervals.push_back(interval);
    }

    /// Ends the window at `end`, earlier than planned.
    pub fn end_at(&mut self, end: Nanos) {
        self.end = end;
    }

    /// No more intervals of this thread follow.
    pub fn finish(&mut self, thread: usize) {
        self.queues[thread].finished = true;
    }

    /// Returns true once all threads have finished.
    pub fn is_finished(&self) -> bool {
        self.queues.iter().all(|queue| queue.finished)
    }

    /// Removes and merges the next interval that all threads have reported. Adds it to the totals if it lies
    /// within the window. The intervals are to be cleared and returned to their threads.
    pub fn next_complete(&mut self) -> Option<ThreadIntervals> {
        for interval in self.queues.iter_mut().filter_map(|queue| queue.intervals.front_mut()) {
            interval.span = interval.span.measured_until(self.end);
        }
        let complete = self.queues.iter().all(|queue| queue.finished || !queue.intervals.is_empty());
        let key = self
            .queues
            .iter()
            .filter_map(|queue| queue.intervals.front())
            .map(|interval| interval.span.key())
            .min()?;
        if !complete {
            return None;
        }
        let mut intervals = Vec::with_capacity(self.queues.len());
        for (thread, queue) in self.queues.iter_mut().enumerate() {
            if queue.intervals.front().is_none_or(|interval| interval.span.key() != key) {
                continue;
            }
            let interval = queue.intervals.pop_front().expect("the front is there");
            if key.0 == Phase::Measure {
                self.totals.threads[thread].add(&interval, &self.requests);
                self.totals.update_in_progress(&interval, &mut queue.in_flight, &mut queue.age_ns);
            }
            intervals.push((thread, interval));
        }
        let (first, others) = intervals.split_first_mut().expect("the interval with the lowest key");
        others.iter().for_each(|(_, interval)| first.1.merge(interval));
        if key == (Phase::Measure, 0) {
            self.totals.backlog = Backlog::default();
        }
        if matches!(key.0, Phase::Warmup | Phase::Measure) {
            let peak = self.totals.backlog.peak.max(first.1.backlog.peak);
            self.totals.backlog = Backlog { peak, ..first.1.backlog };
        }
        if key.0 == Phase::Measure {
            self.totals.add(&first.1);
        }
        Some(intervals)
    }
}

impl ThreadUsage {
    /// Share of time in which the thread worked. A busy wait is no work.
    pub fn busy(&self) -> f64 {
        if self.wall_ns == 0 {
            return 0.0;
        }
        self.cpu_ns.saturating_sub(self.busy_wait_ns) as f64 / self.wall_ns as f64
    }

    fn add(&mut self, interval: &IntervalStats, requests: &[bool]) {
        self.cpu_ns += interval.cpu_ns;
        self.wall_ns += interval.wall_ns;
        self.busy_wait_ns += interval.busy_wait_ns;
        let ended = interval.operations.iter().zip(requests).filter(|(_, request)| **request);
        self.requests += ended.map(|(stats, _)| stats.counts.succeeded + stats.counts.failed).sum::<u64>();
    }
}

impl WindowTotals {
    /// Updates what a thread has in progress at both ends of its window. By thread, as a window that ends
    /// early may find one of them an interval ahead of the others.
    fn update_in_progress(&mut self, interval: &IntervalStats, in_flight: &mut Vec<u64>, age_ns: &mut Nanos) {
        let first = in_flight.is_empty();
        self.age_at_start_ns += if first { interval.age_at_start_ns } else { 0 };
        self.age_at_end_ns = self.age_at_end_ns - *age_ns + interval.age_at_end_ns;
        *age_ns = interval.age_at_end_ns;
        in_flight.resize(interval.operations.len(), 0);
        for ((total, stats), last) in self.operations.iter_mut().zip(&interval.operations).zip(in_flight) {
            total.carried_in += if first { stats.carried_in } else { 0 };
            total.in_flight = total.in_flight - *last + stats.in_flight;
            *last = stats.in_flight;
        }
    }

    fn add(&mut self, interval: &IntervalStats) {
        for (total, stats) in self.operations.iter_mut().zip(&interval.operations) {
            total.add(stats);
        }
        self.queries.add(&interval.queries);
        self.received.add(&interval.received);
        add_errors(&mut self.errors, &interval.errors);
        self.lateness.merge(&interval.lateness);
        self.backlog_wait.merge(&interval.backlog_wait);
        self.presence_ns += interval.presence_ns;
        self.reconnects += interval.reconnects;
        self.disconnected_ns += interval.disconnected_ns;
        self.resting_ns += interval.resting_ns;
    }

    /// Adds everything of clients with other operations but the operations themselves and their errors.
    pub fn add_all_but_operations(&mut self, other: &Self) {
        self.queries.add(&other.queries);
        self.received.add(&other.received);
        self.lateness.merge(&other.lateness);
        self.backlog_wait.merge(&other.backlog_wait);
        self.backlog.merge(&other.backlog);
        self.presence_ns += other.presence_ns;
        self.reconnects += other.reconnects;
        self.disconnected_ns += other.disconnected_ns;
        self.resting_ns += other.resting_ns;
        self.age_at_start_ns += other.age_at_start_ns;
        self.age_at_end_ns += other.age_at_end_ns;
        self.threads.extend(&other.threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::record::Span;

    const OPERATIONS: &[Operation] = &[Operation { name: "transaction", kind: Kind::Transaction }];

    fn interval(phase: Phase, index: u32, started: u64, carried_in: u64) -> Box<IntervalStats> {
        let mut interval = Box::new(IntervalStats::new(1));
        interval.span = Span { phase, index, start: 0, end: 1 };
        interval.operations[0].counts = Counts { started, succeeded: started, failed: 0, retried: 0 };
        (interval.operations[0].carried_in, interval.operations[0].in_flight) = (carried_in, carried_in);
        interval.cpu_ns = 5;
        interval
    }

    #[test]
    fn an_interval_is_complete_when_every_thread_has_reported_it() {
        let mut merger = IntervalMerger::new(2, OPERATIONS);
        merger.put(0, interval(Phase::Warmup, 0, 100, 0));
        assert!(merger.next_complete().is_none());
        merger.put(0, interval(Phase::Measure, 0, 10, 1));
        merger.put(1, interval(Phase::Warmup, 0, 100, 0));
        assert_eq!(merger.next_complete().unwrap()[0].1.operations[0].counts.started, 200);
        assert!(merger.next_complete().is_none());
        merger.put(1, interval(Phase::Measure, 0, 20, 2));
        let merged = merger.next_complete().unwrap();
        assert_eq!(merged.len(), 2);
        assert_eq!(merged[0].1.operations[0].counts.started, 30);
    }

    #[test]
    fn the_totals_cover_the_window_alone() {
        let mut merger = IntervalMerger::new(2, OPERATIONS);
        for (phase, index, carried_in) in
            [(Phase::Warmup, 0, 0), (Phase::Measure, 0, 1), (Phase::Measure, 1, 2), (Phase::Drain, 0, 3)]
        {
            merger.put(0, interval(phase, index, 10, carried_in));
            merger.put(1, interval(phase, index, 20, carried_in));
        }
        while merger.next_complete().is_some() {}
        let total = &merger.totals.operations[0];
        assert_eq!((total.carried_in, total.counts.started, total.in_flight), (2, 60, 4));
        assert_eq!(
            merger.totals.threads[1],
            ThreadUsage { cpu_ns: 10, wall_ns: 0, busy_wait_ns: 0, requests: 40 }
        );
    }

    #[test]
    fn an_interval_that_was_open_when_the_window_ended_is_cut_there() {
        let mut merger = IntervalMerger::new(2, OPERATIONS);
        for thread in 0..2 {
            for index in 0..3 {
                let mut interval = interval(Phase::Measure, index, 5, 0);
                (interval.span.start, interval.span.end) =
                    (10 * Nanos::from(index), 10 * Nanos::from(index + 1));
                merger.put(thread, interval);
            }
        }
        merger.end_at(17);
        let spans: Vec<_> = (0..3)
            .map(|_| merger.next_complete().unwrap()[0].1.span)
            .map(|span| (span.phase, span.end))
            .collect();
        assert_eq!(spans, [(Phase::Measure, 10), (Phase::Measure, 17), (Phase::Drain, 30)]);
        assert_eq!(merger.totals.operations[0].counts.started, 20);
    }

    #[test]
    fn the_backlog_is_that_of_the_window_or_else_of_the_warm_up() {
        let mut merger = IntervalMerger::new(2, OPERATIONS);
        let put = |merger: &mut IntervalMerger, phase, index, waiting, overdue_ns| {
            for thread in 0..2 {
                let mut interval = interval(phase, index, 1, 0);
                interval.backlog =
                    Backlog { waiting, peak: 2 * waiting, overdue_ns: overdue_ns + thread as Nanos };
                merger.put(thread, interval);
            }
            merger.next_complete().unwrap();
            merger.totals.backlog
        };
        put(&mut merger, Phase::Warmup, 0, 50, 0);
        assert_eq!(
            put(&mut merger, Phase::Warmup, 1, 8, 3),
            Backlog { waiting: 16, peak: 200, overdue_ns: 4 }
        );
        put(&mut merger, Phase::Measure, 0, 5, 0);
        assert_eq!(
            put(&mut merger, Phase::Measure, 1, 1, 7),
            Backlog { waiting: 2, peak: 20, overdue_ns: 8 }
        );
        assert_eq!(put(&mut merger, Phase::Drain, 0, 900, 7).waiting, 2);
    }

    #[test]
    fn a_finished_thread_is_not_awaited() {
        let mut merger = IntervalMerger::new(2, OPERATIONS);
        merger.put(0, interval(Phase::Measure, 0, 1, 0));
        merger.put(0, interval(Phase::Measure, 1, 1, 0));
        merger.put(1, interval(Phase::Measure, 0, 1, 0));
        merger.finish(1);
        assert_eq!(merger.next_complete().unwrap().len(), 2);
        assert_eq!(merger.next_complete().unwrap().len(), 1);
        assert!(merger.next_complete().is_none());
        assert_eq!(merger.totals.operations[0].counts.started, 3);
    }
}
