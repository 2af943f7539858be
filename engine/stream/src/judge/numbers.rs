//! Answers by the number of each record.

use super::{End, Judge, LOST, failure, no_answer, number, overtaken_failure};
use crate::key_order::KeyOrder;
use crate::options::Order;
use crate::runs::Times;
use crate::source::Place;
use crate::totals::Judged;
use crate::window::{Answer, Outstanding, Window};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::Recorder;

// Codes of answers that fail no record: they are reported as events, and counted.
const DUPLICATE: &str = "stream.duplicate";
const LATE: &str = "stream.late";
const UNKNOWN: &str = "stream.unknown";
const REORDERED: &str = "stream.reordered";

pub struct EachJudge {
    window: Window,
    position: Place,
    /// Numbers of other connections are read here, too.
    shared: bool,
    order: Order,
    key_order: Option<KeyOrder>,
    /// Index of the first record that the kernel has not taken completely.
    taken: u64,
    /// Answered records with the same times that are not recorded yet.
    answered: Option<(Times, u64)>,
    judged: Judged,
}

impl EachJudge {
    /// `shared`: the answers are those of all connections.
    pub fn new(position: Place, order: Order, shared: bool) -> Self {
        let keyed = order == Order::Key;
        Self {
            window: Window::new(keyed),
            position,
            shared,
            order,
            key_order: keyed.then(|| KeyOrder::new(position.connections)),
            taken: 0,
            answered: None,
            judged: Judged::default(),
        }
    }

    #[inline]
    fn check_order(&mut self, record: &Outstanding, overtaken: bool, at: Nanos, recorder: &mut Recorder) {
        let in_order = match (self.order, &mut self.key_order) {
            (Order::All, _) => !overtaken,
            (Order::Key, Some(key_order)) => key_order.answer(record.key, record.index),
            _ => true,
        };
        if !in_order {
            self.judged.reordered += 1;
            let number = self.position.number(record.index);
            let message = format!("record {number} was answered after a later record");
            recorder.report_error(at, REORDERED, &message);
        }
    }

    #[inline]
    fn succeed(&mut self, times: Times, at: Nanos, recorder: &mut Recorder) {
        match &mut self.answered {
            Some((answered, count)) if *answered == times => *count += 1,
            _ => {
                self.flush(at, recorder);
                self.answered = Some((times, 1));
            }
        }
    }

    #[cold]
    fn unknown(&mut self, number: u64, at: Nanos, recorder: &mut Recorder) {
        self.judged.unknown += 1;
        recorder.report_error(at, UNKNOWN, &format!("record {number} was answered, and never sent"));
    }

    #[cold]
    fn repeated(&mut self, number: u64, at: Nanos, recorder: &mut Recorder) {
        self.judged.duplicated += 1;
        recorder.report_error(at, DUPLICATE, &format!("record {number} was answered twice"));
    }

    #[cold]
    fn late(&mut self, number: u64, at: Nanos, recorder: &mut Recorder) {
        self.judged.late += 1;
        recorder.report_error(at, LATE, &format!("record {number} was answered after it was abandoned"));
    }

    fn lose(&mut self, record: &Outstanding, at: Nanos, recorder: &mut Recorder, why: &Failure) {
        self.judged.lost += 1;
        let Times { due, sent } = record.times;
        recorder.fail_many(due, sent, at, why, 1);
    }
}

impl Judge for EachJudge {
    fn is_full(&self) -> bool {
        self.window.is_full()
    }

    fn room(&mut self, at: Nanos, recorder: &mut Recorder) -> u64 {
        if self.window.room() == 0
            && let Some(record) = self.window.make_room()
        {
            self.lose(&record, at, recorder, &overtaken_failure());
        }
        self.window.room()
    }

    fn offer(&mut self, count: u64, times: Times, keys: &[u64]) {
        self.window.push_keys(keys);
        self.window.push(count, times);
    }

    fn skip(&mut self) {
        self.window.skip();
        self.taken += 1;
    }

