//! Waiting for an instant without overshooting it.
//!
//! A thread that sleeps until an instant runs again some microseconds later: a timer has to fire, a core to
//! wake up, the thread to be scheduled. `PreciseWait` therefore sleeps until shortly before the instant, and
//! then polls for events. It learns how long before from the lateness of its sleeps. The CPU time of polling
//! is waiting, not work, and is reported separately.

use std::io;

use loadcell_core::clock::{self, MICROSECOND, Nanos};
use loadcell_transport::epoll::Epoll;

/// Longest busy wait. Where sleeps end later than this, cores are too busy to be used for waiting.
const MAX_BUSY_WAIT: Nanos = 50 * MICROSECOND;
/// Change of the expected lateness by one sleep ...
const STEP: Nanos = MICROSECOND;
/// ... in such a ratio of steps up and down that 3 sleeps of 4 end in time.
const STEP_RATIO: Nanos = 3;
/// Longest poll that counts as CPU time: one takes less than a microsecond, or the thread was not running.
const MAX_POLL: Nanos = 3 * MICROSECOND;

pub struct PreciseWait {
    /// Expected lateness of a sleep.
    lag: Nanos,
    busy_wait_ns: Nanos,
    /// With a single core, a busy wait would keep the target from running.
    single_core: bool,
}

impl Default for PreciseWait {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { lag: MAX_BUSY_WAIT / 2, busy_wait_ns: 0, single_core: cores == 1 }
    }
}

impl PreciseWait {
    /// Waits for events until `until` at the latest, or precisely until `due`. Returns the number of events.
    pub fn wait(&mut self, epoll: &mut Epoll, until: Nanos, due: Nanos) -> io::Result<usize> {
        let mut now = clock::now();
        if now >= due {
            return epoll.sleep(0);
        }
        let sleep_until = if self.single_core { due } else { due.saturating_sub(self.lag) };
        if until < sleep_until {
            return epoll.sleep(until.saturating_sub(now));
        }
        if now < sleep_until {
            let count = epoll.sleep(sleep_until - now)?;
            now = clock::now();
            if count > 0 {
                return Ok(count);
            }
            self.learn(now.saturating_sub(sleep_until));
        }
        while now < due {
            let count = epoll.sleep(0)?;
            let polled_at = clock::now();
            if count > 0 {
                return Ok(count);
            }
            self.busy_wait_ns += (polled_at - now).min(MAX_POLL);
            now = polled_at;
        }
        Ok(0)
    }

    fn learn(&mut self, late: Nanos) {
        self.lag = if late > self.lag {
            (self.lag + STEP * STEP_RATIO).min(MAX_BUSY_WAIT)
        } else {
            self.lag.saturating_sub(STEP)
        };
    }

    /// Takes the CPU time of busy waits since the last call.
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
    fn a_wait_ends_when_a_request_is_due_and_not_before() {
        let mut epoll = Epoll::new(Waker::new().unwrap()).unwrap();
        let mut precise_wait = PreciseWait::default();
        let mut late = Vec::new();
        for _ in 0..200 {
            let due = clock::now() + 500 * MICROSECOND;
            assert_eq!(precise_wait.wait(&mut epoll, Nanos::MAX, due).unwrap(), 0);
            late.push(clock::now().checked_sub(due).expect("not before"));
        }
        late.sort_unstable();
        // On a busy machine only the best wait is bounded; the benchmark measures precision on a quiet one.
        assert!(late[0] < MILLISECOND, "all waits were late by more than {} ns", late[0]);
        let busy_wait_ns = precise_wait.take_busy_wait_ns();
        assert!(busy_wait_ns <= 200 * (MAX_BUSY_WAIT + MAX_POLL), "{busy_wait_ns} ns of busy wait");
        assert_eq!(precise_wait.take_busy_wait_ns(), 0);
    }

    #[test]
    fn an_event_ends_a_wait_early_and_so_does_another_deadline() {
        let waker = Waker::new().unwrap();
        let mut epoll = Epoll::new(waker.clone()).unwrap();
        let mut precise_wait = PreciseWait::default();
        let now = clock::now();
        assert_eq!(precise_wait.wait(&mut epoll, now + MILLISECOND, now + SECOND).unwrap(), 0);
        let passed = clock::now() - now;
        assert!((MILLISECOND..SECOND).contains(&passed), "{passed} ns");
        let waking = std::thread::spawn(move || waker.wake());
        assert_eq!(precise_wait.wait(&mut epoll, Nanos::MAX, clock::now() + 60 * SECOND).unwrap(), 1);
        waking.join().unwrap();
    }

    #[test]
    fn an_overdue_request_does_not_hide_events() {
        let waker = Waker::new().unwrap();
        let mut epoll = Epoll::new(waker.clone()).unwrap();
        let mut precise_wait = PreciseWait::default();
        assert_eq!(precise_wait.wait(&mut epoll, Nanos::MAX, 1).unwrap(), 0);
        waker.wake();
        assert_eq!(precise_wait.wait(&mut epoll, Nanos::MAX, 1).unwrap(), 1);
    }

    #[test]
    fn the_expected_lateness_is_learnt_within_bounds() {
        let mut precise_wait = PreciseWait::default();
        (0..100).for_each(|_| precise_wait.learn(10 * MILLISECOND));
        assert_eq!(precise_wait.lag, MAX_BUSY_WAIT);
        (0..100).for_each(|_| precise_wait.learn(10 * MICROSECOND));
        assert!(precise_wait.lag.abs_diff(10 * MICROSECOND) <= STEP_RATIO * STEP, "{} ns", precise_wait.lag);
        (0..100).for_each(|_| precise_wait.learn(0));
        assert!(precise_wait.lag <= STEP);
    }
}
