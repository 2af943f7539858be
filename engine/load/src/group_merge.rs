//! Several groups of clients in one record. Its first operation is the transactions of all of them; each group is a type of
//! transaction under the group's name, followed by the group's own operations as `group:operation`.
//!
//! Threads know nothing of it: each records its own group's operations. They are put together once an interval, and once
//! at the end.

use super::interval_merge::{OperationTotals, WindowTotals};
use loadcell_core::record::{Counts, IntervalStats, Kind, LifetimeCounts, Operation, TRANSACTION};

/// How the operations of groups become those of the whole.
pub struct GroupMerger {
    pub operations: Vec<Operation>,
    /// Where the operations of each group begin.
    bases: Vec<usize>,
    /// The whole of one interval.
    interval: IntervalStats,
}

impl GroupMerger {
    /// Of groups given by their names and operations.
    pub fn of<'a>(groups: impl Iterator<Item = (&'a str, &'a [Operation])>) -> Self {
        let mut operations = vec![Operation { name: "transaction", kind: Kind::Transaction }];
        let mut bases = Vec::new();
        for (group, own) in groups {
            bases.push(operations.len());
            // Names live as long as the process, which makes one load.
            let name = |name: String| &*Box::leak(name.into_boxed_str());
            operations.extend(own.iter().enumerate().map(|(index, operation)| match index {
                0 => Operation { name: name(group.to_string()), kind: Kind::Type },
                _ => Operation { name: name(format!("{group}:{}", operation.name)), kind: operation.kind },
            }));
        }
        let interval = IntervalStats::new(operations.len());
        Self { operations, bases, interval }
    }

    /// Brings the groups' records of one interval together; those that took no part in it have none.
    pub fn bring_together<'s>(&mut self, intervals: impl Iterator<Item = Option<&'s IntervalStats>>) {
        self.interval.clear();
        for (&base, interval) in self.bases.iter().zip(intervals) {
            let Some(interval) = interval else { continue };
            self.interval.span = interval.span;
            self.interval.merge_all_but_operations(interval);
            self.interval.operations[TRANSACTION.index()].merge(&interval.operations[TRANSACTION.index()]);
            for (mine, theirs) in self.interval.operations[base..].iter_mut().zip(&interval.operations) {
                mine.merge(theirs);
            }
        }
    }

    /// What was brought together last.
    pub fn whole(&self) -> &IntervalStats {
        &self.interval
    }

    /// The groups' totals together; their errors stay with the groups.
    pub fn totals<'t>(&self, groups: impl Iterator<Item = &'t WindowTotals>) -> WindowTotals {
        let mut whole = WindowTotals {
            operations: vec![OperationTotals::default(); self.operations.len()],
            ..WindowTotals::default()
        };
        for (&base, totals) in self.bases.iter().zip(groups) {
            whole.operations[TRANSACTION.index()].merge(&totals.operations[TRANSACTION.index()]);
            whole.operations[base..base + totals.operations.len()].clone_from_slice(&totals.operations);
            whole.add_all_but_operations(totals);
        }
        whole
    }

    /// The groups' counts from the first transaction to the last.
    pub fn lifetime<'l>(&self, groups: impl Iterator<Item = &'l LifetimeCounts>) -> LifetimeCounts {
        let mut whole = LifetimeCounts::new(self.operations.len());
        for (&base, lifetime) in self.bases.iter().zip(groups) {
            let mut shifted =
                LifetimeCounts { operations: vec![Counts::default(); base], ..lifetime.clone() };
            shifted.operations[TRANSACTION.index()] = lifetime.operations[TRANSACTION.index()];
            shifted.operations.extend(&lifetime.operations);
            whole.add(&shifted);
        }
        whole
    }

    /// The operations of a group, as the whole has them.
    pub fn of_group(&self, index: usize) -> &[Operation] {
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

    /// Of two groups: one with statements only, one that counts by type, too.
    fn groups() -> [Vec<Operation>; 2] {
        let transaction = operation("transaction", Kind::Transaction);
        let reads = vec![transaction.clone(), operation("point", Kind::Read)];
        [reads, vec![transaction, operation("payment", Kind::Type), operation("update", Kind::Write)]]
    }

    fn groups_merger() -> GroupMerger {
        let groups = groups();
        GroupMerger::of(["ro", "rw"].into_iter().zip(groups.iter().map(Vec::as_slice)))
    }

    #[test]
    fn a_group_is_a_type_of_transaction_and_its_operations_bear_its_name() {
        let groups_merger = groups_merger();
        let found: Vec<_> =
            groups_merger.operations.iter().map(|operation| (operation.name, operation.kind)).collect();
        let expected = [
            ("transaction", Kind::Transaction),
            ("ro", Kind::Type),
            ("ro:point", Kind::Read),
            ("rw", Kind::Type),
            ("rw:payment", Kind::Type),
            ("rw:update", Kind::Write),
        ];
        assert_eq!(found, expected);
        assert_eq!(groups_merger.of_group(0), &groups_merger.operations[1..3]);
        assert_eq!(groups_merger.of_group(1), &groups_merger.operations[3..]);
    }

    #[test]
    fn a_group_that_took_no_part_in_an_interval_adds_nothing_to_it() {
        let mut groups_merger = groups_merger();
        let mut interval = IntervalStats::new(3);
        (interval.connected, interval.operations[0].counts.started) = (4, 9);
        interval.span = Span { phase: Phase::Measure, index: 3, start: 5, end: 7 };
        groups_merger.bring_together([None, Some(&interval)].into_iter());
        let whole = groups_merger.whole();
        assert_eq!((whole.span.key(), whole.connected), ((Phase::Measure, 3), 4));
        let started: Vec<_> = whole.operations.iter().map(|stats| stats.counts.started).collect();
        assert_eq!(started, [9, 0, 0, 9, 0, 0]);
    }

    /// What one thread recorded: of each operation the response times of what succeeded.
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
        /// Whatever two groups of two threads record, their whole is the same interval by interval and at the end, and
        /// nothing is lost or counted twice on the way.
        #[test]
        fn the_whole_is_the_sum_of_its_groups(
            times in prop::collection::vec(prop::collection::vec((0usize..3, 1u64..1_000_000_000), 0..20), 4 * 3)
        ) {
            let (mut groups_merger, groups) = (groups_merger(), groups());
            let mut merger: Vec<_> = groups.iter().map(|operations| IntervalMerger::new(2, operations)).collect();
            let mut seen = vec![(0, 0); groups_merger.operations.len()];
            for (interval, of_threads) in times.chunks(4).enumerate() {
                for (thread, times) in of_threads.iter().enumerate() {
                    let interval = recorded(groups[thread / 2].len(), interval as u32, times);
                    merger[thread / 2].put(thread % 2, interval);
                }
                let intervals: Vec<_> = merger.iter_mut().map(|merger| merger.take().unwrap()).collect();
                groups_merger.bring_together(intervals.iter().map(|intervals| Some(&*intervals[0].1)));
                for (seen, stats) in seen.iter_mut().zip(&groups_merger.whole().operations) {
                    prop_assert_eq!(stats.response.count(), stats.counts.succeeded);
                    *seen = (seen.0 + stats.counts.succeeded, seen.1.max(stats.response.max()));
                }
                let waiting: usize = of_threads.iter().map(Vec::len).sum();
                prop_assert_eq!(groups_merger.whole().backlog.waiting, waiting as u64);
            }
            let totals = groups_merger.totals(merger.iter().map(|merger| &merger.totals));
            let summed: Vec<_> =
                totals.operations.iter().map(|total| (total.counts.succeeded, total.response.max())).collect();
            prop_assert_eq!(&summed, &seen);
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
    fn counts_of_a_life_keep_their_places() {
        let groups_merger = groups_merger();
        let life = |succeeded: &[u64]| LifetimeCounts {
            operations: succeeded
                .iter()
                .map(|&succeeded| Counts { succeeded, ..Counts::default() })
                .collect(),
            rows_changed: 5,
            connects: 2,
            ..LifetimeCounts::default()
        };
        let whole = groups_merger.lifetime([life(&[7, 70]), life(&[9, 4, 90])].iter());
        let succeeded: Vec<_> = whole.operations.iter().map(|counts| counts.succeeded).collect();
        assert_eq!(succeeded, [16, 7, 70, 9, 4, 90]);
        assert_eq!((whole.rows_changed, whole.connects), (10, 4));
    }
}
