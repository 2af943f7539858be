//! Parallel jobs over several connections, with progress events from the calling thread.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use loadcell_core::error::LoadError;
use loadcell_core::observe::{Directive, Observer, TICK};

/// Interval of progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Progress of a data load, and its observer.
pub struct Progress<'a> {
    pub observer: &'a mut dyn Observer,
    pub done_rows: AtomicU64,
    pub total_rows: u64,
}

impl Progress<'_> {
    /// Send a progress event. Returns the observer's directive.
    fn report(&mut self, doing: &str) -> Directive {
        let done = self.done_rows.load(Ordering::Relaxed);
        self.observer.event(
            &json!({"type": "progress", "doing": doing, "done_rows": done, "total_rows": self.total_rows}),
        )
    }
}

/// Run jobs `0..jobs`, each on the first idle client. Ends at the first problem, or when the observer says
/// so; clients may then be in the middle of a job. `stop` is set to end all of them.
pub fn parallel_for<C: Send>(
    stop: &AtomicBool,
    clients: &mut [C],
    doing: &str,
    jobs: usize,
    progress: &mut Progress<'_>,
    work: impl Fn(&mut C, usize, &AtomicU64) -> Result<(), LoadError> + Sync,
) -> Result<(), LoadError> {
    let next = AtomicUsize::new(0);
    let first_problem: Mutex<Option<LoadError>> = Mutex::new(None);
    let rows = std::mem::take(&mut progress.done_rows);
    let run = |client: &mut C| {
        while !stop.load(Ordering::Relaxed) {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return;
            }
            if let Err(problem) = work(client, job, &rows) {
                // The first problem is the cause; those of other workers follow from `stop`.
                first_problem.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(problem);
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    let directive = std::thread::scope(|scope| {
        let workers: Vec<_> = clients.iter_mut().map(|client| scope.spawn(|| run(client))).collect();
        let mut last_event = Instant::now();
        let mut directive = Directive::Continue;
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::park_timeout(TICK.min(Duration::from_millis(10)));
            if directive == Directive::Continue {
                progress.done_rows = AtomicU64::new(rows.load(Ordering::Relaxed));
                directive = progress.observer.tick();
                if directive == Directive::Continue && last_event.elapsed() >= PROGRESS_INTERVAL {
                    last_event = Instant::now();
                    directive = progress.report(doing);
                }
                if directive != Directive::Continue {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
        directive
    });
    progress.done_rows = rows;
    if directive != Directive::Continue {
        return Err(LoadError::stopped("engine.preparation-stopped"));
    }
    match first_problem.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        Some(problem) => Err(problem),
        None => match progress.report(doing) {
            Directive::Continue => Ok(()),
            _ => Err(LoadError::stopped("engine.preparation-stopped")),
        },
    }
}
