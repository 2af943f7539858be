//! Watch for pauses of this process: times in which its threads could not run although there was a core.
//!
//! A process that is stopped by a signal, frozen with its control group or paused with its machine sends no
//! requests, and its measured times hardly show it: a closed loop has one long response time per client. A
//! thread that only sleeps notices, as it wakes up late by the length of the pause. Time that it was ready to
//! run and waited for a core is not counted, as that is the load of the machine.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

use serde_json::{Value, json};

use loadcell_core::clock::{MILLISECOND, Nanos, now};
use loadcell_core::error::LoadError;
use loadcell_core::record::Window;

use crate::threads::refused;

/// Name of the remark on pauses.
pub const PAUSED: &str = "paused";

/// Period of the wake-ups: rare enough to cost nothing.
const PERIOD: Nanos = 50 * MILLISECOND;

/// Shortest pause that counts: well above the lateness of timers and of virtual processors.
const SHORTEST: Nanos = 200 * MILLISECOND;

/// A pause, `[from, until)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pause {
    from: Nanos,
    until: Nanos,
}

/// Watches until it is dropped.
#[derive(Default)]
pub struct PauseWatch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The thread is to wake up now.
    wake: Condvar,
    /// It has.
    woken: Condvar,
}

#[derive(Default)]
struct State {
    pauses: Vec<Pause>,
    /// A pause that has just ended is to be noticed before the pauses are read.
    asked: bool,
    ended: bool,
}

impl PauseWatch {
    pub fn start<'scope>(scope: &'scope Scope<'scope, '_>) -> Result<Self, LoadError> {
        let watch = Self::default();
        let shared = watch.shared.clone();
        let builder = Builder::new().name("pause-watch".into());
        builder.spawn_scoped(scope, move || shared.watch()).map_err(refused)?;
        Ok(watch)
    }

    /// Remark on the pauses within the window; none without any.
    pub fn remark(&self, window: &Window) -> Option<(&'static str, Value)> {
        let mut state = self.shared.lock();
        state.asked = true;
        self.shared.wake.notify_all();
        while state.asked {
            state = self.shared.woken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        remark(&state.pauses, window)
    }
}

impl Drop for PauseWatch {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.wake.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let waits = File::open("/proc/thread-self/schedstat").ok();
        let (mut last, mut waited) = (now(), waited_ns(waits.as_ref()));
        let mut state = self.lock();
        while !state.ended {
            if !state.asked {
                let sleep = self.wake.wait_timeout(state, Duration::from_nanos(PERIOD));
                state = sleep.unwrap_or_else(PoisonError::into_inner).0;
            }
            let (woken, waited_now) = (now(), waited_ns(waits.as_ref()));
            state.pauses.extend(pause(last, woken, waited_now.saturating_sub(waited)));
            (last, waited) = (woken, waited_now);
            state.asked = false;
            self.woken.notify_all();
        }
    }
}

/// The pause between two wake-ups, of which the thread waited for a core for `waited` ns.
fn pause(last: Nanos, woken: Nanos, waited: Nanos) -> Option<Pause> {
    let length = (woken - last).saturating_sub(PERIOD + waited);
    (length >= SHORTEST).then(|| Pause { from: woken - waited - length, until: woken - waited })
}

/// Total time that the thread was ready to run without a core; 0 where the kernel does not count it.
fn waited_ns(schedstat: Option<&File>) -> Nanos {
    let mut text = [0; 64];
    let length = schedstat.and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
    let fields = std::str::from_utf8(&text[..length]).unwrap_or("");
    fields.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
}

fn remark(pauses: &[Pause], window: &Window) -> Option<(&'static str, Value)> {
    let within = |pause: &Pause| pause.until.min(window.end).saturating_sub(pause.from.max(window.start));
    let lengths: Vec<Nanos> = pauses.iter().map(within).filter(|&length| length > 0).collect();
    let longest = *lengths.iter().max()?;
    let seconds = |nanos: Nanos| nanos as f64 / 1e9;
    let total = seconds(lengths.iter().sum());
    Some((PAUSED, json!({"pauses": lengths.len(), "paused_s": total, "longest_s": seconds(longest)})))
}

/// True if one remark on pauses has more time in it than another.
pub fn is_longer(remark: &Value, other: &Value) -> bool {
    let paused_s = |remark: &Value| remark["paused_s"].as_f64().unwrap_or(0.0);
    paused_s(remark) > paused_s(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::clock::SECOND;

    const WINDOW: Window = Window { begin: 0, start: 10 * SECOND, end: 20 * SECOND, interval: SECOND };

    fn paused(from_s: Nanos, until_s: Nanos) -> Pause {
        Pause { from: from_s * SECOND, until: until_s * SECOND }
    }

    #[test]
    fn a_late_wake_up_is_a_pause_that_ends_with_it() {
        let woken = SECOND + PERIOD;
        assert_eq!(pause(0, woken, 0), Some(Pause { from: PERIOD, until: woken }));
        assert_eq!(pause(0, PERIOD + SHORTEST - 1, 0), None);
    }

    #[test]
    fn waiting_for_a_core_is_no_pause() {
        assert_eq!(pause(0, SECOND, SECOND - PERIOD), None);
        let both = pause(0, 3 * SECOND + PERIOD, SECOND);
        assert_eq!(both, Some(Pause { from: PERIOD, until: 2 * SECOND + PERIOD }));
    }

    #[test]
    fn only_the_part_within_the_window_counts() {
        assert_eq!(remark(&[paused(1, 9), paused(20, 22)], &WINDOW), None);
        let (name, values) = remark(&[paused(8, 11), paused(14, 16), paused(19, 30)], &WINDOW).unwrap();
        assert_eq!(name, PAUSED);
        assert_eq!(values, json!({"pauses": 3, "paused_s": 4.0, "longest_s": 2.0}));
    }

    #[test]
    fn a_watch_ends_at_once() {
        let began = now();
        std::thread::scope(|scope| drop(PauseWatch::start(scope).unwrap()));
        assert!(now() - began < SECOND);
    }
}
