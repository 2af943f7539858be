//! Several connections that share out jobs, while the calling thread keeps its caller informed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use loadcell_core::error::Problem;
use loadcell_core::observe::{Directive, Observer, TICK};

/// How often progress is told.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// How far the load is, for whoever waits for it.
pub struct Progress<'a> {
    pub observer: &'a mut dyn Observer,
    pub done_rows: AtomicU64,
    pub total_rows: u64,
}

impl Progress<'_> {
    /// Tells how far it is; whether to go on.
    fn tell(&mut self, doing: &str) -> Directive {
        let done = self.done_rows.load(Ordering::Relaxed);
        self.observer.event(
            &json!({"type": "progress", "doing": doing, "done_rows": done, "total_rows": self.total_rows}),
        )
    }
}

/// Does jobs `0..jobs`, each by the first client that is free. Ends at the first problem, and when the observer wants
/// it to; then clients may be left in the middle of something. `stop` is set when all of them are to end.
pub fn parallel_for<C: Send>(
    stop: &AtomicBool,
    clients: &mut [C],
    doing: &str,
    jobs: usize,
    progress: &mut Progress<'_>,
    work: impl Fn(&mut C, usize, &AtomicU64) -> Result<(), Problem> + Sync,
) -> Result<(), Problem> {
    let next = AtomicUsize::new(0);
    let trouble: Mutex<Option<Problem>> = Mutex::new(None);
    let rows = std::mem::take(&mut progress.done_rows);
    let run = |client: &mut C| {
        while !stop.load(Ordering::Relaxed) {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return;
            }
            if let Err(problem) = work(client, job, &rows) {
                // The first problem is the cause; those of the others, stopped because of it, say nothing.
                trouble.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(problem);
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    let go = std::thread::scope(|scope| {
        let workers: Vec<_> = clients.iter_mut().map(|client| scope.spawn(|| run(client))).collect();
        let mut told = Instant::now();
        let mut go = Directive::Continue;
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::park_timeout(TICK.min(Duration::from_millis(10)));
            if go == Directive::Continue {
                progress.done_rows = AtomicU64::new(rows.load(Ordering::Relaxed));
                go = progress.observer.tick();
                if go == Directive::Continue && told.elapsed() >= PROGRESS_INTERVAL {
                    told = Instant::now();
                    go = progress.tell(doing);
                }
                if go != Directive::Continue {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
        go
    });
    progress.done_rows = rows;
    if go != Directive::Continue {
        return Err(Problem::new(
            "stopped",
            "the load of the data was stopped",
            "start it again: it begins anew",
        ));
    }
    match trouble.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        Some(problem) => Err(problem),
        None => match progress.tell(doing) {
            Directive::Continue => Ok(()),
            _ => Err(Problem::new(
                "stopped",
                "the load of the data was stopped",
                "start it again: it begins anew",
            )),
        },
    }
}
