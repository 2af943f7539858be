//! How a load is shared out among the threads that make it.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::reactor::{Bounds, EventSender, ThreadEvent};
use loadcell_core::pace::{OpenLoop, ScheduleShare};
use loadcell_core::record::{Quota, SharedBudget};
use loadcell_core::spec::Load;

/// All threads' parts of a load.
pub struct Partition<'l> {
    load: &'l Load,
    threads: u32,
    /// The number of the first thread in its news, and where those go.
    first: usize,
    to: &'l Sender<(usize, ThreadEvent)>,
    /// What is left of the transactions that all threads make together.
    budget: Option<Arc<SharedBudget>>,
}

/// One thread's part.
pub struct ThreadShare {
    /// What it is to make, where that is counted.
    pub bounds: Option<Bounds>,
    /// When what it makes is due, in an open loop.
    pub schedule: Option<OpenLoop>,
    pub events: EventSender,
}

impl<'l> Partition<'l> {
    pub fn new(load: &'l Load, threads: u32, first: usize, to: &'l Sender<(usize, ThreadEvent)>) -> Self {
        let budget = load.requests.map(|requests| Arc::new(SharedBudget::new(requests, threads.into())));
        Self { load, threads, first, to, budget }
    }

    /// That of a thread, counted from 0, with so many of the clients.
    pub fn of(&self, thread: u32, clients: usize) -> ThreadShare {
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
            (None, Some(each)) => Quota::each(each, clients, self.threads),
            (None, None) => return None,
        };
        Some(Bounds { quota, hold_after_ns: Some(self.load.warmup_ns).filter(|&warmup_ns| warmup_ns > 0) })
    }
}
