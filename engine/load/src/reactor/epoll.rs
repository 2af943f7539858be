//! The kernel's event queue, with a clock and a bell in it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use loadcell_core::clock::{self, Nanos, SECOND};
use loadcell_transport::check;

/// As many events as are taken at once; the more, the fewer calls of the kernel under load.
const BATCH: usize = 256;

/// What an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub index: u32,
    /// Tells a connection from an earlier one of the same client, whose last events may still be in the batch.
    pub generation: u32,
}

impl Token {
    /// The clock and the bell: waking up is all they are for.
    const WAKE: Self = Self { index: u32::MAX, generation: u32::MAX };

    /// Marks what a connection waits for beside its socket.
    const OUTSIDE: u32 = 1 << 31;

    /// For a descriptor that this connection waits for beside its socket.
    pub fn outside(self) -> Self {
        Self { index: self.index | Self::OUTSIDE, ..self }
    }

    /// The connection's own token, if this is of what it waits for beside its socket.
    #[inline]
    pub fn waiting(self) -> Option<Self> {
        (self.index & Self::OUTSIDE != 0).then_some(Self { index: self.index & !Self::OUTSIDE, ..self })
    }

    fn pack(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    fn unpack(data: u64) -> Self {
        Self { index: data as u32, generation: (data >> 32) as u32 }
    }
}

/// What is new about a connection.
#[derive(Clone, Copy, Debug)]
pub struct Readiness(u32);

impl Readiness {
    #[inline]
    pub fn readable(self) -> bool {
        self.0 & (libc::EPOLLIN as u32) != 0 || self.hung_up()
    }

    #[inline]
    pub fn writable(self) -> bool {
        self.0 & (libc::EPOLLOUT as u32) != 0
    }

    /// The peer closed, or something broke: reading on will tell.
    #[inline]
    pub fn hung_up(self) -> bool {
        self.0 & ((libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32) != 0
    }
}

/// Edge-triggered: an event is told once, so nothing has to be registered again for a request.
pub struct Epoll {
    queue: OwnedFd,
    clock: OwnedFd,
    clock_set_to: Nanos,
    /// Kept open as long as it is registered.
    _bell: Waker,
    events: Vec<libc::epoll_event>,
    /// The kernel takes time-outs in nanoseconds (Linux 5.11).
    fine: bool,
}

impl Epoll {
    pub fn new(waker: Waker) -> io::Result<Self> {
        // SAFETY: no pointers; the descriptors are owned at once.
        let queue = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        let clock =
            unsafe { OwnedFd::from_raw_fd(check(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?) };
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; BATCH];
        let epoll = Self { queue, clock, clock_set_to: 0, _bell: waker.clone(), events, fine: true };
        epoll.control(libc::EPOLL_CTL_ADD, epoll.clock.as_raw_fd(), Token::WAKE, false)?;
        epoll.control(libc::EPOLL_CTL_ADD, waker.0.as_raw_fd(), Token::WAKE, false)?;
        Ok(epoll)
    }

    /// Tells of everything that arrives from `fd`, and when it takes bytes again if `writable`. Closing it ends that.
    pub fn add(&self, fd: RawFd, token: Token, writable: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, writable)
    }

    pub fn change(&self, fd: RawFd, token: Token, writable: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, writable)
    }

