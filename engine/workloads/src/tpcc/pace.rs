//! Keying and think times of terminals (clause 5.2.5), and rate limits.

use loadcell_core::clock::{Nanos, SECOND};
use loadcell_core::random::Random;

/// By transaction type, in the order of clause 5.2.5.7: keying time, and mean think time.
const KEYING_S: [u64; 5] = [18, 3, 2, 2, 2];
const THINKING_S: [u64; 5] = [12, 12, 10, 5, 5];
/// Maximum think time as a multiple of the mean (clause 5.2.5.4).
const LONGEST_THOUGHT: f64 = 10.0;

const MINUTE: u128 = 60 * SECOND as u128;

/// Pacing of terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    keying: bool,
    thinking: bool,
    /// Minimum time between the starts of a terminal's transactions; 0: no limit.
    cycle: Nanos,
}

impl Pace {
    /// `per_minute` is the limit for all `terminals` in total; 0: none.
    pub fn new(keying: bool, thinking: bool, per_minute: u64, terminals: u32) -> Self {
        let cycle = (MINUTE * u128::from(terminals)).checked_div(per_minute.into()).unwrap_or(0);
        Self { keying, thinking, cycle: cycle as Nanos }
    }

    /// Time to wait between a transaction of type `last` (if any), started `elapsed` ago, and one of type
    /// `next`.
    pub fn think_time(
        &self,
        random: &mut Random,
        last: Option<usize>,
        next: usize,
        elapsed: Option<Nanos>,
    ) -> Nanos {
        let mut wait = 0;
        if let (true, Some(last)) = (self.thinking, last) {
            let mean = THINKING_S[last] as f64;
            let thought = (-(1.0 - random.unit()).ln()).min(LONGEST_THOUGHT) * mean;
            wait += (thought * SECOND as f64) as Nanos;
        }
        if self.keying {
            wait += KEYING_S[next] * SECOND;
        }
        wait.max(elapsed.map_or(0, |elapsed| self.cycle.saturating_sub(elapsed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_think_time_by_default() {
        let mut random = Random::stream(1, 0);
        let pace = Pace::new(false, false, 0, 10);
        assert_eq!(pace.think_time(&mut random, Some(0), 1, Some(5)), 0);
    }

    #[test]
    fn keying_is_constant_and_thinking_is_truncated_exponential() {
        let mut random = Random::stream(1, 0);
        let keying = Pace::new(true, false, 0, 10);
        assert_eq!(keying.think_time(&mut random, None, 0, None), 18 * SECOND);
        assert_eq!(keying.think_time(&mut random, Some(0), 4, None), 2 * SECOND);
        let thinking = Pace::new(false, true, 0, 10);
        assert_eq!(thinking.think_time(&mut random, None, 0, None), 0, "there is nothing yet to think about");
        let draws = 200_000;
        let thoughts: Vec<f64> =
            (0..draws).map(|_| thinking.think_time(&mut random, Some(2), 0, None) as f64 / 1e9).collect();
        let mean = thoughts.iter().sum::<f64>() / f64::from(draws);
        assert!((mean - 10.0).abs() < 0.15, "mean {mean} s");
        let longer = thoughts.iter().filter(|&&thought| thought > 10.0).count() as f64 / f64::from(draws);
        assert!((longer - (-1.0f64).exp()).abs() < 0.01, "{longer} are longer than the mean");
        assert!(thoughts.iter().all(|&thought| thought <= 100.0));
    }

    #[test]
    fn limit_applies_to_all_terminals_in_total() {
        let mut random = Random::stream(1, 0);
        let mut wait = |limit, terminals, elapsed| {
            Pace::new(false, false, limit, terminals).think_time(&mut random, Some(0), 0, elapsed)
        };
        assert_eq!(wait(300, 10, Some(0)), 2 * SECOND);
        assert_eq!(wait(300, 10, Some(SECOND / 2)), 3 * SECOND / 2);
        assert_eq!(wait(300, 10, Some(3 * SECOND)), 0, "it is late already");
        assert_eq!(wait(300, 10, None), 0, "the first starts at once");
        assert_eq!(wait(5, 10, Some(0)), 120 * SECOND);
        assert_eq!(wait(7, 3, Some(0)), 25_714_285_714, "what does not divide is not rounded to seconds");
    }
}
