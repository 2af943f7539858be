//! When the next transaction is due.
//!
//! In a closed loop a client's next transaction is due when its last one is done. In an open loop transactions are due
//! at the instants of a schedule, whether or not a client is free to carry them: those that are due and have no client
//! yet are the backlog. It is never stored: two places in the schedule, what is due and what was sent, are all of it.

mod open_loop;
mod profile;
mod schedule;

pub use open_loop::OpenLoop;
pub use profile::{Profile, RateSegment};
pub use schedule::{Arrivals, Schedule, ScheduleShare};

use crate::clock::Nanos;
use crate::record::{Recorder, Window};

/// Decides when work starts. Each thread has its own, for all of its clients together.
pub trait Pacer {
    /// Whether transactions are due by a schedule, for whichever client is free, and not by the client that is.
    const SCHEDULED: bool;

    /// It is known when work begins, and when it is to end; again where a measurement begins for itself after the warm-up.
    fn begin(&mut self, window: &Window, recorder: &mut Recorder);

    /// When a client that is free since `free` (`Nanos::MAX`: that will be at some time) should start its next
    /// transaction. An instant in the past is one that is already late, and stays the start of the response time.
    fn due(&self, free: Nanos) -> Nanos;

    /// The transaction that `due` told of is being started; `pass` has told of it.
    fn start_next(&mut self, recorder: &mut Recorder);

    /// Tells the recorder of all that falls due before `until`, whether or not it is started. To be called before it is
    /// started, and before the recorder's slot ends in which it is due.
    fn mark_due_until(&mut self, until: Nanos, recorder: &mut Recorder);
}

/// A closed loop: every client starts its next transaction as soon as the last one is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClosedLoop;

impl Pacer for ClosedLoop {
    const SCHEDULED: bool = false;

    fn begin(&mut self, _: &Window, _: &mut Recorder) {}

    #[inline]
    fn due(&self, free: Nanos) -> Nanos {
        free
    }

    #[inline]
    fn start_next(&mut self, _: &mut Recorder) {}

    #[inline]
    fn mark_due_until(&mut self, _: Nanos, _: &mut Recorder) {}
}