    fn control(&self, what: libc::c_int, fd: RawFd, token: Token, writable: bool) -> io::Result<()> {
        let out = if writable { libc::EPOLLOUT } else { 0 };
        let events = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET | out) as u32;
        let mut event = libc::epoll_event { events, u64: token.pack() };
        // SAFETY: `event` is valid for the call, which copies it.
        check(unsafe { libc::epoll_ctl(self.queue.as_raw_fd(), what, fd, &mut event) }).map(drop)
    }

    /// Waits until something happens, or it is `until`; the number of events that `event` then gives.
    ///
    /// The clock is a timer in the queue that is set only when `until` changes: a time-out given to each wait would cost
    /// each of them a kernel timer.
    pub fn wait(&mut self, until: Nanos) -> io::Result<usize> {
        if until != self.clock_set_to {
            self.set_clock(until)?;
        }
        self.ask(-1)
    }

    /// Waits until something happens, but not longer than `at_most`; the number of events. With 0 it only looks.
    ///
    /// For waits that all have different ends: to set the clock for each would cost more than the kernel's own timer.
    pub fn sleep(&mut self, at_most: Nanos) -> io::Result<usize> {
        let (queue, events, size) = (self.queue.as_raw_fd(), self.events.as_mut_ptr(), BATCH as libc::c_int);
        if at_most == 0 {
            return self.ask(0);
        }
        if self.fine {
            let time = libc::timespec {
                tv_sec: (at_most / SECOND) as libc::time_t,
                tv_nsec: (at_most % SECOND) as libc::c_long,
            };
            let (time, no_mask) = (std::ptr::from_ref(&time), std::ptr::null::<libc::sigset_t>());
            // SAFETY: `events` has room for `BATCH` events, `time` is valid for the call. Not by libc's wrapper, which
            // older ones lack.
            let count =
                unsafe { libc::syscall(libc::SYS_epoll_pwait2, queue, events, size, time, no_mask, 0usize) };
            match counted(check(count as libc::c_int)) {
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                    self.fine = false
                }
                result => return result,
            }
        }
        self.wait(clock::now() + at_most)
    }

    /// Without an end (-1), or without waiting (0).
    #[inline]
    fn ask(&mut self, timeout_ms: libc::c_int) -> io::Result<usize> {
        let (queue, events, size) = (self.queue.as_raw_fd(), self.events.as_mut_ptr(), BATCH as libc::c_int);
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: `events` has room for `BATCH` events. By the bare call, as sockets are read and written.
        let count =
            unsafe { libc::syscall(libc::SYS_epoll_pwait, queue, events, size, timeout_ms, no_mask, 0usize) };
        counted(check(count as libc::c_int))
    }

    fn set_clock(&mut self, until: Nanos) -> io::Result<()> {
        // The end of time is no time to be woken at, and time 0 would switch the timer off.
        let at = if until == Nanos::MAX { 0 } else { until.max(1) };
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value =
            libc::timespec { tv_sec: (at / SECOND) as libc::time_t, tv_nsec: (at % SECOND) as libc::c_long };
        let timer = libc::itimerspec { it_interval: zero, it_value: value };
        let absolute = libc::TFD_TIMER_ABSTIME;
        // SAFETY: `timer` is valid for the call; the old value is not asked for.
        check(unsafe {
            libc::timerfd_settime(self.clock.as_raw_fd(), absolute, &timer, std::ptr::null_mut())
        })?;
        self.clock_set_to = until;
        Ok(())
    }

    /// Event number `index` of the last wait; none if it was only the clock or the bell.
    #[inline]
    pub fn event(&self, index: usize) -> Option<(Token, Readiness)> {
        let event = self.events[index];
        let token = Token::unpack(event.u64);
        (token != Token::WAKE).then_some((token, Readiness(event.events)))
    }
}

/// A signal is nothing that happened.
fn counted(result: io::Result<libc::c_int>) -> io::Result<usize> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        result => result.map(|count| count as usize),
    }
}

/// Wakes a thread up that waits; from any other thread.
#[derive(Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor is owned at once.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        Ok(Self(Arc::new(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub fn wake(&self) {
        let one = 1u64;
        // SAFETY: eight bytes, as an eventfd wants them. It fails only when it was rung 2^64 times without being heard.
        unsafe { libc::write(self.0.as_raw_fd(), std::ptr::from_ref(&one).cast(), 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::clock::{MILLISECOND, now};

    #[test]
    fn a_wait_ends_when_it_is_time() {
        let mut epoll = Epoll::new(Waker::new().unwrap()).unwrap();
        for _ in 0..3 {
            let until = now() + 3 * MILLISECOND;
            while now() < until {
                let count = epoll.wait(until).unwrap();
                assert!((0..count).all(|index| epoll.event(index).is_none()));
            }
            assert!(now() < until + 200 * MILLISECOND);
        }
    }

    #[test]
    fn a_sleep_ends_in_time_with_and_without_the_kernels_fine_time_outs() {
        for fine in [true, false] {
            let mut epoll = Epoll { fine, ..Epoll::new(Waker::new().unwrap()).unwrap() };
            let from = now();
            while now() < from + 3 * MILLISECOND {
                let count =
                    epoll.sleep(from + 3 * MILLISECOND - now().min(from + 3 * MILLISECOND - 1)).unwrap();
                assert!((0..count).all(|index| epoll.event(index).is_none()));
            }
            assert!(now() < from + 200 * MILLISECOND);
            assert_eq!(epoll.sleep(0).unwrap(), 0);
        }
    }

    #[test]
    fn a_time_that_is_past_does_not_wait() {
        let mut epoll = Epoll::new(Waker::new().unwrap()).unwrap();
        epoll.wait(1).unwrap();
        epoll.wait(now() - 1).unwrap();
    }

    #[test]
    fn a_bell_wakes_a_wait_without_end() {
        let waker = Waker::new().unwrap();
        let mut epoll = Epoll::new(waker.clone()).unwrap();
        let waiting = std::thread::spawn(move || epoll.wait(Nanos::MAX).unwrap());
        waker.wake();
        assert_eq!(waiting.join().unwrap(), 1);
    }
}
