//! A link of limited bandwidth, which all connections of all threads share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use loadcell_core::clock::{MILLISECOND, Nanos, SECOND};

/// Time for which an idle link may make up: a thread that wakes up late does not lower the rate.
const CREDIT: Nanos = 10 * MILLISECOND;
/// Time that one piece of bytes takes the link, so that connections take turns ...
const PIECE: Nanos = 4 * MILLISECOND;
/// ... within these sizes: the payload of a packet, and a read.
const PIECE_BYTES: (u64, u64) = (1448, 64 * 1024);

/// Bytes take it one after the other, in the order in which they arrive (a virtual scheduling of the generic
/// cell rate algorithm, ITU-T I.371).
#[derive(Debug)]
pub struct Link {
    bytes_per_s: u64,
    /// Instant at which it has sent all bytes so far.
    free_at: AtomicU64,
}

impl Link {
    pub fn new(bytes_per_s: u64) -> Self {
        Self { bytes_per_s, free_at: AtomicU64::new(0) }
    }

    /// Most bytes that a connection sends at once.
    pub fn piece(&self) -> usize {
        let bytes = u128::from(self.bytes_per_s) * u128::from(PIECE) / u128::from(SECOND);
        bytes.clamp(PIECE_BYTES.0.into(), PIECE_BYTES.1.into()) as usize
    }

    /// Take the link for `bytes`; the instant at which the last of them has left it.
    pub fn reserve(&self, now: Nanos, bytes: usize) -> Nanos {
        let takes = (bytes as u128 * u128::from(SECOND) / u128::from(self.bytes_per_s)) as Nanos;
        let sent_at = |free_at: Nanos| free_at.max(now.saturating_sub(CREDIT)) + takes;
        let update = self.free_at.fetch_update(Relaxed, Relaxed, |free_at| Some(sent_at(free_at)));
        sent_at(update.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_the_link_at_its_rate() {
        let link = Link::new(1_000_000);
        let start = 10 * SECOND;
        let ends: Vec<_> = (0..4).map(|_| link.reserve(start, 500_000)).collect();
        let expected = [1, 2, 3, 4].map(|half| start - CREDIT + half * SECOND / 2);
        assert_eq!(ends, expected);
        let late = start + 10 * SECOND;
        assert_eq!(link.reserve(late, 1_000), late - CREDIT + MILLISECOND, "it was idle");
    }

    #[test]
    fn pieces_suit_the_rate() {
        assert_eq!(Link::new(1_000_000).piece(), 4_000);
        assert_eq!(Link::new(10).piece(), 1448);
        assert_eq!(Link::new(1 << 40).piece(), 65536);
    }
}
