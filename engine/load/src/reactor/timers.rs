//! What is to be done later: few things, and none of them for each request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::epoll::Token;
use loadcell_core::clock::Nanos;

/// What a connection's time has come for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A client that rested by its own choice has its turn.
    Due,
    /// A pause within a transaction is over.
    Resume,
    /// Connect (again).
    Connect,
    /// A connection that is being made has taken too long.
    Overdue,
}

/// Earliest first. An alarm is never taken back: who sets it sees from the token's generation that it is out of date.
#[derive(Default)]
pub struct TimerQueue {
    heap: BinaryHeap<Reverse<(Nanos, Timer, u32, u32)>>,
}

impl TimerQueue {
    pub fn set(&mut self, at: Nanos, alarm: Timer, token: Token) {
        self.heap.push(Reverse((at, alarm, token.index, token.generation)));
    }

    /// When the first alarm goes off.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse(first)| first.0)
    }

    /// An alarm whose time has come.
    #[inline]
    pub fn pop(&mut self, now: Nanos) -> Option<(Timer, Token)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, alarm, index, generation))| (alarm, Token { index, generation }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_go_off_in_order_and_not_before_their_time() {
        let mut timers = TimerQueue::default();
        let token = |index| Token { index, generation: 9 };
        assert_eq!(timers.next(), Nanos::MAX);
        timers.set(30, Timer::Connect, token(3));
        timers.set(10, Timer::Connect, token(1));
        timers.set(20, Timer::Overdue, token(2));
        assert_eq!(timers.next(), 10);
        assert_eq!(timers.pop(9), None);
        assert_eq!(timers.pop(20), Some((Timer::Connect, token(1))));
        assert_eq!(timers.pop(20), Some((Timer::Overdue, token(2))));
        assert_eq!(timers.pop(20), None);
        assert_eq!(timers.pop(30), Some((Timer::Connect, token(3))));
    }
}
