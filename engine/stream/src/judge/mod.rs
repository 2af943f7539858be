//! Judges of records in progress: which of them succeeded, by what the kernel or the service reports.

mod count;
mod numbers;
mod taken;

pub use count::CountJudge;
pub use numbers::EachJudge;
pub use taken::TakenJudge;

use super::runs::{Runs, Times};
use super::totals::Judged;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{Recorder, UNFINISHED};

/// Code of a record without an answer that did not merely come too late.
pub const LOST: &str = "stream.lost";
/// Code of an error that the service reports in place of an answer.
pub const SERVICE: &str = "stream.service";
/// Code of an answer that cannot be read.
pub const GARBAGE: &str = "stream.garbage";

/// Why records in progress get no answer any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The connection or the service failed.
    Failed(Failure),
    /// The service closed the connection after the end of the stream.
    Closed,
    /// The load ended first.
    Unfinished,
}

impl End {
    /// Failure of a record; `overtaken`: a later one was answered.
    pub fn failure(&self, overtaken: bool) -> Failure {
        match self {
            Self::Failed(why) => why.clone(),
            Self::Closed if overtaken => overtaken_failure(),
            Self::Closed => failure(LOST, "the service closed the connection without an answer"),
            Self::Unfinished if overtaken => overtaken_failure(),
            Self::Unfinished => failure(UNFINISHED, "no answer came before the load was ended"),
        }
    }
}

fn overtaken_failure() -> Failure {
    failure(LOST, "there was no answer, although later records were answered")
}

pub fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}

/// Records in progress of one connection.
pub trait Judge {
    /// True if answers have to come before further records may be offered to the kernel.
    fn is_full(&self) -> bool {
        false
    }

    /// Number of records that may be offered to the kernel.
    fn room(&mut self, _at: Nanos, _recorder: &mut Recorder) -> u64 {
        u64::MAX
    }

    /// Notes that `count` records (at least 1) are offered to the kernel for the first time. `keys` has their
    /// keys, where keys are compared.
    fn offer(&mut self, count: u64, times: Times, keys: &[u64]);

    /// Notes that the next record is not sent at all.
    fn skip(&mut self) {}

    /// Notes that the kernel has taken `count` more records (at least 1) completely.
    fn take(&mut self, count: u64, at: Nanos, recorder: &mut Recorder);

    /// Judges a line of the answers. After an error no further answer is meaningful.
    fn answer(&mut self, line: &[u8], at: Nanos, recorder: &mut Recorder) -> Result<(), Failure>;

    /// Records what the last answers mean. To be called before the clock is read again.
    fn flush(&mut self, _at: Nanos, _recorder: &mut Recorder) {}

    /// Number of records in progress.
    fn outstanding(&self) -> u64;

    /// Instant at which the oldest record was sent that waits for an answer.
    fn oldest_sent(&self) -> Option<Nanos>;

    /// Gives up records that were sent until `limit` and overtaken. Returns false if another one was sent
    /// until then: the service does not answer.
    fn expire(&mut self, limit: Nanos, _at: Nanos, _recorder: &mut Recorder) -> bool {
        self.oldest_sent().is_none_or(|sent| sent > limit)
    }

    /// Gives up all records that were overtaken.
    fn give_up_overtaken(&mut self, _at: Nanos, _recorder: &mut Recorder) {}

    /// Gives up records that were sent until `limit`, overtaken or not, if the service has answered others.
    /// Returns false if it has not.
    fn give_up_until(&mut self, _limit: Nanos, _at: Nanos, _recorder: &mut Recorder) -> bool {
        false
    }

    /// Fails all records in progress. Returns true if there was one.
    fn end(&mut self, end: &End, at: Nanos, recorder: &mut Recorder) -> bool;

    fn judged(&self) -> Judged;
}

/// Records the success of the first `count` records.
#[inline]
fn succeed(runs: &mut Runs, judged: &mut Judged, count: u64, at: Nanos, recorder: &mut Recorder) {
    if count > 0 {
        judged.last_success = at;
    }
    runs.take(count, |count, times| recorder.succeed_many(times.due, times.sent, at, count));
}

