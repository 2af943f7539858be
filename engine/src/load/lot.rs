//! How a load is shared out among the threads that make it.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::pace::{Open, Share};
use crate::reactor::{Bounds, Mail, Message};
use crate::record::{Pot, Quota};
use crate::spec::Load;

/// All threads' parts of a load.
pub struct Lots<'l> {
    load: &'l Load,
    threads: u32,
    /// The number of the first thread in its news, and where those go.
    first: usize,
    to: &'l Sender<(usize, Message)>,
    /// What is left of the transactions that all threads make together.
    pot: Option<Arc<Pot>>,
}

/// One thread's part.
pub struct Lot {
    /// What it is to make, where that is counted.
    pub bounds: Option<Bounds>,
    /// When what it makes is due, in an open loop.
    pub schedule: Option<Open>,
    pub mail: Mail,
}

impl<'l> Lots<'l> {
    pub fn new(load: &'l Load, threads: u32, first: usize, to: &'l Sender<(usize, Message)>) -> Self {
        let pot = load.requests.map(|requests| Arc::new(Pot::new(requests, threads.into())));
        Self { load, threads, first, to, pot }
    }

    /// That of a thread, counted from 0, with so many of the clients.
    pub fn of(&self, thread: u32, clients: usize) -> Lot {
        let schedule = self.load.schedule.as_ref().map(|schedule| {
            let share = Share { thread, threads: self.threads, clients: self.load.clients };
            Open::new(schedule.arrivals, schedule.pieces(), share, schedule.seed)
        });
        let mail = Mail { thread: self.first + thread as usize, to: self.to.clone() };
        Lot { bounds: self.bounds(clients), schedule, mail }
    }

    fn bounds(&self, clients: usize) -> Option<Bounds> {
        let quota = match (&self.pot, self.load.requests_per_client) {
            (Some(pot), _) => Quota::common(pot.clone()),
            (None, Some(each)) => Quota::each(each, clients, self.threads),
            (None, None) => return None,
        };
        Some(Bounds { quota, hold_after_ns: Some(self.load.warmup_ns).filter(|&warmup_ns| warmup_ns > 0) })
    }
}
