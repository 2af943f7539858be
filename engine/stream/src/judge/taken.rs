//! Without answers: a record succeeds when the kernel has taken all its bytes.

use super::{End, Judge, fail_all, succeed};
use crate::runs::{Runs, Times};
use crate::totals::Judged;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::Recorder;

#[derive(Default)]
pub struct TakenJudge {
    runs: Runs,
    judged: Judged,
}

impl Judge for TakenJudge {
    #[inline]
    fn offer(&mut self, count: u64, times: Times, _: &[u64]) {
        self.runs.push(count, times);
    }

    #[inline]
    fn take(&mut self, count: u64, at: Nanos, recorder: &mut Recorder) {
        succeed(&mut self.runs, &mut self.judged, count, at, recorder);
    }

    /// No answers are expected: input is discarded before it comes here.
    fn answer(&mut self, _: &[u8], _: Nanos, _: &mut Recorder) -> Result<(), Failure> {
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.runs.len()
    }

    fn oldest_sent(&self) -> Option<Nanos> {
        None
    }

    fn end(&mut self, end: &End, at: Nanos, recorder: &mut Recorder) -> bool {
        fail_all(&mut self.runs, end, at, recorder) > 0
    }

    fn judged(&self) -> Judged {
        self.judged
    }
}
