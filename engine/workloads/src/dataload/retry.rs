//! Repeating of transactions that the server rolled back because of other ones.
//!
//! Several connections load at once, and a server may end one of their transactions at any time to resolve a
//! deadlock. Nothing of such a transaction remains, and the servers' manuals tell clients to repeat it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loadcell_core::error::LoadError;

/// SQLSTATEs of serialization failures and deadlocks (MySQL's 1213 has the first), and MySQL's
/// `ER_LOCK_WAIT_TIMEOUT`, whose SQLSTATE is the general one.
const ROLLED_BACK: [&str; 3] = ["40001", "40P01", "1205"];
/// Attempts per transaction, the first one included.
pub const ATTEMPTS: u32 = 6;
/// Pause before the second attempt; each later one is twice as long, so all together last 1.55 s.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Interval at which a pause checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Call `attempt` with the number of earlier attempts until it succeeds, fails for another reason, or the
/// last attempt has failed; `pause` separates attempts and returns false to end them. The error after
/// several attempts has their number as the argument `attempts`.
pub fn repeat<T>(
    mut attempt: impl FnMut(u32) -> Result<T, LoadError>,
    mut pause: impl FnMut(Duration) -> bool,
) -> Result<T, LoadError> {
    let mut earlier = 0;
    loop {
        let error = match attempt(earlier) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let repeatable = ROLLED_BACK.contains(&error.code.as_str());
        let last = earlier + 1 == ATTEMPTS;
        if !repeatable || last || !pause(FIRST_PAUSE * 2u32.pow(earlier)) {
            return Err(if repeatable && earlier > 0 { error.after_attempts(earlier + 1) } else { error });
        }
        earlier += 1;
    }
}

/// Sleep for `duration`. Returns false as soon as `stop` is set.
pub fn sleep(duration: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + duration;
    while !stop.load(Ordering::Relaxed) {
        let remaining = end.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return true;
        }
        thread::sleep(remaining.min(POLL_INTERVAL));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(code: &str) -> LoadError {
        LoadError::with_text(code, "Deadlock found", "engine.load-table", json!({"name": "t"}))
    }

    /// Fails `failures` times with `code`. Returns the result with the attempts, and the pauses in
    /// milliseconds.
    fn attempts(failures: u32, code: &str) -> (Result<u32, LoadError>, Vec<u128>) {
        let mut pauses = Vec::new();
        let attempt = |earlier| if earlier < failures { Err(error(code)) } else { Ok(earlier + 1) };
        let result = repeat(attempt, |pause| {
            pauses.push(pause.as_millis());
            true
        });
        (result, pauses)
    }

    #[test]
    fn rolled_back_transactions_are_repeated_after_growing_pauses() {
        for code in ["40001", "40P01", "1205"] {
            assert_eq!(attempts(0, code), (Ok(1), vec![]));
            assert_eq!(attempts(5, code), (Ok(6), vec![50, 100, 200, 400, 800]));
        }
    }

    #[test]
    fn last_error_has_the_number_of_attempts() {
        let (result, pauses) = attempts(6, "40P01");
        assert_eq!(pauses.len(), 5);
        let document = json!({"code": "40P01", "reason": {"code": "engine.load-table",
            "args": {"name": "t", "said": "Deadlock found", "attempts": 6}}});
        assert_eq!(result.unwrap_err().document(), document);
    }

    #[test]
    fn other_errors_end_at_once() {
        assert_eq!(attempts(1, "23505"), (Err(error("23505")), vec![]));
    }

    #[test]
    fn a_stopped_load_is_not_repeated() {
        let mut calls = 0;
        let result: Result<(), _> = repeat(
            |_| {
                calls += 1;
                Err(error("40001"))
            },
            |pause| sleep(pause, &AtomicBool::new(true)),
        );
        assert_eq!((result, calls), (Err(error("40001")), 1));
    }
}
