//! Waking up when something is due, not some while after it.
//!
//! A thread that sleeps until an instant runs again some microseconds later: a timer has to fire, a core to wake up, the
//! thread to be scheduled. So it sleeps until shortly before, and asks the kernel for events without waiting in what is
//! left. How long before is learnt from how late its sleeps have ended. CPU time used so is waiting, not work, and is told apart.

use std::io;

use super::epoll::Epoll;
use loadcell_core::clock::{self, MICROSECOND, Nanos};

/// More is never spent on waiting awake: where sleeps end later than this, cores are too busy to be taken for waiting.
const LONGEST_SPIN: Nanos = 50 * MICROSECOND;
/// By how much one sleep changes what is expected of the next ...
const STEP: Nanos = MICROSECOND;
/// ... so that 3 sleeps of 4 end in time (the step down is so much smaller than the step up).
const IN_TIME: Nanos = 3;
/// A look at the events takes less than a microsecond. When one took longer the thread was not running, and used no CPU.
const LONGEST_LOOK: Nanos = 3 * MICROSECOND;

pub struct PreciseWait {
    /// How late a sleep may end.
    lag: Nanos,
    busy_wait_ns: Nanos,
    /// With one core, whoever waits awake keeps the target from working.
    single_core: bool,
}

impl Default for PreciseWait {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { lag: LONGEST_SPIN / 2, busy_wait_ns: 0, single_core: cores == 1 }
    }
}

impl PreciseWait {
    /// Waits until something happens, or it is `until`, or something is `due`; the number of events.
    pub fn wait(&mut self, epoll: &mut Epoll, until: Nanos, due: Nanos) -> io::Result<usize> {
        let mut now = clock::now();
        if now >= due {
            return epoll.sleep(0);
        }
        let asleep_until = if self.single_core { due } else { due.saturating_sub(self.lag) };
        if until < asleep_until {
            return epoll.sleep(until.saturating_sub(now));
        }
        if now < asleep_until {
            let count = epoll.sleep(asleep_until - now)?;
            now = clock::now();
            if count > 0 {
                return Ok(count);
            }
            self.learn(now.saturating_sub(asleep_until));
        }
        while now < due {
            let count = epoll.sleep(0)?;
            let looked = clock::now();
            if count > 0 {
                return Ok(count);
            }
            self.busy_wait_ns += (looked - now).min(LONGEST_LOOK);
            now = looked;
        }
        Ok(0)
    }

    fn learn(&mut self, late: Nanos) {
        self.lag = if late > self.lag {
            (self.lag + STEP * IN_TIME).min(LONGEST_SPIN)
        } else {
            self.lag.saturating_sub(STEP)
        };
    }

    /// The CPU time that was used only to wait, since it was last asked for.
    pub fn take_busy_wait_ns(&mut self) -> Nanos {
        std::mem::take(&mut self.busy_wait_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::Waker;
    use loadcell_core::clock::{MILLISECOND, SECOND};

    #[test]
    fn it_is_over_when_something_is_due_and_not_before() {
        let mut epoll = Epoll::new(Waker::new().unwrap()).unwrap();
        let mut precise_wait = PreciseWait::default();
        let mut late = Vec::new();
        for _ in 0..200 {
            let due = clock::now() + 500 * MICROSECOND;
            assert_eq!(precise_wait.wait(&mut epoll, Nanos::MAX, due).unwrap(), 0);
            late.push(clock::now().checked_sub(due).expect("not before"));
        }
        late.sort_unstable();
        // Of a machine that has other things to do the best is asked for, not the most; how punctual it is on a free
        // one is for the bench to say.
        assert!(late[0] < MILLISECOND, "all were later than {} ns", late[0]);
        let busy_wait_ns = precise_wait.take_busy_wait_ns();
        assert!(busy_wait_ns <= 200 * (LONGEST_SPIN + LONGEST_LOOK), "{busy_wait_ns} ns awake");
        assert_eq!(precise_wait.take_busy_wait_ns(), 0);
    }

    #[test]
    fn an_event_ends_it_early_and_so_does_another_deadline() {
        let waker = Waker::new().unwrap();
        let mut epoll = Epoll::new(waker.clone()).unwrap();
        let mut precise_wait = PreciseWait::default();
        let now = clock::now();
        assert_eq!(precise_wait.wait(&mut epoll, now + MILLISECOND, now + SECOND).unwrap(), 0);
        let passed = clock::now() - now;
        assert!((MILLISECOND..SECOND).contains(&passed), "{passed} ns");
        let ringing = std::thread::spawn(move || waker.wake());
        assert_eq!(precise_wait.wait(&mut epoll, Nanos::MAX, clock::now() + 60 * SECOND).unwrap(), 1);
        ringing.join().unwrap();
    }

    #[test]
    fn what_is_overdue_does_not_keep_events_from_being_seen() {
        let waker = Waker::new().unwrap();
        let mut epoll = Epoll::new(waker.clone()).unwrap();
        let mut precise_wait = PreciseWait::default();
        assert_eq!(precise_wait.wait(&mut epoll, Nanos::MAX, 1).unwrap(), 0);
        waker.wake();
        assert_eq!(precise_wait.wait(&mut epoll, Nanos::MAX, 1).unwrap(), 1);
    }

    #[test]
    fn it_learns_how_late_sleeps_end_within_bounds() {
        let mut precise_wait = PreciseWait::default();
        (0..100).for_each(|_| precise_wait.learn(10 * MILLISECOND));
        assert_eq!(precise_wait.lag, LONGEST_SPIN);
        (0..100).for_each(|_| precise_wait.learn(10 * MICROSECOND));
        assert!(precise_wait.lag.abs_diff(10 * MICROSECOND) <= IN_TIME * STEP, "{} ns", precise_wait.lag);
        (0..100).for_each(|_| precise_wait.learn(0));
        assert!(precise_wait.lag <= STEP);
    }
}
