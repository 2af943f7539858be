//! Answers that count the processed records.

use super::{End, Judge, fail_all, failure, no_answer, number, succeed};
use crate::runs::{Runs, Times};
use crate::totals::Judged;
use crate::window::MOST_OUTSTANDING;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::Recorder;

/// Code of a count above the records sent.
const TOO_MUCH: &str = "stream.acknowledged-too-much";
/// Code of a count below an earlier one.
const DECREASING: &str = "stream.decreasing";

#[derive(Default)]
pub struct CountJudge {
    runs: Runs,
    /// Records that the kernel has taken, and records that were acknowledged.
    taken: u64,
    acknowledged: u64,
    judged: Judged,
}

impl Judge for CountJudge {
    fn is_full(&self) -> bool {
        self.runs.len() >= MOST_OUTSTANDING
    }

    fn room(&mut self, _: Nanos, _: &mut Recorder) -> u64 {
        MOST_OUTSTANDING.saturating_sub(self.runs.len())
    }

    fn offer(&mut self, count: u64, times: Times, _: &[u64]) {
        self.runs.push(count, times);
    }

    fn take(&mut self, count: u64, _: Nanos, _: &mut Recorder) {
        self.taken += count;
    }

    fn answer(&mut self, line: &[u8], at: Nanos, recorder: &mut Recorder) -> Result<(), Failure> {
        let Some((count, b"")) = number(line) else { return Err(no_answer(line)) };
        let Self { taken, acknowledged, .. } = *self;
        if count > taken {
            self.judged.overacknowledged += count - taken;
            let message = format!("{count} records are acknowledged, {taken} were sent");
            return Err(failure(TOO_MUCH, message));
        }
        let Some(more) = count.checked_sub(acknowledged) else {
            let message = format!("{count} records are acknowledged, and {acknowledged} were before");
            return Err(failure(DECREASING, message));
        };
        self.acknowledged = count;
        succeed(&mut self.runs, &mut self.judged, more, at, recorder);
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.runs.len()
    }

    fn oldest_sent(&self) -> Option<Nanos> {
        self.runs.first().map(|times| times.sent)
    }

    fn end(&mut self, end: &End, at: Nanos, recorder: &mut Recorder) -> bool {
        let count = fail_all(&mut self.runs, end, at, recorder);
        if *end == End::Closed {
            self.judged.lost += count;
        }
        count > 0
    }

    fn judged(&self) -> Judged {
        self.judged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::record::{Kind, Operation};

    const OPS: &[Operation] = &[Operation { name: "transaction", kind: Kind::Transaction }];

    fn judge(recorder: &mut Recorder) -> CountJudge {
        let mut judge = CountJudge::default();
        for due in [10, 20] {
            recorder.start_many(due, 5);
            judge.offer(5, Times { due, sent: due }, &[]);
        }
        judge.take(7, 25, recorder);
        judge
    }

    #[test]
    fn a_count_acknowledges_all_records_up_to_it() {
        let mut recorder = Recorder::new(OPS);
        let mut judge = judge(&mut recorder);
        for line in [&b"0"[..], b"6", b"6", b"7"] {
            judge.answer(line, 30, &mut recorder).unwrap();
        }
        let stats = recorder.resolved_stats();
        let response = &stats.operations[0].response;
        assert_eq!((stats.operations[0].counts.succeeded, response.max(), response.min()), (7, 20, 10));
        assert_eq!((judge.outstanding(), judge.oldest_sent()), (3, Some(20)));
        assert!(judge.expire(19, 30, &mut recorder) && !judge.expire(20, 30, &mut recorder));
        assert!(judge.end(&End::Closed, 40, &mut recorder) && judge.outstanding() == 0);
        assert_eq!(judge.judged().last_success, 30);
        assert_eq!((judge.judged().lost, recorder.lifetime().operations[0].failed), (3, 3));
        assert!(!judge.end(&End::Closed, 40, &mut recorder));
    }

    #[test]
    fn wrong_counts_are_named() {
        let finding = |lines: &[&[u8]]| {
            let mut recorder = Recorder::new(OPS);
            let mut judge = judge(&mut recorder);
            let failures = lines.iter().filter_map(|line| judge.answer(line, 30, &mut recorder).err());
            let codes = failures.map(|why| why.code).collect::<Vec<_>>();
            (codes.join(" "), judge.judged().overacknowledged)
        };
        // Of a record that is offered and not taken the service cannot have all bytes.
        assert_eq!(finding(&[b"8"]), (TOO_MUCH.into(), 1));
        assert_eq!(finding(&[b"5", b"4"]), (DECREASING.into(), 0));
        assert_eq!(finding(&[b"ok"]), ("stream.garbage".into(), 0));
        assert_eq!(finding(&[b"5 r1"]), ("stream.garbage".into(), 0));
        assert_eq!(finding(&[b""]), ("stream.garbage".into(), 0));
    }
}
