//! When the next transaction is due.
//!
//! In a closed loop a client's next transaction is due when its last one is done. In an open loop
//! transactions are due at the instants of a schedule, whether or not a client is idle: those that are due
//! and have no client yet are the backlog. It is never stored: two positions in the schedule describe it,
//! that of the offered and that of the sent load.

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
    /// True if transactions are due by a schedule, for any idle client; false if a client's last transaction
    /// makes its next one due.
    const SCHEDULED: bool;

    /// Sets the window of the load. Called again if the measurement begins separately after the warm-up.
    fn begin(&mut self, window: &Window, recorder: &mut Recorder);

    /// Instant at which a client that is idle since `free` (`Nanos::MAX`: not idle yet) should start its next
    /// transaction. An instant in the past means that the start is late; the response time begins there all
    /// the same.
    fn due(&self, free: Nanos) -> Nanos;

    /// Starts the transaction of `due`, which `mark_due_until` has already counted.
    fn start_next(&mut self, recorder: &mut Recorder);

    /// Counts all transactions due before `until` as offered, whether or not they are started. Must be called
    /// before they are started, and before the end of the interval in which they are due.
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