/// Fails all records of `runs`. Returns their number.
fn fail_all(runs: &mut Runs, end: &End, at: Nanos, recorder: &mut Recorder) -> u64 {
    let (count, why) = (runs.len(), end.failure(false));
    runs.take(count, |count, times| recorder.fail_many(times.due, times.sent, at, &why, count));
    count
}

/// The decimal number at the start of a line, and what follows it.
#[inline]
fn number(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut length = 0;
    for &byte in line {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
        length += 1;
    }
    (length > 0).then(|| (value, &line[length..]))
}

/// Failure of a line that is no answer: a service reports an error by `!` with the reason.
#[cold]
fn no_answer(line: &[u8]) -> Failure {
    /// Bytes of a line that are shown: a reason has a sentence or two.
    const SHOWN_REASON: usize = 1000;
    const SHOWN: usize = 60;
    let shown = |line: &[u8], most: usize| -> String {
        String::from_utf8_lossy(&line[..line.len().min(most)]).escape_debug().collect()
    };
    match line.strip_prefix(b"!") {
        Some(reason) => failure(SERVICE, shown(reason.trim_ascii(), SHOWN_REASON)),
        None => failure(GARBAGE, format!("\"{}\"", shown(line, SHOWN))),
    }
}

#[cfg(test)]
mod tests {
    use loadcell_core::record::{Kind, Operation};
    use proptest::prelude::*;

    use super::*;
    use crate::options::Order;
    use crate::source::Place;

    proptest! {
        /// Whatever a service answers: no record ends twice, and none that was not sent.
        #[test]
        fn any_answer_is_judged(lines in prop::collection::vec("[0-9]{0,2}( r1)?|.{0,9}", 0..60)) {
            let operations = [Operation { name: "transaction", kind: Kind::Transaction }];
            let position = Place { connection: 0, connections: 1 };
            let judges: [Box<dyn Judge>; 3] = [
                Box::new(CountJudge::default()),
                Box::new(EachJudge::new(position, Order::Key, false)),
                Box::new(EachJudge::new(position, Order::All, true)),
            ];
            for (judge, keys) in judges.into_iter().zip([&[][..], &[1; 50], &[]]) {
                let (mut judge, mut recorder) = (judge, Recorder::new(&operations));
                recorder.start_many(10, 50);
                judge.offer(50, Times { due: 10, sent: 10 }, keys);
                judge.take(40, 11, &mut recorder);
                for line in &lines {
                    if judge.answer(line.as_bytes(), 12, &mut recorder).is_err() {
                        break;
                    }
                }
                judge.flush(12, &mut recorder);
                judge.end(&End::Unfinished, 13, &mut recorder);
                let counts = recorder.lifetime().operations[0];
                prop_assert!(counts.succeeded <= 40 && counts.in_flight() == 0);
                prop_assert_eq!(judge.outstanding(), 0);
            }
        }
    }

    #[test]
    fn a_number_ends_before_the_first_other_character() {
        assert_eq!(number(b"17 r1 r3"), Some((17, &b" r1 r3"[..])));
        assert_eq!(number(b"18446744073709551615"), Some((u64::MAX, &b""[..])));
        for line in [&b""[..], b" 1", b"-1", b"x", b"18446744073709551616"] {
            assert_eq!(number(line), None);
        }
    }

    #[test]
    fn a_line_that_is_no_answer_is_shown_with_its_reason() {
        let of = |line: &[u8]| no_answer(line);
        assert_eq!(of(b"\x00HTTP/1.1 400"), failure(GARBAGE, "\"\\0HTTP/1.1 400\""));
        assert_eq!(of(b"! out of memory\t(17)"), failure(SERVICE, "out of memory\\t(17)"));
        assert_eq!(of("!内存不足".as_bytes()), failure(SERVICE, "内存不足"));
        assert_eq!(of(&[b"! ".as_slice(), &[b'x'; 5_000]].concat()).message.len(), 1000);
        assert_eq!(of(b"!\xff\x1b[2J"), failure(SERVICE, "\u{fffd}\\u{1b}[2J"));
    }
}