    fn take(&mut self, count: u64, _: Nanos, _: &mut Recorder) {
        self.taken += count;
    }

    #[inline]
    fn answer(&mut self, line: &[u8], at: Nanos, recorder: &mut Recorder) -> Result<(), Failure> {
        let Some((number, remaining)) = number(line) else { return Err(no_answer(line)) };
        let has_result = match remaining {
            [] => false,
            [b' ', result @ ..] => !result.is_empty(),
            _ => return Err(no_answer(line)),
        };
        let index = match self.position.index(number) {
            Some(index) => index,
            None if self.shared => return Ok(()),
            None => {
                self.unknown(number, at, recorder);
                return Ok(());
            }
        };
        if index >= self.taken {
            self.unknown(number, at, recorder);
            return Ok(());
        }
        let overtaken = self.window.is_overtaken(index);
        match self.window.answer(index) {
            Answer::Ended(record) => {
                self.judged.results += u64::from(has_result);
                self.check_order(&record, overtaken, at, recorder);
                self.succeed(record.times, at, recorder);
            }
            Answer::Repeated => self.repeated(number, at, recorder),
            Answer::Late => self.late(number, at, recorder),
            Answer::Unknown => self.unknown(number, at, recorder),
        }
        Ok(())
    }

    #[inline]
    fn flush(&mut self, at: Nanos, recorder: &mut Recorder) {
        if let Some((Times { due, sent }, count)) = self.answered.take() {
            self.judged.last_success = at;
            recorder.succeed_many(due, sent, at, count);
        }
    }

    fn outstanding(&self) -> u64 {
        self.window.outstanding()
    }

    fn oldest_sent(&self) -> Option<Nanos> {
        self.window.oldest_sent()
    }

    fn expire(&mut self, limit: Nanos, at: Nanos, recorder: &mut Recorder) -> bool {
        while let Some(record) = self.window.oldest().filter(|record| record.times.sent <= limit) {
            if !self.window.is_overtaken(record.index) {
                return false;
            }
            self.window.give_up_oldest();
            self.lose(&record, at, recorder, &overtaken_failure());
        }
        true
    }

    fn give_up_overtaken(&mut self, at: Nanos, recorder: &mut Recorder) {
        while let Some(record) = self.window.oldest().filter(|record| self.window.is_overtaken(record.index))
        {
            self.window.give_up_oldest();
            self.lose(&record, at, recorder, &overtaken_failure());
        }
    }

    fn give_up_until(&mut self, limit: Nanos, at: Nanos, recorder: &mut Recorder) -> bool {
        if !self.window.has_answers() {
            return false;
        }
        let why = failure(LOST, "there was no answer, although other records were answered");
        while let Some(record) = self.window.oldest().filter(|record| record.times.sent <= limit) {
            self.window.give_up_oldest();
            self.lose(&record, at, recorder, &why);
        }
        true
    }

    fn end(&mut self, end: &End, at: Nanos, recorder: &mut Recorder) -> bool {
        let (overtaken, other) = (end.failure(true), end.failure(false));
        let any = self.window.outstanding() > 0;
        while let Some(record) = self.window.give_up_oldest() {
            let why = if self.window.is_overtaken(record.index) { &overtaken } else { &other };
            self.judged.lost += u64::from(why.code == LOST);
            recorder.fail_many(record.times.due, record.times.sent, at, why, 1);
        }
        any
    }

