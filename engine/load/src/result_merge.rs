//! Merges the results of several workers that made parts of one load.

use serde_json::{Value, json};

use super::pause_watch::{PAUSED, is_longer};
use super::result::{
    Account, ClientResult, ErrorResult, Histograms, LifetimeResult, LoadResult, MeasuredWindow,
    OperationHistograms, OperationResult, QueryCounts, ReceivedResult, ScheduleResult,
};
use loadcell_core::clock::Nanos;
use loadcell_core::error::LoadError;

/// Merges results, given as JSON. Counts and CPU times are summed; percentiles are those of the union of all
/// recorded values. The window spans all windows by UTC. The outcome is that of the first worker whose load
/// did not complete. Additional metrics of workloads do not merge and are dropped.
///
/// # Errors
/// `merge` if there is no result, one cannot be read, or they are of different loads.
pub fn merge_results(results: &[String]) -> Result<Value, LoadError> {
    let mut merged: Option<LoadResult> = None;
    for (index, text) in results.iter().enumerate() {
        let result = serde_json::from_str::<LoadResult>(text).map_err(|error| {
            LoadError::with_text("merge", error, "engine.merge.unreadable", json!({"index": index}))
        })?;
        match &mut merged {
            None => merged = Some(result),
            Some(merged) => merged.merge(result)?,
        }
    }
    let mut merged = merged.ok_or_else(|| incompatible("engine.merge.nothing", json!({})))?;
    if results.len() > 1 {
        merged.derive();
    }
    Ok(json!(merged))
}

impl LoadResult {
    fn merge(&mut self, other: Self) -> Result<(), LoadError> {
        if self.outcome == "completed" && other.outcome != "completed" {
            (self.outcome, self.reason_args) = (other.outcome, other.reason_args);
        }
        self.window = match (self.window, other.window) {
            (Some(window), Some(other_window)) => {
                if other_window.start_utc_ns < window.start_utc_ns {
                    self.hlog_header = other.hlog_header;
                }
                Some(window.span(other_window))
            }
            (None, Some(window)) => {
                self.hlog_header = other.hlog_header;
                Some(window)
            }
            (window, None) => window,
        };
        for error in other.errors {
            merge_error(&mut self.errors, error);
        }
        self.account.merge(other.account)?;
        for (name, remark) in other.remarks {
            match self.remarks.get_mut(&name) {
                Some(present) if name == PAUSED && is_longer(&remark, present) => *present = remark,
                Some(_) => {}
                None => drop(self.remarks.insert(name, remark)),
            }
        }
        for group in other.groups {
            match self.groups.iter_mut().find(|present| present.name == group.name) {
                Some(present) => present.account.merge(group.account)?,
                None => self.groups.push(group),
            }
        }
        for timeline in other.timelines {
            match self.timelines.iter_mut().find(|present| present.group == timeline.group) {
                Some(present) => present.merge(timeline),
                None => self.timelines.push(timeline),
            }
        }
        Ok(())
    }

    fn derive(&mut self) {
        let duration_ns = self.window.map_or(0, |window| window.duration_ns);
        self.account.derive(duration_ns);
        self.account.figures.clear();
        for group in &mut self.groups {
            group.account.derive(duration_ns);
            group.account.figures.clear();
        }
        self.hlog = if self.window.is_some() { self.account.log_lines(duration_ns) } else { Vec::new() };
    }
}

impl MeasuredWindow {
    /// Window from the earlier start to the later end, by UTC: monotonic clocks differ between machines.
    fn span(self, other: Self) -> Self {
        let end = |window: Self| window.start_utc_ns + window.duration_ns;
        let first = if other.start_utc_ns < self.start_utc_ns { other } else { self };
        Self { duration_ns: end(self).max(end(other)) - first.start_utc_ns, ..first }
    }
}

