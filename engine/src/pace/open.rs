//! The open loop: requests are due by a schedule that waits for nobody.

use std::sync::Arc;

use super::{Arrivals, Pacer, Piece, Profile, Schedule, Share};
use crate::clock::Nanos;
use crate::record::{Recorder, Window};

/// A thread's schedule with its backlog.
///
/// Both are places in the same sequence: `ahead` is the first request that has not been counted as due, `behind` the first that was
/// not started. What lies between them waits, in the order in which it fell due.
pub struct Open {
    arrivals: Arrivals,
    /// The rate from the start of the measurement on; until then it is what it starts with.
    pieces: Vec<Piece>,
    share: Share,
    seed: u64,
    /// None until it is known when work begins.
    places: Option<Places>,
}

struct Places {
    ahead: Schedule,
    behind: Schedule,
    waiting: u64,
    /// Nothing is due from here on.
    end: Nanos,
    /// All has been due that was to be made.
    spent: bool,
}

impl Open {
    pub fn new(arrivals: Arrivals, pieces: Vec<Piece>, share: Share, seed: u64) -> Self {
        Self { arrivals, pieces, share, seed, places: None }
    }
}

impl Pacer for Open {
    const SCHEDULED: bool = true;

    fn begin(&mut self, window: &Window, recorder: &mut Recorder) {
        recorder.follow_schedule();
        let first = self.pieces.first().map_or(0.0, |piece| piece.from_per_s);
        let warmup = Piece::constant(first, (window.start - window.begin) as f64 / 1e9);
        let profile = Profile::new([warmup].into_iter().chain(self.pieces.iter().copied()));
        let schedule = Schedule::new(Arc::new(profile), window.begin, self.arrivals, self.share, self.seed);
        self.places = Some(Places {
            ahead: schedule.clone(),
            behind: schedule,
            waiting: 0,
            end: window.end,
            spent: false,
        });
    }

    #[inline]
    fn due(&self, _: Nanos) -> Nanos {
        match &self.places {
            Some(places) if places.waiting > 0 => places.behind.next(),
            Some(places) if !places.spent && places.behind.next() < places.end => places.behind.next(),
            _ => Nanos::MAX,
        }
    }

    #[inline]
    fn take(&mut self, recorder: &mut Recorder) {
        if let Some(places) = &mut self.places {
            places.behind.advance();
            places.waiting -= 1;
            recorder.backlog(places.waiting, places.behind.next());
        }
    }

    #[inline]
    fn pass(&mut self, until: Nanos, recorder: &mut Recorder) {
        let Some(places) = &mut self.places else { return };
        // Nothing is due after the load; who is too late for that sees it in the recorder's window.
        let until = until.min(recorder.window().end).min(places.end);
        while places.ahead.next() < until && !places.spent {
            if recorder.allows(1) == 0 {
                places.spent = true;
                break;
            }
            recorder.due(places.ahead.next());
            places.ahead.advance();
            places.waiting += 1;
        }
        recorder.backlog(places.waiting, places.behind.next());
    }
}
