//! Timers of a reactor: few, and none for an ordinary request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use loadcell_core::clock::Nanos;
use loadcell_transport::epoll::Token;

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A client's think time is over: start its next transaction.
    Start,
    /// A pause within a transaction is over.
    Resume,
    /// Read on, as a server sends without end.
    Receive,
    /// Connect (again).
    Connect,
    /// The limit of an attempt to connect.
    ConnectTimeout,
}

/// Timers in the order of their instants. A timer is never cancelled: the token's generation shows that it is
/// outdated.
#[derive(Default)]
pub struct TimerQueue {
    heap: BinaryHeap<Reverse<(Nanos, Timer, u32, u32)>>,
}

impl TimerQueue {
    pub fn set(&mut self, at: Nanos, timer: Timer, token: Token) {
        self.heap.push(Reverse((at, timer, token.index, token.generation)));
    }

    /// Instant of the first timer; `Nanos::MAX` if there is none.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse(first)| first.0)
    }

    /// Removes and returns the first timer that has expired at `now`.
    #[inline]
    pub fn pop(&mut self, now: Nanos) -> Option<(Timer, Token)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, timer, index, generation))| (timer, Token { index, generation }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_in_order_and_not_before_their_time() {
        let mut timers = TimerQueue::default();
        let token = |index| Token { index, generation: 9 };
        assert_eq!(timers.next(), Nanos::MAX);
        timers.set(30, Timer::Connect, token(3));
        timers.set(10, Timer::Connect, token(1));
        timers.set(20, Timer::ConnectTimeout, token(2));
        assert_eq!(timers.next(), 10);
        assert_eq!(timers.pop(9), None);
        assert_eq!(timers.pop(20), Some((Timer::Connect, token(1))));
        assert_eq!(timers.pop(20), Some((Timer::ConnectTimeout, token(2))));
        assert_eq!(timers.pop(20), None);
        assert_eq!(timers.pop(30), Some((Timer::Connect, token(3))));
    }
}
