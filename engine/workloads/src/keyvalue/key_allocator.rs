//! Allocation of keys inserted during a load, and the range in which all keys exist.

use std::sync::atomic::{AtomicU64, Ordering};

/// Shared by all clients of a load. Numbers are allocated in sequence; reads are drawn from those below
/// `items`, all of whose inserts are complete.
pub struct KeyAllocator {
    next: AtomicU64,
    items: AtomicU64,
    /// At `number % WINDOW`: the number plus 1, once its insert is complete.
    answered: Box<[AtomicU64]>,
}

/// Maximum of inserts waited for. An insert that is incomplete after as many later ones is skipped.
const WINDOW: u64 = 1 << 16;

impl KeyAllocator {
    /// Keys below `items` exist.
    pub fn new(items: u64) -> Self {
        let answered = (0..WINDOW).map(|_| AtomicU64::new(0)).collect();
        Self { next: AtomicU64::new(items), items: AtomicU64::new(items), answered }
    }

    /// Number of readable keys.
    #[inline]
    pub fn items(&self) -> u64 {
        self.items.load(Ordering::SeqCst)
    }

    /// Allocate the number of a new key.
    pub fn allocate(&self) -> u64 {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        self.items.fetch_max((number + 1).saturating_sub(WINDOW), Ordering::SeqCst);
        number
    }

    /// Mark the insert of this number as complete, even if it failed: a failure must not block all later
    /// ones.
    pub fn complete(&self, number: u64) {
        self.answered[(number % WINDOW) as usize].store(number + 1, Ordering::SeqCst);
        loop {
            let items = self.items();
            if self.answered[(items % WINDOW) as usize].load(Ordering::SeqCst) != items + 1 {
                return;
            }
            // If another thread was faster, check again.
            let _ = self.items.compare_exchange(items, items + 1, Ordering::SeqCst, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn keys_become_readable_in_order() {
        let allocator = KeyAllocator::new(10);
        assert_eq!((allocator.allocate(), allocator.allocate(), allocator.allocate()), (10, 11, 12));
        allocator.complete(11);
        assert_eq!(allocator.items(), 10);
        allocator.complete(10);
        assert_eq!(allocator.items(), 12);
        allocator.complete(12);
        assert_eq!(allocator.items(), 13);
    }

    #[test]
    fn unanswered_insert_is_skipped_eventually() {
        let allocator = KeyAllocator::new(0);
        let stuck = allocator.allocate();
        for _ in 0..2 * WINDOW {
            let number = allocator.allocate();
            allocator.complete(number);
        }
        assert_eq!(allocator.items(), 2 * WINDOW + 1);
        allocator.complete(stuck);
        assert_eq!(allocator.items(), 2 * WINDOW + 1);
    }

    #[test]
    fn threads_count_each_key_once() {
        let allocator = Arc::new(KeyAllocator::new(5));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let allocator = allocator.clone();
                std::thread::spawn(move || (0..20_000).for_each(|_| allocator.complete(allocator.allocate())))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(allocator.items(), 80_005);
    }
}
