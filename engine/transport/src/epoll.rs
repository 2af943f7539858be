//! The kernel's event queue, with a timer and a waker in it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use super::check;
use loadcell_core::clock::{self, Nanos, SECOND};

/// Most events taken by one call; the more, the fewer calls of the kernel under load.
const BATCH: usize = 256;

/// Owner of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub index: u32,
    /// Distinguishes a connection from an earlier one of the same client, whose last events may still be in
    /// the batch.
    pub generation: u32,
}

impl Token {
    /// The timer and the waker, which only end a wait.
    const WAKE: Self = Self { index: u32::MAX, generation: u32::MAX };

    /// Marks a descriptor other than the client's socket.
    const AUXILIARY: u32 = 1 << 31;

    /// Token of another descriptor that this client waits for.
    pub fn auxiliary(self) -> Self {
        Self { index: self.index | Self::AUXILIARY, ..self }
    }

    /// The client's token, if this is the token of its other descriptor.
    #[inline]
    pub fn auxiliary_owner(self) -> Option<Self> {
        (self.index & Self::AUXILIARY != 0).then_some(Self { index: self.index & !Self::AUXILIARY, ..self })
    }

    fn pack(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    fn unpack(data: u64) -> Self {
        Self { index: data as u32, generation: (data >> 32) as u32 }
    }
}

/// Readiness of a descriptor.
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

    /// The peer has closed, or an error occurred; the next read tells which.
    #[inline]
    pub fn hung_up(self) -> bool {
        self.0 & ((libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32) != 0
    }
}

/// Edge-triggered queue: an event is reported once, so that no request needs a new registration.
pub struct Epoll {
    queue: OwnedFd,
    timer: OwnedFd,
    timer_set_to: Nanos,
    /// Kept open as long as it is registered.
    _waker: Waker,
    events: Vec<libc::epoll_event>,
    /// The kernel takes timeouts in nanoseconds (`epoll_pwait2`, Linux 5.11).
    nanosecond_timeouts: bool,
}

impl Epoll {
    pub fn new(waker: Waker) -> io::Result<Self> {
        // SAFETY: no pointers; the descriptors are owned at once.
        let queue = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        let timer =
            unsafe { OwnedFd::from_raw_fd(check(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?) };
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; BATCH];
        let epoll =
            Self { queue, timer, timer_set_to: 0, _waker: waker.clone(), events, nanosecond_timeouts: true };
        epoll.control(libc::EPOLL_CTL_ADD, epoll.timer.as_raw_fd(), Token::WAKE, false)?;
        epoll.control(libc::EPOLL_CTL_ADD, waker.0.as_raw_fd(), Token::WAKE, false)?;
        Ok(epoll)
    }

    /// Registers `fd` for input, and for writability if `writable`. Closing it removes it.
    pub fn add(&self, fd: RawFd, token: Token, writable: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, writable)
    }

