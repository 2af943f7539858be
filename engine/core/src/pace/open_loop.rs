//! The open loop: requests are due by a schedule that waits for nobody.

use std::sync::Arc;

use super::{Arrivals, Pacer, Profile, RateSegment, Schedule, ScheduleShare};
use crate::clock::Nanos;
use crate::record::{Recorder, Window};

/// A thread's schedule with its backlog.
///
/// Both are places in the same sequence: `ahead` is the first request that has not been counted as due,
/// `behind` the first that was not started. What lies between them waits, in the order in which it fell due.
pub struct OpenLoop {
    arrivals: Arrivals,
    /// The rate from the start of the measurement on; until then it is what it starts with.
    segments: Vec<RateSegment>,
    share: ScheduleShare,
    seed: u64,
    /// None until it is known when work begins.
    cursors: Option<Cursors>,
}

struct Cursors {
    due: Schedule,
    sent: Schedule,
    waiting: u64,
    /// Nothing is due from here on.
    end: Nanos,
    /// All has been due that was to be made.
    exhausted: bool,
}

impl OpenLoop {
    pub fn new(arrivals: Arrivals, segments: Vec<RateSegment>, share: ScheduleShare, seed: u64) -> Self {
        Self { arrivals, segments, share, seed, cursors: None }
    }
}

impl Pacer for OpenLoop {
    const SCHEDULED: bool = true;

    fn begin(&mut self, window: &Window, recorder: &mut Recorder) {
        recorder.follow_schedule();
        let first = self.segments.first().map_or(0.0, |segment| segment.from_per_s);
        let warmup = RateSegment::constant(first, (window.start - window.begin) as f64 / 1e9);
        let profile = Profile::new([warmup].into_iter().chain(self.segments.iter().copied()));
        let schedule = Schedule::new(Arc::new(profile), window.begin, self.arrivals, self.share, self.seed);
        self.cursors = Some(Cursors {
            due: schedule.clone(),
            sent: schedule,
            waiting: 0,
            end: window.end,
            exhausted: false,
        });
    }

    #[inline]
    fn due(&self, _: Nanos) -> Nanos {
        match &self.cursors {
            Some(cursors) if cursors.waiting > 0 => cursors.sent.next(),
            Some(cursors) if !cursors.exhausted && cursors.sent.next() < cursors.end => cursors.sent.next(),
            _ => Nanos::MAX,
        }
    }

    #[inline]
    fn start_next(&mut self, recorder: &mut Recorder) {
        if let Some(cursors) = &mut self.cursors {
            cursors.sent.advance();
            cursors.waiting -= 1;
            recorder.set_backlog(cursors.waiting, cursors.sent.next());
        }
    }

    #[inline]
    fn mark_due_until(&mut self, until: Nanos, recorder: &mut Recorder) {
        let Some(cursors) = &mut self.cursors else { return };
        // Nothing is due after the load; who is too late for that sees it in the recorder's window.
        let until = until.min(recorder.window().end).min(cursors.end);
        while cursors.due.next() < until && !cursors.exhausted {
            if recorder.reserve(1) == 0 {
                cursors.exhausted = true;
                break;
            }
            recorder.mark_due(cursors.due.next());
            cursors.due.advance();
            cursors.waiting += 1;
        }
        recorder.set_backlog(cursors.waiting, cursors.sent.next());
    }
}
