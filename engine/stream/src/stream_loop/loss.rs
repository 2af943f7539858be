//! Trouble of a connection: records without an answer in time, the end of the peer, and its loss.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Stage, StreamLoop};
use crate::judge::{End, failure};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::pace::Pacer;
use loadcell_core::record::TRANSACTION;
use loadcell_load::reactor::{Loss, ThreadState};

/// Number of the load's connections that are not lost.
#[derive(Clone, Debug)]
pub struct Survivors(Arc<AtomicU32>);

impl Survivors {
    pub fn new(connections: u32) -> Self {
        Self(Arc::new(AtomicU32::new(connections)))
    }

    /// Notes the loss of a connection. Returns true if there is another one.
    fn lose(&self) -> bool {
        self.0.fetch_sub(1, Relaxed) > 1
    }
}

impl<P: Pacer> StreamLoop<P> {
    /// When overtaken records of a bounded load's warm-up count as lost: it has ended, and the service has
    /// been quiet for as long as records have at the end of the load. The measurement waits for them.
    pub(super) fn quiet_limit(&self) -> Option<Nanos> {
        let ThreadState { window, warmup_end, .. } = &self.thread;
        let is_draining = window.start == Nanos::MAX && self.now >= *warmup_end && self.is_open();
        let limit = || self.received_at.max(*warmup_end).saturating_add(self.parts.limits.drain_ns);
        is_draining.then(limit)
    }

    /// Fails what the peer has not taken or answered in time.
    #[inline]
    pub(super) fn expire(&mut self) -> Result<(), Failure> {
        if self.quiet_limit().is_some_and(|limit| self.now >= limit) {
            self.thread.advance(self.now);
            self.parts.judge.give_up_overtaken(self.now, &mut self.thread.recorder);
        }
        let Some(timeout) = self.parts.limits.timeout_ns.filter(|_| self.is_open()) else { return Ok(()) };
        let limit = self.now.saturating_sub(timeout);
        if self.blocked_since.is_some_and(|since| since <= limit) {
            let message = format!("the service took no data for {} s", timeout as f64 / 1e9);
            return Err(failure("timeout", message));
        }
        if self.parts.judge.oldest_sent().is_none_or(|sent| sent > limit) {
            return Ok(());
        }
        self.thread.advance(self.now);
        // No later record overtakes the last ones of the stream, or of a warm-up.
        let is_last = self.stage == Stage::Ended || self.quiet_limit().is_some();
        let (judge, recorder) = (&mut self.parts.judge, &mut self.thread.recorder);
        match judge.expire(limit, self.now, recorder)
            || is_last && judge.give_up_until(limit, self.now, recorder)
        {
            true => Ok(()),
            false => Err(Loss::unanswered(timeout).why),
        }
    }

    /// The peer has closed the connection.
    #[cold]
    pub(super) fn on_end(&mut self) -> Result<(), Failure> {
        if self.stage == Stage::Sending {
            return Err(Loss::closed().why);
        }
        self.parts.judge.end(&End::Closed, self.now, &mut self.thread.recorder);
        self.stage = Stage::Closed;
        Ok(())
    }

    /// The connection failed, and is abandoned.
    #[cold]
    pub(super) fn lose(&mut self, why: &Failure) {
        if !self.is_open() {
            return;
        }
        self.thread.advance(self.now);
        let failed = self.parts.judge.end(&End::Failed(why.clone()), self.now, &mut self.thread.recorder);
        self.fail_dues(why);
        self.retired = self.parts.survivors.lose().then(|| why.clone());
        self.fail_unsent();
        if !failed {
            self.thread.recorder.report_error(self.now, &why.code, &why.message);
        }
        if let Some(since) = self.blocked_since.take() {
            self.add_blocked(since, self.now);
        }
        self.parts.batch.abandon();
        self.parts.connection.close();
        self.stage = Stage::Lost;
        self.thread.on_disconnected(self.now);
    }

    /// Fails what a connection would have sent that was lost while others were not: each record is one of a
    /// connection. An open loop does not slow down: the records fail when they are due. (When all connections
    /// are lost, no quota may be exhausted: the load would count as complete.)
    #[inline]
    pub(super) fn fail_unsent(&mut self) {
        let Some(why) = &self.retired else { return };
        let (now, ThreadState { pacer, recorder, admit_from, admit_until, .. }) =
            (self.now, &mut self.thread);
        if !(*admit_from..*admit_until).contains(&now) {
            return;
        }
        if !P::SCHEDULED {
            let unsent = recorder.take_quota_of_clients();
            if unsent > 0 {
                recorder.start_many(now, unsent);
                recorder.fail_many(now, now, now, why, unsent);
            }
            return;
        }
        pacer.mark_due_until(now + 1, recorder);
        loop {
            let due = pacer.due(now);
            if due > now {
                break;
            }
            pacer.start_next(recorder);
            recorder.fail(TRANSACTION, due, now, now, why);
        }
    }

    /// Fails records that have started and were not offered to the kernel.
    pub(super) fn fail_dues(&mut self, why: &Failure) {
        let now = self.now;
        for due in std::mem::take(&mut self.dues) {
            self.thread.recorder.fail(TRANSACTION, due, now, now, why);
        }
    }
}
