//! Orders to a thread of the proxy, and its acknowledgement.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::effect::Effects;
use loadcell_transport::epoll::Waker;

pub struct Control {
    pub waker: Waker,
    /// Number of the effects that are ordered.
    ordered: AtomicU64,
    effects: Mutex<Arc<Effects>>,
    /// Number of the effects that the thread follows.
    followed: Mutex<u64>,
    changed: Condvar,
    stopped: AtomicBool,
}

impl Control {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            waker: Waker::new()?,
            ordered: AtomicU64::new(0),
            effects: Mutex::default(),
            followed: Mutex::new(0),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
        })
    }

    /// Order other effects.
    pub fn order(&self, effects: Arc<Effects>) {
        let epoch = effects.epoch;
        *self.effects.lock().unwrap_or_else(PoisonError::into_inner) = effects;
        self.ordered.store(epoch, Ordering::Release);
        self.waker.wake();
    }

    /// Wait until the thread follows them. Returns false at the time limit.
    pub fn await_followed(&self, epoch: u64, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        while *followed < epoch {
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return false;
            }
            followed =
                self.changed.wait_timeout(followed, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Other effects than those of this number, if there are.
    #[inline]
    pub fn change(&self, epoch: u64) -> Option<Arc<Effects>> {
        if self.ordered.load(Ordering::Acquire) == epoch {
            return None;
        }
        Some(self.effects.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    pub fn acknowledge(&self, epoch: u64) {
        *self.followed.lock().unwrap_or_else(PoisonError::into_inner) = epoch;
        self.changed.notify_all();
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
