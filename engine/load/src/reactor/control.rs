//! Messages between the coordinator and a load thread. Neither ever waits for the other.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use super::Waker;
use super::client::Loss;
use loadcell_core::clock::Nanos;
use loadcell_core::record::{LifetimeCounts, Published, Quota, Window};

/// Decisions of the coordinator, for one thread. The thread reads them whenever it wakes up.
pub struct Control {
    pub waker: Waker,
    window: OnceLock<Window>,
    measurement: OnceLock<Window>,
    end: AtomicU64,
    abandoned: AtomicBool,
    connections: AtomicU32,
}

impl Control {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            waker: Waker::new()?,
            window: OnceLock::new(),
            measurement: OnceLock::new(),
            end: AtomicU64::new(Nanos::MAX),
            abandoned: AtomicBool::new(false),
            connections: AtomicU32::new(0),
        })
    }

    /// Sets the window, which has not begun yet, once all clients are connected.
    pub fn begin(&self, window: Window) {
        let _ = self.window.set(window);
        self.waker.wake();
    }

    /// Sets the measurement, which has not started yet, once the warm-up of a bounded load has drained.
    pub fn measure(&self, window: Window) {
        let _ = self.measurement.set(window);
        self.waker.wake();
    }

    /// Ends the window at `end`, earlier than planned.
    pub fn end_at(&self, end: Nanos) {
        self.end.store(end, Relaxed);
        self.waker.wake();
    }

    /// Ends the thread at once.
    pub fn abandon(&self) {
        self.abandoned.store(true, Relaxed);
        self.waker.wake();
    }

    /// Number of connected clients.
    pub fn connections(&self) -> u32 {
        self.connections.load(Relaxed)
    }

    pub(crate) fn window(&self) -> Option<Window> {
        self.window.get().copied()
    }

    pub(crate) fn measurement(&self) -> Option<Window> {
        self.measurement.get().copied()
    }

    #[inline]
    pub(crate) fn end(&self) -> Nanos {
        self.end.load(Relaxed)
    }

    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Relaxed)
    }

    pub(crate) fn set_connections(&self, count: u32) {
        self.connections.store(count, Relaxed);
    }
}

/// One thread's part in a load of a fixed number of transactions.
pub struct Bounds {
    /// Quota of the measurement.
    pub quota: Quota,
    /// Length of the warm-up; the measurement begins when nothing of it is in progress any more. None without
    /// a warm-up.
    pub warmup_ns: Option<Nanos>,
}

/// Event of one load thread, for the coordinator.
pub enum ThreadEvent {
    /// One more client has its first connection.
    Connected,
    /// A client could not connect in the first place.
    Refused(Loss),
    /// No transaction of a bounded load's warm-up is in progress any more.
    WarmupDrained,
    /// All transactions of a bounded load have ended, the last of them at this instant.
    QuotaExhausted(Nanos),
    Published(Published),
    /// The last event of a thread: all it counted, or why it broke.
    Finished(Result<LifetimeCounts, String>),
}

/// Sends a thread's events to the coordinator, with the number of the thread.
#[derive(Clone)]
pub struct EventSender {
    pub thread: usize,
    pub to: Sender<(usize, ThreadEvent)>,
}

impl EventSender {
    /// Sends `event`; without effect when the coordinator has gone.
    pub fn send(&self, event: ThreadEvent) {
        let _ = self.to.send((self.thread, event));
    }
}