    fn judged(&self) -> Judged {
        self.judged
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure;
    use super::*;
    use loadcell_core::record::{Kind, Operation};

    const OPS: &[Operation] = &[Operation { name: "transaction", kind: Kind::Transaction }];
    const PLACE: Place = Place { connection: 1, connections: 2 };

    /// Ten records are sent, of keys that alternate, and answered like this.
    fn judged(order: Order, answers: &[&str], end: Option<End>) -> (Judged, Recorder) {
        let mut recorder = Recorder::new(OPS);
        let mut judge = EachJudge::new(PLACE, order, false);
        recorder.start_many(10, 10);
        let keys: &[u64] = if order == Order::Key { &[1, 2, 1, 2, 1, 2, 1, 2, 1, 2] } else { &[] };
        judge.offer(10, Times { due: 10, sent: 10 }, keys);
        judge.take(10, 11, &mut recorder);
        for line in answers {
            judge.answer(line.as_bytes(), 30, &mut recorder).unwrap();
        }
        judge.flush(30, &mut recorder);
        if let Some(end) = end {
            judge.end(&end, 40, &mut recorder);
            assert_eq!(judge.outstanding(), 0);
        }
        (judge.judged(), recorder)
    }

    fn errors(recorder: &Recorder) -> Vec<(String, u64)> {
        recorder.stats().errors.iter().map(|error| (error.code.clone(), error.count)).collect()
    }

    #[test]
    fn findings_are_counted_exactly() {
        let all = ["1", "3 r1 r3", "7", "5", "7", "2", "99", "21", "11 ", "9 r2"];
        let (judged, recorder) = judged(Order::All, &all, None);
        let expected = Judged {
            duplicated: 1,
            unknown: 3,
            reordered: 2,
            results: 2,
            last_success: 30,
            ..Judged::default()
        };
        assert_eq!(judged, expected);
        let counts = recorder.lifetime().operations[0];
        assert_eq!((counts.succeeded, counts.failed), (6, 0));
    }

    #[test]
    fn order_is_judged_by_key_where_that_is_asked_for() {
        // Numbers 1, 5, 9 ... have one key, and 3, 7, 11 ... the other.
        let answers = ["5", "3", "1", "7"];
        assert_eq!(judged(Order::Key, &answers, None).0.reordered, 1);
        assert_eq!(judged(Order::All, &answers, None).0.reordered, 2);
        assert_eq!(judged(Order::None, &answers, None).0.reordered, 0);
    }

    #[test]
    fn records_without_an_answer_fail_with_the_reason() {
        let answers = ["1", "5", "7"];
        let of = |end| {
            let (judged, recorder) = judged(Order::None, &answers, Some(end));
            (judged.lost, errors(&recorder))
        };
        assert_eq!(of(End::Closed), (7, vec![("stream.lost".into(), 7)]));
        assert_eq!(of(End::Unfinished), (1, vec![("stream.lost".into(), 1), ("unfinished".into(), 6)]));
        let broken = End::Failed(failure("connection", "Connection reset by peer"));
        assert_eq!(of(broken), (0, vec![("connection".into(), 7)]));
    }

    #[test]
    fn an_overtaken_record_expires_alone() {
        let mut recorder = Recorder::new(OPS);
        let mut judge = EachJudge::new(Place { connection: 0, connections: 1 }, Order::None, true);
        for due in [10, 20, 30] {
            recorder.start_many(due, 1);
            judge.offer(1, Times { due, sent: due }, &[]);
        }
        judge.take(3, 31, &mut recorder);
        judge.answer(b"1", 35, &mut recorder).unwrap();
        judge.flush(35, &mut recorder);
        assert!(judge.expire(9, 40, &mut recorder) && judge.outstanding() == 2);
        assert!(judge.expire(29, 40, &mut recorder) && judge.outstanding() == 1 && judge.judged().lost == 1);
        assert!(!judge.expire(30, 40, &mut recorder), "nothing was answered after it");
    }

    #[test]
    fn garbage_and_records_that_were_not_sent_are_distinguished() {
        let mut recorder = Recorder::new(OPS);
        let mut judge = EachJudge::new(Place { connection: 0, connections: 1 }, Order::None, false);
        recorder.start_many(10, 2);
        judge.offer(2, Times { due: 10, sent: 10 }, &[]);
        judge.take(1, 11, &mut recorder);
        assert!(judge.answer(b"1", 12, &mut recorder).is_ok() && judge.judged().unknown == 1);
        for line in [&b""[..], b"ok", b"1,r1", b"-1"] {
            assert_eq!(judge.answer(line, 12, &mut recorder).unwrap_err().code, "stream.garbage");
        }
    }
}