impl Account {
    fn merge(&mut self, other: Self) -> Result<(), LoadError> {
        for operation in other.operations {
            merge_operation(&mut self.operations, operation)?;
        }
        self.histograms.merge(other.histograms);
        self.queries.merge(other.queries);
        self.received.merge(other.received);
        self.lifetime.merge(other.lifetime);
        match (&mut self.schedule, other.schedule) {
            (Some(schedule), Some(other)) => schedule.merge(&other)?,
            (None, None) => {}
            _ => return Err(incompatible("engine.merge.loop", json!({}))),
        }
        self.client.merge(other.client);
        Ok(())
    }
}

fn merge_operation(operations: &mut Vec<OperationResult>, other: OperationResult) -> Result<(), LoadError> {
    let Some(operation) = operations.iter_mut().find(|operation| operation.name == other.name) else {
        operations.push(other);
        return Ok(());
    };
    if operation.kind != other.kind {
        return Err(incompatible("engine.merge.kind", json!({"operation": other.name})));
    }
    operation.attempted += other.attempted;
    operation.carried_in += other.carried_in;
    operation.succeeded += other.succeeded;
    operation.failed += other.failed;
    operation.in_flight += other.in_flight;
    operation.retried += other.retried;
    Ok(())
}

fn merge_error(errors: &mut Vec<ErrorResult>, other: ErrorResult) {
    let key = |error: &ErrorResult| (error.code.clone(), error.operation.clone(), error.group.clone());
    match errors.iter_mut().find(|error| key(error) == key(&other)) {
        Some(error) => {
            error.count += other.count;
            let examples = std::iter::once(other.message).chain(other.examples);
            examples.for_each(|example| error.add_example(example));
        }
        None => errors.push(other),
    }
}

impl Histograms {
    fn merge(&mut self, other: Self) {
        for operation in other.operations {
            match self.operations.iter_mut().find(|present| present.name == operation.name) {
                Some(present) => present.merge(&operation),
                None => self.operations.push(operation),
            }
        }
        self.lateness.merge(&other.lateness);
        self.backlog_wait.merge(&other.backlog_wait);
    }
}

impl OperationHistograms {
    fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.failed_response.merge(&other.failed_response);
    }
}

impl QueryCounts {
    fn merge(&mut self, other: Self) {
        self.total += other.total;
        self.read += other.read;
        self.write += other.write;
        self.other += other.other;
    }
}

impl ReceivedResult {
    fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.body_bytes += other.body_bytes;
        for (class, count) in other.statuses {
            *self.statuses.entry(class).or_default() += count;
        }
    }
}

impl LifetimeResult {
    fn merge(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.queries += other.queries;
        self.rows_changed += other.rows_changed;
        self.rolled_back += other.rolled_back;
        for (name, succeeded) in other.operations {
            *self.operations.entry(name).or_default() += succeeded;
        }
    }
}

impl ScheduleResult {
    fn merge(&mut self, other: &Self) -> Result<(), LoadError> {
        if self.arrivals != other.arrivals {
            return Err(incompatible("engine.merge.arrivals", json!({})));
        }
        self.offered += other.offered;
        self.backlog.peak += other.backlog.peak;
        self.backlog.at_end += other.backlog.at_end;
        self.backlog.overdue_ns = self.backlog.overdue_ns.max(other.backlog.overdue_ns);
        self.presence_ns += other.presence_ns;
        Ok(())
    }
}

impl ClientResult {
    fn merge(&mut self, other: Self) {
        self.threads.extend(other.threads);
        self.cpu_ns += other.cpu_ns;
        self.max_rss_bytes += other.max_rss_bytes;
        self.connects += other.connects;
        self.reconnects += other.reconnects;
        let sum = |total: &mut Nanos, other: Nanos| *total += other;
        sum(&mut self.reconnecting_ns, other.reconnecting_ns);
        sum(&mut self.resting_ns, other.resting_ns);
        sum(&mut self.age_at_start_ns, other.age_at_start_ns);
        sum(&mut self.age_at_end_ns, other.age_at_end_ns);
        self.shares = self.shares.zip(other.shares).map(|(shares, others)| shares.merge(others));
    }
}

fn incompatible(step: &'static str, arguments: Value) -> LoadError {
    LoadError::at("merge", step, arguments)
}
