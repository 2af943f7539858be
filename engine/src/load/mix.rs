//! Several groups of clients in one record. Its first operation is the transactions of all of them; each group is a type of
//! transaction under the group's name, followed by the group's own operations as `group:operation`.
//!
//! Threads know nothing of it: each records its own group's operations. They are put together once an interval, and once
//! at the end.

use super::books::{Total, Totals};
use crate::record::{Counts, Kind, Lifetime, Operation, Slot, TRANSACTION};

/// How the operations of groups become those of the whole.
pub struct Mix {
    pub operations: Vec<Operation>,
    /// Where the operations of each group begin.
    bases: Vec<usize>,
    /// The whole of one interval.
    slot: Slot,
}

impl Mix {
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
        let slot = Slot::new(operations.len());
        Self { operations, bases, slot }
    }

    /// Brings the groups' records of one interval together; those that took no part in it have none.
    pub fn bring_together<'s>(&mut self, slots: impl Iterator<Item = Option<&'s Slot>>) {
        self.slot.clear();
        for (&base, slot) in self.bases.iter().zip(slots) {
            let Some(slot) = slot else { continue };
            self.slot.span = slot.span;
            self.slot.merge_all_but_operations(slot);
            self.slot.tallies[TRANSACTION.index()].merge(&slot.tallies[TRANSACTION.index()]);
            for (mine, theirs) in self.slot.tallies[base..].iter_mut().zip(&slot.tallies) {
                mine.merge(theirs);
            }
        }
    }

    /// What was brought together last.
    pub fn whole(&self) -> &Slot {
        &self.slot
    }

    /// The groups' totals together; their errors stay with the groups.
    pub fn totals<'t>(&self, groups: impl Iterator<Item = &'t Totals>) -> Totals {
        let mut whole =
            Totals { operations: vec![Total::default(); self.operations.len()], ..Totals::default() };
        for (&base, totals) in self.bases.iter().zip(groups) {
            whole.operations[TRANSACTION.index()].merge(&totals.operations[TRANSACTION.index()]);
            whole.operations[base..base + totals.operations.len()].clone_from_slice(&totals.operations);
            whole.add_all_but_operations(totals);
        }
        whole
    }

    /// The groups' counts from the first transaction to the last.
    pub fn lifetime<'l>(&self, groups: impl Iterator<Item = &'l Lifetime>) -> Lifetime {
        let mut whole = Lifetime::new(self.operations.len());
        for (&base, lifetime) in self.bases.iter().zip(groups) {
            let mut shifted = Lifetime { operations: vec![Counts::default(); base], ..lifetime.clone() };
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
    use crate::load::books::Books;
    use crate::record::{Backlog, Phase, Span};

    fn operation(name: &'static str, kind: Kind) -> Operation {
        Operation { name, kind }
    }

    /// Of two groups: one with statements only, one that counts by type, too.
    fn groups() -> [Vec<Operation>; 2] {
        let transaction = operation("transaction", Kind::Transaction);
        let reads = vec![transaction.clone(), operation("point", Kind::Read)];
        [reads, vec![transaction, operation("payment", Kind::Type), operation("update", Kind::Write)]]
    }

    fn mix() -> Mix {
        let groups = groups();
        Mix::of(["ro", "rw"].into_iter().zip(groups.iter().map(Vec::as_slice)))
    }

    #[test]
    fn a_group_is_a_type_of_transaction_and_its_operations_bear_its_name() {
        let mix = mix();
        let found: Vec<_> = mix.operations.iter().map(|operation| (operation.name, operation.kind)).collect();
        let expected = [
            ("transaction", Kind::Transaction),
            ("ro", Kind::Type),
            ("ro:point", Kind::Read),
            ("rw", Kind::Type),
            ("rw:payment", Kind::Type),
            ("rw:update", Kind::Write),
        ];
        assert_eq!(found, expected);
        assert_eq!(mix.of_group(0), &mix.operations[1..3]);
        assert_eq!(mix.of_group(1), &mix.operations[3..]);
    }

    #[test]
    fn a_group_that_took_no_part_in_an_interval_adds_nothing_to_it() {
        let mut mix = mix();
        let mut slot = Slot::new(3);
        (slot.connected, slot.tallies[0].counts.started) = (4, 9);
        slot.span = Span { phase: Phase::Measure, index: 3, start: 5, end: 7 };
        mix.bring_together([None, Some(&slot)].into_iter());
        let whole = mix.whole();
        assert_eq!((whole.span.key(), whole.connected), ((Phase::Measure, 3), 4));
        let started: Vec<_> = whole.tallies.iter().map(|tally| tally.counts.started).collect();
        assert_eq!(started, [9, 0, 0, 9, 0, 0]);
    }

    /// What one thread recorded: of each operation the response times of what succeeded.
    fn recorded(operations: usize, index: u32, times: &[(usize, u64)]) -> Box<Slot> {
        let mut slot = Box::new(Slot::new(operations));
        slot.span = Span { phase: Phase::Measure, index, start: 0, end: 1 };
        for &(operation, time) in times {
            let tally = &mut slot.tallies[operation % operations];
            tally.counts.started += 1;
            tally.counts.succeeded += 1;
            tally.response.record(time);
            tally.service.record(time / 2);
            slot.queries.read += 1;
            slot.presence_ns += time;
        }
        slot.lateness.record(times.len() as u64);
        slot.backlog = Backlog { waiting: times.len() as u64, peak: 2 * times.len() as u64, overdue_ns: 3 };
        slot
    }

    proptest! {
        /// Whatever two groups of two threads record, their whole is the same interval by interval and at the end, and
        /// nothing is lost or counted twice on the way.
        #[test]
        fn the_whole_is_the_sum_of_its_groups(
            times in prop::collection::vec(prop::collection::vec((0usize..3, 1u64..1_000_000_000), 0..20), 4 * 3)
        ) {
            let (mut mix, groups) = (mix(), groups());
            let mut books: Vec<_> = groups.iter().map(|operations| Books::new(2, operations)).collect();
            let mut seen = vec![(0, 0); mix.operations.len()];
            for (interval, of_threads) in times.chunks(4).enumerate() {
                for (thread, times) in of_threads.iter().enumerate() {
                    let slot = recorded(groups[thread / 2].len(), interval as u32, times);
                    books[thread / 2].put(thread % 2, slot);
                }
                let slots: Vec<_> = books.iter_mut().map(|books| books.take().unwrap()).collect();
                mix.bring_together(slots.iter().map(|slots| Some(&*slots[0].1)));
                for (seen, tally) in seen.iter_mut().zip(&mix.whole().tallies) {
                    prop_assert_eq!(tally.response.count(), tally.counts.succeeded);
                    *seen = (seen.0 + tally.counts.succeeded, seen.1.max(tally.response.max()));
                }
                let waiting: usize = of_threads.iter().map(Vec::len).sum();
                prop_assert_eq!(mix.whole().backlog.waiting, waiting as u64);
            }
            let totals = mix.totals(books.iter().map(|books| &books.totals));
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
        let mix = mix();
        let life = |succeeded: &[u64]| Lifetime {
            operations: succeeded
                .iter()
                .map(|&succeeded| Counts { succeeded, ..Counts::default() })
                .collect(),
            rows_changed: 5,
            connects: 2,
            ..Lifetime::default()
        };
        let whole = mix.lifetime([life(&[7, 70]), life(&[9, 4, 90])].iter());
        let succeeded: Vec<_> = whole.operations.iter().map(|counts| counts.succeeded).collect();
        assert_eq!(succeeded, [16, 7, 70, 9, 4, 90]);
        assert_eq!((whole.rows_changed, whole.connects), (10, 4));
    }
}