    pub fn change(&self, fd: RawFd, token: Token, writable: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, writable)
    }

    fn control(&self, operation: libc::c_int, fd: RawFd, token: Token, writable: bool) -> io::Result<()> {
        let out = if writable { libc::EPOLLOUT } else { 0 };
        let events = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET | out) as u32;
        let mut event = libc::epoll_event { events, u64: token.pack() };
        // SAFETY: `event` is valid for the call, which copies it.
        check(unsafe { libc::epoll_ctl(self.queue.as_raw_fd(), operation, fd, &mut event) }).map(drop)
    }

    /// Waits for events until `until` at the latest. Returns the number of events, which `event` then gives.
    ///
    /// The timer in the queue is set only when `until` changes: a timeout for each wait would cost a kernel
    /// timer each.
    pub fn wait(&mut self, until: Nanos) -> io::Result<usize> {
        if until != self.timer_set_to {
            self.set_timer(until)?;
        }
        self.poll(-1)
    }

    /// Waits for events, but not longer than `max_ns`. Returns the number of events. With 0 it only polls.
    ///
    /// For waits with different ends each: setting the timer for each would cost more than a timeout.
    pub fn sleep(&mut self, max_ns: Nanos) -> io::Result<usize> {
        let (queue, events, size) = (self.queue.as_raw_fd(), self.events.as_mut_ptr(), BATCH as libc::c_int);
        if max_ns == 0 {
            return self.poll(0);
        }
        if self.nanosecond_timeouts {
            let time = libc::timespec {
                tv_sec: (max_ns / SECOND) as libc::time_t,
                tv_nsec: (max_ns % SECOND) as libc::c_long,
            };
            let (time, no_mask) = (std::ptr::from_ref(&time), std::ptr::null::<libc::sigset_t>());
            // SAFETY: `events` has room for `BATCH` events, `time` is valid for the call. Not by libc's
            // wrapper, which older ones lack.
            let count =
                unsafe { libc::syscall(libc::SYS_epoll_pwait2, queue, events, size, time, no_mask, 0usize) };
            match event_count(check(count as libc::c_int)) {
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                    self.nanosecond_timeouts = false
                }
                result => return result,
            }
        }
        self.wait(clock::now() + max_ns)
    }

    /// Waits without limit (-1), or polls (0).
    #[inline]
    fn poll(&mut self, timeout_ms: libc::c_int) -> io::Result<usize> {
        let (queue, events, size) = (self.queue.as_raw_fd(), self.events.as_mut_ptr(), BATCH as libc::c_int);
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: `events` has room for `BATCH` events. By the bare call, as sockets are read and written.
        let count =
            unsafe { libc::syscall(libc::SYS_epoll_pwait, queue, events, size, timeout_ms, no_mask, 0usize) };
        event_count(check(count as libc::c_int))
    }

    fn set_timer(&mut self, until: Nanos) -> io::Result<()> {
        // `Nanos::MAX` means no timer, and time 0 would switch the timer off.
        let at = if until == Nanos::MAX { 0 } else { until.max(1) };
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value =
            libc::timespec { tv_sec: (at / SECOND) as libc::time_t, tv_nsec: (at % SECOND) as libc::c_long };
        let timer = libc::itimerspec { it_interval: zero, it_value: value };
        let absolute = libc::TFD_TIMER_ABSTIME;
        // SAFETY: `timer` is valid for the call; the old value is not asked for.
        check(unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), absolute, &timer, std::ptr::null_mut())
        })?;
        self.timer_set_to = until;
        Ok(())
    }

    /// Event number `index` of the last wait; none if it was that of the timer or the waker.
    #[inline]
    pub fn event(&self, index: usize) -> Option<(Token, Readiness)> {
        let event = self.events[index];
        let token = Token::unpack(event.u64);
        (token != Token::WAKE).then_some((token, Readiness(event.events)))
    }
}

/// Turns the result of a wait into the number of events; 0 if a signal interrupted it.
fn event_count(result: io::Result<libc::c_int>) -> io::Result<usize> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        result => result.map(|count| count as usize),
    }
}

/// Wakes a waiting thread from any other thread (an eventfd).
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
        let increment = 1u64;
        // SAFETY: eight bytes, as an eventfd requires. It fails only after 2^64 calls that nobody read.
        unsafe { libc::write(self.0.as_raw_fd(), std::ptr::from_ref(&increment).cast(), 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::clock::{MILLISECOND, now};

    #[test]
    fn a_wait_ends_at_its_instant() {
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
    fn a_sleep_ends_in_time_with_and_without_timeouts_in_nanoseconds() {
        for nanosecond_timeouts in [true, false] {
            let mut epoll = Epoll { nanosecond_timeouts, ..Epoll::new(Waker::new().unwrap()).unwrap() };
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
    fn an_instant_in_the_past_does_not_wait() {
        let mut epoll = Epoll::new(Waker::new().unwrap()).unwrap();
        epoll.wait(1).unwrap();
        epoll.wait(now() - 1).unwrap();
    }

    #[test]
    fn a_waker_ends_a_wait_without_limit() {
        let waker = Waker::new().unwrap();
        let mut epoll = Epoll::new(waker.clone()).unwrap();
        let waiting = std::thread::spawn(move || epoll.wait(Nanos::MAX).unwrap());
        waker.wake();
        assert_eq!(waiting.join().unwrap(), 1);
    }
}
