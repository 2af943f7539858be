//! Records without an answer, by index: which of them are answered when answers come in any order.

use std::collections::{BTreeMap, VecDeque};

use super::runs::{Runs, Times};
use loadcell_core::clock::Nanos;

/// Most records from the oldest one without an answer to the last one sent: 64 MiB of instants at most.
pub const MOST_OUTSTANDING: u64 = 1 << 22;

/// Most records that were overtaken by a whole window; of more the oldest are lost.
const MOST_OVERTAKEN: usize = 1 << 16;

/// Most records without an answer whose later answers differ from repeated ones.
const MOST_REMOVED: usize = 1 << 16;

/// A record without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    pub index: u64,
    pub times: Times,
    pub key: u64,
}

/// Meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Ended(Outstanding),
    /// The record was answered before.
    Repeated,
    /// The record was abandoned before.
    Late,
    /// There is no such record.
    Unknown,
}

/// Records in progress. Memory is bounded, and does not grow with the number of records.
#[derive(Debug, Default)]
pub struct Window {
    /// From the oldest record without an answer on.
    runs: Runs,
    /// One bit for each record from `first_word * 64` on: it is answered.
    answered: VecDeque<u64>,
    first_word: u64,
    /// Hashes of keys, where they are compared, of the records of `runs`.
    keys: VecDeque<u64>,
    keyed: bool,
    /// Records without an answer that were overtaken by a whole window, by index.
    overtaken: VecDeque<Outstanding>,
    /// Meaning of answers to records that were abandoned or never sent, by index: the last `MOST_REMOVED`.
    removed: BTreeMap<u64, Answer>,
    /// Index after the highest answered record.
    after_highest: u64,
    outstanding: u64,
}

impl Window {
    pub fn new(keyed: bool) -> Self {
        Self { keyed, ..Self::default() }
    }

    /// Number of records without an answer.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Number of records that may be added.
    #[inline]
    pub fn room(&self) -> u64 {
        MOST_OUTSTANDING.saturating_sub(self.runs.len())
    }

