//! Merges the statistics of several client groups. The first operation is the transactions of all groups;
//! each group is a type of transaction under the group's name, followed by the group's operations as
//! `group:operation`.
//!
//! Threads record the operations of their group alone. Groups are merged once per interval, and once at the
//! end.

use super::interval_merge::{OperationTotals, WindowTotals};
use loadcell_core::record::{
    ClientCounts, Counts, IntervalStats, Kind, LifetimeCounts, Operation, TRANSACTION,
};

/// Maps the operations of groups to those of the load.
pub struct GroupMerger {
    pub operations: Vec<Operation>,
    /// Index of each group's first operation.
    bases: Vec<usize>,
    /// The merged interval.
    interval: IntervalStats,
}

impl GroupMerger {
    /// Creates a merger of groups, given by their names and operations.
    pub fn new<'a>(groups: impl Iterator<Item = (&'a str, &'a [Operation])>) -> Self {
        let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
        let mut bases = Vec::new();
        for (group, group_operations) in groups {
            bases.push(operations.len());
            // Leaked: names live as long as the process, which makes one load.
            let name = |name: String| &*Box::leak(name.into_boxed_str());
            operations.extend(group_operations.iter().enumerate().map(|(index, operation)| match index {
                0 => Operation { name: name(group.to_string()), kind: Kind::Type },
                _ => Operation { name: name(format!("{group}:{}", operation.name)), kind: operation.kind },
            }));
        }
        let interval = IntervalStats::new(operations.len());
        Self { operations, bases, interval }
    }

    /// Merges the groups' statistics of one interval; none for a group that does not take part in it.
    pub fn merge_interval<'s>(&mut self, intervals: impl Iterator<Item = Option<&'s IntervalStats>>) {
        self.interval.clear();
        for (&base, interval) in self.bases.iter().zip(intervals) {
            let Some(interval) = interval else { continue };
            self.interval.span = interval.span;
            self.interval.merge_all_but_operations(interval);
            self.interval.operations[TRANSACTION.index()].merge(&interval.operations[TRANSACTION.index()]);
            for (stats, other) in self.interval.operations[base..].iter_mut().zip(&interval.operations) {
                stats.merge(other);
            }
        }
    }

    /// The interval that was merged last.
    pub fn interval(&self) -> &IntervalStats {
        &self.interval
    }

    /// Merges the groups' totals; errors stay with the groups.
    pub fn totals<'t>(&self, groups: impl Iterator<Item = &'t WindowTotals>) -> WindowTotals {
        let mut merged = WindowTotals {
            operations: vec![OperationTotals::default(); self.operations.len()],
            ..WindowTotals::default()
        };
        for (&base, totals) in self.bases.iter().zip(groups) {
            merged.operations[TRANSACTION.index()].merge(&totals.operations[TRANSACTION.index()]);
            merged.operations[base..base + totals.operations.len()].clone_from_slice(&totals.operations);
            merged.add_all_but_operations(totals);
        }
        merged
    }

    /// Merges the groups' counts from the first transaction to the last.
    pub fn lifetime<'l>(&self, groups: impl Iterator<Item = &'l LifetimeCounts>) -> LifetimeCounts {
        let mut merged = LifetimeCounts::new(self.operations.len());
        for (&base, lifetime) in self.bases.iter().zip(groups) {
            let mut shifted =
                LifetimeCounts { operations: vec![Counts::default(); base], ..lifetime.clone() };
            shifted.by_client = ClientCounts::mixed(); // Each group numbers its own.
            shifted.operations[TRANSACTION.index()] = lifetime.operations[TRANSACTION.index()];
            shifted.operations.extend(&lifetime.operations);
            merged.add(&shifted);
        }
        merged
    }

    /// Operations of a group, under their names in the load.
    pub fn group_operations(&self, index: usize) -> &[Operation] {
        let end = self.bases.get(index + 1).copied().unwrap_or(self.operations.len());
        &self.operations[self.bases[index]..end]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval_merge::IntervalMerger;
    use loadcell_core::record::{Backlog, Phase, Span};

    fn operation(name: &'static str, kind: Kind) -> Operation {
        Operation { name, kind }
    }

    /// Operations of two groups: one with statements alone, one with types of transactions, too.
    fn groups() -> [Vec<Operation>; 2] {
        let transaction = operation("transaction", Kind::Transaction);
        let reads = vec![transaction.clone(), operation("point", Kind::Read)];
        [reads, vec![transaction, operation("payment", Kind::Type), operation("update", Kind::Write)]]
    }

    fn group_merger() -> GroupMerger {
        let groups = groups();
        GroupMerger::new(["ro", "rw"].into_iter().zip(groups.iter().map(Vec::as_slice)))
    }

    #[test]
    fn a_group_is_a_type_of_transaction_and_prefixes_its_operations() {
        let merger = group_merger();
        let operations: Vec<_> =
            merger.operations.iter().map(|operation| (operation.name, operation.kind)).collect();
        let expected = [
            ("transaction", Kind::Transaction),
            ("ro", Kind::Type),
            ("ro:point", Kind::Read),
            ("rw", Kind::Type),
            ("rw:payment", Kind::Type),
            ("rw:update", Kind::Write),
        ];
        assert_eq!(operations, expected);
        assert_eq!(merger.group_operations(0), &merger.operations[1..3]);
        assert_eq!(merger.group_operations(1), &merger.operations[3..]);
    }

    #[test]
    fn a_group_without_an_interval_adds_nothing_to_it() {
        let mut merger = group_merger();
        let mut interval = IntervalStats::new(3);
        (interval.connected, interval.operations[0].counts.started) = (4, 9);
        interval.span = Span { phase: Phase::Measure, index: 3, start: 5, end: 7 };
        merger.merge_interval([None, Some(&interval)].into_iter());
        let merged = merger.interval();
        assert_eq!((merged.span.key(), merged.connected), ((Phase::Measure, 3), 4));
        let started: Vec<_> = merged.operations.iter().map(|stats| stats.counts.started).collect();
        assert_eq!(started, [9, 0, 0, 9, 0, 0]);
    }

    /// Statistics of one thread, from (operation, response time) of its successes.
    fn recorded(operations: usize, index: u32, times: &[(usize, u64)]) -> Box<IntervalStats> {
        let mut interval = Box::new(IntervalStats::new(operations));
        interval.span = Span { phase: Phase::Measure, index, start: 0, end: 1 };
        for &(operation, time) in times {
            let stats = &mut interval.operations[operation % operations];
            stats.counts.started += 1;
            stats.counts.succeeded += 1;
            stats.response.record(time);
            stats.service.record(time / 2);
            interval.queries.read += 1;
            interval.presence_ns += time;
        }
        interval.lateness.record(times.len() as u64);
        interval.backlog =
            Backlog { waiting: times.len() as u64, peak: 2 * times.len() as u64, overdue_ns: 3 };
        interval
    }

    proptest! {
        /// Two groups of two threads: the merged statistics agree interval by interval and at the end,
        /// without loss or double counts.
        #[test]
        fn the_merged_load_is_the_sum_of_its_groups(
            times in prop::collection::vec(
                prop::collection::vec((0usize..3, 1u64..1_000_000_000), 0..20), 4 * 3
            )
        ) {
            let (mut merger, groups) = (group_merger(), groups());
            let mut mergers: Vec<_> =
                groups.iter().map(|operations| IntervalMerger::new(2, operations)).collect();
            let mut expected = vec![(0, 0); merger.operations.len()];
            for (interval, threads) in times.chunks(4).enumerate() {
                for (thread, times) in threads.iter().enumerate() {
                    let interval = recorded(groups[thread / 2].len(), interval as u32, times);
                    mergers[thread / 2].put(thread % 2, interval);
                }
                let intervals: Vec<_> =
                    mergers.iter_mut().map(|merger| merger.next_complete().unwrap()).collect();
                merger.merge_interval(intervals.iter().map(|intervals| Some(&*intervals[0].1)));
                for (expected, stats) in expected.iter_mut().zip(&merger.interval().operations) {
                    prop_assert_eq!(stats.response.count(), stats.counts.succeeded);
                    *expected = (expected.0 + stats.counts.succeeded, expected.1.max(stats.response.max()));
                }
                let waiting: usize = threads.iter().map(Vec::len).sum();
                prop_assert_eq!(merger.interval().backlog.waiting, waiting as u64);
            }
            let totals = merger.totals(mergers.iter().map(|merger| &merger.totals));
            let summed: Vec<_> = totals
                .operations
                .iter()
                .map(|total| (total.counts.succeeded, total.response.max()))
                .collect();
            prop_assert_eq!(&summed, &expected);
            for total in &totals.operations {
                prop_assert_eq!(total.attempted(), total.counts.succeeded);
                prop_assert_eq!(total.service.count(), total.counts.succeeded);
            }
            prop_assert_eq!(summed[0].0, summed[1].0 + summed[3].0);
            prop_assert_eq!(summed[0].1, summed[1].1.max(summed[3].1));
            let all = times.iter().flatten();
            prop_assert_eq!(totals.queries.read, all.clone().count() as u64);
            prop_assert_eq!(totals.presence_ns, all.map(|(_, time)| time).sum::<u64>());
            prop_assert_eq!(totals.lateness.count(), 4 * 3);
            prop_assert_eq!(totals.threads.len(), 4);
        }
    }

    #[test]
    fn lifetime_counts_keep_their_operations() {
        let merger = group_merger();
        let lifetime = |succeeded: &[u64]| LifetimeCounts {
            operations: succeeded
                .iter()
                .map(|&succeeded| Counts { succeeded, ..Counts::default() })
                .collect(),
            rows_changed: 5,
            connects: 2,
            ..LifetimeCounts::default()
        };
        let merged = merger.lifetime([lifetime(&[7, 70]), lifetime(&[9, 4, 90])].iter());
        let succeeded: Vec<_> = merged.operations.iter().map(|counts| counts.succeeded).collect();
        assert_eq!(succeeded, [16, 7, 70, 9, 4, 90]);
        assert_eq!((merged.rows_changed, merged.connects), (10, 4));
    }
}
