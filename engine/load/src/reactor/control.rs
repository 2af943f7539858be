//! What the thread that leads a load and one that makes it tell each other. Neither ever waits for the other.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use super::Waker;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{LifetimeCounts, Published, Quota, Window};

/// Decisions, to one reactor. It looks at them whenever it wakes up.
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

    /// All clients are connected: work as this window says, which has not begun yet.
    pub fn begin(&self, window: Window) {
        let _ = self.window.set(window);
        self.waker.wake();
    }

    /// All clients have made what they began in the warm-up: measure as this window says, which has not started yet.
    pub fn measure(&self, window: Window) {
        let _ = self.measurement.set(window);
        self.waker.wake();
    }

    /// End at `end`, earlier than planned.
    pub fn end_at(&self, end: Nanos) {
        self.end.store(end, Relaxed);
        self.waker.wake();
    }

    /// Give up at once.
    pub fn abandon(&self) {
        self.abandoned.store(true, Relaxed);
        self.waker.wake();
    }

    /// How many clients have a connection.
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
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Relaxed)
    }

    pub(crate) fn set_connections(&self, count: u32) {
        self.connections.store(count, Relaxed);
    }
}

/// What one reactor knows of a load that is to make a number of transactions, and then end.
pub struct Bounds {
    /// Of the measurement.
    pub quota: Quota,
    /// When the warm-up starts nothing more: the measurement begins when nothing of it is in progress any more. None
    /// without a warm-up.
    pub hold_after_ns: Option<Nanos>,
}

/// A client that could not connect in the first place.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub client: u32,
    pub why: Failure,
    /// The operating system's error number, where it was that which failed.
    pub errno: Option<i32>,
}

/// News, from one reactor; the number of its thread comes with it.
pub enum ThreadEvent {
    /// One more client has its first connection.
    Connected,
    Refused(Refusal),
    /// Of a load with bounds: nothing of the warm-up is in progress any more.
    WarmupDrained,
    /// All was made that was to be, and the last of it ended then.
    QuotaExhausted(Nanos),
    Published(Published),
    /// The last message of a thread: all it counted, or why it broke.
    Finished(Result<LifetimeCounts, String>),
}

/// Where a reactor sends its news to.
#[derive(Clone)]
pub struct EventSender {
    pub thread: usize,
    pub to: Sender<(usize, ThreadEvent)>,
}

impl EventSender {
    /// If nobody is left to read it, nobody misses it.
    pub fn send(&self, message: ThreadEvent) {
        let _ = self.to.send((self.thread, message));
    }
}
