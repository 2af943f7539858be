//! Partition of a load among its threads.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::reactor::{Bounds, EventSender, ThreadEvent};
use loadcell_core::pace::{OpenLoop, ScheduleShare};
use loadcell_core::record::{Quota, SharedBudget};
use loadcell_core::spec::Load;

/// Partition of a load into the shares of its threads.
pub struct Partition<'l> {
    load: &'l Load,
    threads: u32,
    /// Number of the first thread among those of all groups.
    first: usize,
    to: &'l Sender<(usize, ThreadEvent)>,
    /// Transactions that all threads may still start together.
    budget: Option<Arc<SharedBudget>>,
}

/// One thread's share of a load.
pub struct ThreadShare {
    /// Quota, in a load of a fixed number of transactions.
    pub bounds: Option<Bounds>,
    /// Schedule, in an open loop.
    pub schedule: Option<OpenLoop>,
    pub events: EventSender,
}

impl<'l> Partition<'l> {
    pub fn new(load: &'l Load, threads: u32, first: usize, to: &'l Sender<(usize, ThreadEvent)>) -> Self {
        let budget = load.requests.map(|requests| Arc::new(SharedBudget::new(requests, threads.into())));
        Self { load, threads, first, to, budget }
    }

    /// Returns the share of a thread (counted from 0) with the given number of clients.
    pub fn share(&self, thread: u32, clients: usize) -> ThreadShare {
        let schedule = self.load.schedule.as_ref().map(|schedule| {
            let share = ScheduleShare { thread, threads: self.threads, clients: self.load.clients };
            OpenLoop::new(schedule.arrivals, schedule.segments(), share, schedule.seed)
        });
        let events = EventSender { thread: self.first + thread as usize, to: self.to.clone() };
        ThreadShare { bounds: self.bounds(clients), schedule, events }
    }

    fn bounds(&self, clients: usize) -> Option<Bounds> {
        let quota = match (&self.budget, self.load.requests_per_client) {
            (Some(budget), _) => Quota::shared(budget.clone()),
            (None, Some(requests)) => Quota::per_client(requests, clients, self.threads),
            (None, None) => return None,
        };
        Some(Bounds { quota, warmup_ns: Some(self.load.warmup_ns).filter(|&warmup_ns| warmup_ns > 0) })
    }
}
