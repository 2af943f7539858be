//! Time as the engine counts it: nanoseconds of the monotonic clock, with UTC beside it for people.

/// A point on the monotonic clock, or a span of it. 64 bits last for 584 years.
pub type Nanos = u64;

pub const MICROSECOND: Nanos = 1_000;
pub const MILLISECOND: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000_000_000;

/// Now, on `CLOCK_MONOTONIC`: the clock that Python's `time.monotonic_ns` reads too. Costs some 20 ns (vDSO).
#[inline]
pub fn now() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

/// Now, in nanoseconds since 1970-01-01T00:00:00Z.
pub fn utc() -> Nanos {
    read(libc::CLOCK_REALTIME)
}

/// CPU time that the calling thread has used, user and system.
pub fn thread_cpu() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to, and the three clocks asked for always exist on Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as Nanos * SECOND + time.tv_nsec as Nanos
}

/// Translates monotonic instants into UTC with one offset for a whole load, so that a clock step during the
/// load does not bend its record.
#[derive(Clone, Copy, Debug)]
pub struct Calendar {
    mono: Nanos,
    utc: Nanos,
}

impl Calendar {
    /// Reads both clocks, closely together.
    pub fn read() -> Self {
        let before = now();
        let utc = utc();
        let after = now();
        Self { mono: before + (after - before) / 2, utc }
    }

    pub fn utc(&self, mono: Nanos) -> Nanos {
        (self.utc + mono).saturating_sub(self.mono)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let mut last = now();
        for _ in 0..10_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn a_busy_thread_uses_cpu_and_a_sleeping_one_does_not() {
        let start = thread_cpu();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let slept = thread_cpu() - start;
        assert!(slept < 10 * MILLISECOND, "sleeping took {slept} ns of CPU");
        let from = thread_cpu();
        let mut sum = 0u64;
        while thread_cpu() - from < 2 * MILLISECOND {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }

    #[test]
    fn instants_become_utc_by_one_offset() {
        let calendar = Calendar { mono: 5 * SECOND, utc: 1_700_000_000 * SECOND };
        assert_eq!(calendar.utc(7 * SECOND), 1_700_000_002 * SECOND);
        assert_eq!(calendar.utc(4 * SECOND), 1_699_999_999 * SECOND);
        let read = Calendar::read();
        assert!(read.utc(now()).abs_diff(utc()) < 50 * MILLISECOND);
    }
}
