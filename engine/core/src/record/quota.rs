//! Quota of a load of a fixed number of transactions.
//!
//! All threads share one budget, so that none runs out of work while another has much. Each takes a batch at
//! a time, which gets smaller as the budget shrinks; starting a transaction of its batch involves no other
//! thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Largest batch: as many transactions a stalled thread withholds from the others.
const LARGEST_BATCH: u64 = 64;
/// Share of a batch in the remaining budget of each thread, so that nearly all of it is given out before
/// batches reach one.
const BATCH_DIVISOR: u64 = 8;

/// Transactions that all threads together may still start.
#[derive(Debug)]
pub struct SharedBudget {
    remaining: AtomicU64,
    threads: u64,
}

impl SharedBudget {
    pub fn new(transactions: u64, threads: u64) -> Self {
        Self { remaining: AtomicU64::new(transactions), threads }
    }

    fn is_empty(&self) -> bool {
        self.remaining.load(Relaxed) == 0
    }

    /// Takes a batch; 0 if the budget is exhausted.
    fn take(&self) -> u64 {
        let local_batch = |remaining: u64| {
            (remaining / (BATCH_DIVISOR * self.threads)).clamp(1, LARGEST_BATCH).min(remaining)
        };
        let before = self
            .remaining
            .fetch_update(Relaxed, Relaxed, |remaining| Some(remaining - local_batch(remaining)));
        local_batch(before.expect("every number has a successor here"))
    }
}

/// Transactions that one thread may start.
#[derive(Clone, Debug, Default)]
pub enum Quota {
    /// Without a limit.
    #[default]
    Unlimited,
    /// The shared budget, and the rest of the thread's batch.
    Shared { budget: Arc<SharedBudget>, local_batch: u64 },
    /// A number for each client of the thread. The clients are numbered `thread`, `thread + threads`, ...
    Each { remaining: Vec<u64>, threads: u32 },
}

impl Quota {
    pub fn shared(budget: Arc<SharedBudget>) -> Self {
        Self::Shared { budget, local_batch: 0 }
    }

    /// No transactions.
    pub fn ended() -> Self {
        Self::shared(Arc::new(SharedBudget::new(0, 1)))
    }

    pub fn per_client(transactions: u64, clients: usize, threads: u32) -> Self {
        Self::Each { remaining: vec![transactions; clients], threads }
    }

    /// Reserves up to `most` transactions of a client. Returns how many may start.
    #[inline]
    pub fn reserve(&mut self, client: u32, most: u64) -> u64 {
        match self {
            Self::Unlimited => most,
            Self::Shared { budget, local_batch } => {
                while *local_batch < most {
                    match budget.take() {
                        0 => break,
                        more => *local_batch += more,
                    }
                }
                most.min(*local_batch)
            }
            Self::Each { remaining, threads } => most.min(remaining[(client / *threads) as usize]),
        }
    }

    /// Consumes `count` reserved transactions.
    #[inline]
    pub fn consume(&mut self, client: u32, count: u64) {
        match self {
            Self::Unlimited => {}
            Self::Shared { local_batch, .. } => *local_batch = local_batch.saturating_sub(count),
            Self::Each { remaining, threads } => {
                let remaining = &mut remaining[(client / *threads) as usize];
                *remaining = remaining.saturating_sub(count);
            }
        }
    }

    /// Takes all transactions that clients of the thread may still start by numbers of their own. Returns the
    /// number; 0 of a shared budget, which is left to the other threads.
    pub fn take_of_clients(&mut self) -> u64 {
        match self {
            Self::Each { remaining, .. } => remaining.iter_mut().map(std::mem::take).sum(),
            Self::Unlimited | Self::Shared { .. } => 0,
        }
    }

    /// Returns true if no client of the thread may start another transaction.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Shared { budget, local_batch } => *local_batch == 0 && budget.is_empty(),
            Self::Each { remaining, .. } => remaining.iter().all(|&remaining| remaining == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of transactions that each thread starts, if `turn` gives the thread of each step.
    fn shared(transactions: u64, threads: u64, turn: impl Fn(u64) -> u64) -> Vec<u64> {
        let budget = Arc::new(SharedBudget::new(transactions, threads));
        let mut quotas: Vec<_> = (0..threads).map(|_| Quota::shared(budget.clone())).collect();
        let mut started = vec![0; threads as usize];
        for number in 0.. {
            let thread = (turn(number) % threads) as usize;
            if quotas[thread].reserve(0, 1) == 1 {
                quotas[thread].consume(0, 1);
                started[thread] += 1;
            } else if quotas.iter().all(Quota::is_exhausted) {
                break;
            }
        }
        started
    }

    #[test]
    fn all_threads_together_start_what_was_asked_for() {
        for transactions in [0, 1, 2, 63, 64, 65, 1_000, 12_345] {
            for threads in 1..5 {
                let started = shared(transactions, threads, |number| number);
                assert_eq!(started.iter().sum::<u64>(), transactions, "{threads} threads");
            }
        }
    }

    #[test]
    fn a_slow_thread_leaves_what_it_cannot_do_to_the_others() {
        let started = shared(10_000, 2, |number| u64::from(number % 10 == 0));
        assert_eq!(started.iter().sum::<u64>(), 10_000);
        assert!((800..1_200).contains(&started[1]), "{started:?}");
    }

    #[test]
    fn threads_that_take_at_the_same_time_take_no_more_than_there_is() {
        let budget = Arc::new(SharedBudget::new(100_000, 4));
        let taken: u64 = std::thread::scope(|scope| {
            let take = || {
                let mut quota = Quota::shared(budget.clone());
                let mut taken = 0;
                while quota.reserve(0, 1) > 0 {
                    quota.consume(0, 1);
                    taken += 1;
                }
                taken
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 100_000);
    }

    #[test]
    fn each_client_has_its_own_number() {
        let mut quota = Quota::per_client(3, 2, 2); // clients 1 and 3 of thread 1 of 2
        for _ in 0..3 {
            assert_eq!(quota.reserve(1, 1), 1);
            quota.consume(1, 1);
        }
        assert_eq!((quota.reserve(1, 1), quota.reserve(3, 5), quota.is_exhausted()), (0, 3, false));
        (0..3).for_each(|_| quota.consume(3, 1));
        assert!(quota.is_exhausted());
    }

    #[test]
    fn what_clients_may_start_is_taken_at_once() {
        let mut of_clients = Quota::per_client(3, 2, 1);
        of_clients.consume(1, 1);
        assert_eq!((of_clients.take_of_clients(), of_clients.is_exhausted()), (5, true));
        assert_eq!(of_clients.take_of_clients(), 0);
        let mut shared = Quota::shared(Arc::new(SharedBudget::new(1_000, 2)));
        assert_eq!((shared.take_of_clients(), shared.is_exhausted()), (0, false));
        assert_eq!(Quota::Unlimited.take_of_clients(), 0);
    }

    #[test]
    fn several_at_once_are_allowed_as_far_as_there_are_any() {
        let mut quota = Quota::shared(Arc::new(SharedBudget::new(21, 1)));
        assert_eq!(quota.reserve(0, 16), 16);
        (0..16).for_each(|_| quota.consume(0, 1));
        assert_eq!(quota.reserve(0, 16), 5);
        (0..5).for_each(|_| quota.consume(0, 1));
        assert!(quota.is_exhausted());
        assert_eq!(Quota::Unlimited.reserve(7, 16), 16);
    }
}