    /// True if there is no room, and none can be made.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.room() == 0 && !self.is_overtaken(self.runs.start())
    }

    /// Adds `count` records, of which there is room for at least one.
    #[inline]
    pub fn push(&mut self, count: u64, times: Times) {
        self.runs.push(count, times);
        self.outstanding += count;
        let words = self.runs.end().div_ceil(64) - self.first_word;
        self.answered.resize(self.answered.len().max(words as usize), 0);
    }

    /// Adds the keys of records that were added, or are next.
    pub fn push_keys(&mut self, keys: &[u64]) {
        self.keys.extend(keys);
    }

    /// Adds a record that needs no answer.
    pub fn skip(&mut self) {
        let index = self.runs.end();
        self.push(1, Times::default());
        if self.keyed {
            self.keys.push_back(0);
        }
        self.outstanding -= 1;
        self.note_removed(index, Answer::Unknown);
        self.answered[(index / 64 - self.first_word) as usize] |= 1 << (index % 64);
        if index == self.runs.start() {
            self.advance();
        }
    }

    /// Notes the answer for the record `index`.
    #[inline]
    pub fn answer(&mut self, index: u64) -> Answer {
        if index >= self.runs.end() {
            return Answer::Unknown;
        }
        let start = self.runs.start();
        if index < start {
            return self.answer_overtaken(index);
        }
        let word = &mut self.answered[(index / 64 - self.first_word) as usize];
        let bit = 1 << (index % 64);
        if *word & bit != 0 {
            return self.after_end(index);
        }
        *word |= bit;
        let times = self.runs.times(index);
        let key = if self.keyed { self.keys[(index - start) as usize] } else { 0 };
        self.outstanding -= 1;
        self.after_highest = self.after_highest.max(index + 1);
        if index == start {
            self.advance();
        }
        Answer::Ended(Outstanding { index, times, key })
    }

    #[cold]
    fn answer_overtaken(&mut self, index: u64) -> Answer {
        match self.overtaken.binary_search_by_key(&index, |record| record.index) {
            Ok(position) => {
                self.outstanding -= 1;
                self.overtaken.remove(position).map_or(Answer::Repeated, Answer::Ended)
            }
            Err(_) => self.after_end(index),
        }
    }

    /// Meaning of an answer to a record that has ended.
    #[cold]
    fn after_end(&mut self, index: u64) -> Answer {
        match self.removed.get_mut(&index) {
            // A second answer after the late one is repeated.
            Some(meaning @ Answer::Late) => std::mem::replace(meaning, Answer::Repeated),
            Some(meaning) => *meaning,
            None => Answer::Repeated,
        }
    }

    #[cold]
    fn note_removed(&mut self, index: u64, meaning: Answer) {
        if self.removed.len() == MOST_REMOVED {
            self.removed.pop_first();
        }
        self.removed.insert(index, meaning);
    }

    /// True if a record was answered.
    pub fn has_answers(&self) -> bool {
        self.after_highest > 0
    }

    /// True if a later record than `index` is answered.
    pub fn is_overtaken(&self, index: u64) -> bool {
        index < self.after_highest
    }

    /// Moves the start to the first record without an answer.
    #[inline]
    fn advance(&mut self) {
        let (start, end) = (self.runs.start(), self.runs.end());
        let mut to = start;
        while to < end {
            let answered = self.answered[(to / 64 - self.first_word) as usize] >> (to % 64);
            let ones = u64::from(answered.trailing_ones());
            to += ones;
            if ones < 64 - (to - ones) % 64 {
                break;
            }
        }
        self.remove(to.min(end) - start);
    }

    /// Removes the first `count` records.
    #[inline]
    fn remove(&mut self, count: u64) {
        self.runs.take(count, |_, _| {});
        if self.keyed {
            self.keys.drain(..(count as usize).min(self.keys.len()));
        }
        let words = (self.runs.start() / 64 - self.first_word) as usize;
        if words > 0 {
            self.answered.drain(..words.min(self.answered.len()));
            self.first_word += words as u64;
        }
    }

    /// The oldest record without an answer.
    pub fn oldest(&self) -> Option<Outstanding> {
        self.overtaken.front().copied().or_else(|| self.first())
    }

    /// The oldest record without an answer within the window.
    fn first(&self) -> Option<Outstanding> {
        let index = self.runs.start();
        let key = self.keys.front().copied().unwrap_or(0);
        self.runs.first().map(|times| Outstanding { index, times, key })
    }

    /// Removes the oldest record without an answer.
    pub fn give_up_oldest(&mut self) -> Option<Outstanding> {
        let record = self.overtaken.pop_front().or_else(|| self.pop_first())?;
        self.outstanding -= 1;
        self.note_removed(record.index, Answer::Late);
        Some(record)
    }

    fn pop_first(&mut self) -> Option<Outstanding> {
        let first = self.first()?;
        self.remove(1);
        self.advance();
        Some(first)
    }

    /// Makes room in a full window whose oldest record was overtaken: it is kept apart. Returns a record that
    /// is lost, if too many are kept apart.
    #[cold]
    pub fn make_room(&mut self) -> Option<Outstanding> {
        if self.room() > 0 || self.is_full() {
            return None;
        }
        let first = self.pop_first()?;
        self.overtaken.push_back(first);
        if self.overtaken.len() <= MOST_OVERTAKEN {
            return None;
        }
        self.give_up_oldest()
    }

    /// Instant at which the oldest record without an answer was sent.
    pub fn oldest_sent(&self) -> Option<Nanos> {
        self.oldest().map(|record| record.times.sent)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const TIMES: Times = Times { due: 1, sent: 2 };

    fn window(count: u64) -> Window {
        let mut window = Window::new(false);
        window.push(count, TIMES);
        window
    }

    fn is_ended(answer: Answer) -> bool {
        matches!(answer, Answer::Ended(_))
    }

    #[test]
    fn each_record_is_answered_once() {
        let mut window = window(3);
        assert!(is_ended(window.answer(1)) && is_ended(window.answer(0)));
        assert_eq!(
            (window.answer(1), window.answer(3), window.answer(0)),
            (Answer::Repeated, Answer::Unknown, Answer::Repeated)
        );
        assert_eq!((window.outstanding(), window.oldest().unwrap().index), (1, 2));
        window.push(1, TIMES);
        assert!(is_ended(window.answer(3)) && window.is_overtaken(2) && !window.is_overtaken(4));
        assert_eq!(window.give_up_oldest().unwrap().index, 2);
        assert_eq!((window.oldest(), window.outstanding(), window.give_up_oldest()), (None, 0, None));
        assert_eq!((window.answer(2), window.answer(2)), (Answer::Late, Answer::Repeated));
    }

    #[test]
    fn a_skipped_record_needs_no_answer() {
        let mut window = window(1);
        window.skip();
        window.push(1, TIMES);
        assert_eq!((window.outstanding(), window.answer(1)), (2, Answer::Unknown));
        assert!(is_ended(window.answer(0)));
        assert_eq!((window.answer(1), window.oldest().unwrap().index), (Answer::Unknown, 2));
        assert!(is_ended(window.answer(2)));
        window.skip();
        assert_eq!((window.outstanding(), window.oldest()), (0, None));
    }

    #[test]
    fn a_full_window_keeps_overtaken_records_apart() {
        let mut window = window(MOST_OUTSTANDING);
        assert_eq!((window.room(), window.make_room()), (0, None));
        assert_eq!(window.room(), 0, "nothing was overtaken: there is no room");
        assert!(is_ended(window.answer(1)) && is_ended(window.answer(2)));
        assert_eq!((window.make_room(), window.room()), (None, 3));
        assert_eq!((window.outstanding(), window.oldest().unwrap().index), (MOST_OUTSTANDING - 2, 0));
        assert!(is_ended(window.answer(0)));
        assert_eq!((window.answer(0), window.oldest().unwrap().index), (Answer::Repeated, 3));
    }

    #[test]
    fn memory_does_not_grow_with_abandoned_records() {
        let mut window = Window::new(false);
        for _ in 0..3 * MOST_REMOVED {
            window.push(1, TIMES);
            window.give_up_oldest();
        }
        assert_eq!(window.removed.len(), MOST_REMOVED);
        assert_eq!(window.answer(3 * MOST_REMOVED as u64 - 1), Answer::Late);
    }

    #[test]
    fn memory_does_not_grow_with_answered_records() {
        let mut window = Window::new(true);
        for index in 0..200_000u64 {
            window.push_keys(&[index]);
            window.push(1, Times { due: index, sent: index });
            if index >= 100 {
                let Answer::Ended(record) = window.answer(index - 100) else { panic!("it is in progress") };
                assert_eq!((record.key, record.times.sent), (index - 100, index - 100));
            }
        }
        assert!(window.answered.capacity() < 100 && window.keys.capacity() < 1_000);
    }

    proptest! {
        /// Against a set of the records in progress.
        #[test]
        fn any_order_of_answers_is_judged(answers in prop::collection::vec((0u64..300, 0u64..4), 1..400)) {
            let mut window = Window::new(false);
            let (mut open, mut sent) = (BTreeSet::new(), 0u64);
            for (index, more) in answers {
                if more > 0 {
                    window.push(more, Times { due: sent, sent });
                    open.extend(sent..sent + more);
                    sent += more;
                }
                let expected = match (index < sent, open.remove(&index)) {
                    (false, _) => "unknown",
                    (true, true) => "ended",
                    (true, false) => "repeated",
                };
                let result = match window.answer(index) {
                    Answer::Ended(record) if record.index == index && record.times.sent <= index => "ended",
                    Answer::Ended(_) => "wrong",
                    Answer::Repeated => "repeated",
                    Answer::Late => "late",
                    Answer::Unknown => "unknown",
                };
                prop_assert_eq!(result, expected);
                prop_assert_eq!(window.outstanding(), open.len() as u64);
                prop_assert_eq!(window.oldest().map(|record| record.index), open.first().copied());
            }
        }
    }
}
