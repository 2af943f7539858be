//! Histogram of times in integer ticks: exact cells for short times, cells of 1/2048 of a doubling for long
//! ones.

use serde_json::{Map, Value};

/// Times below this number of ticks have a cell each.
const EXACT: u64 = 1 << 20;
/// Above, what distinguishes two times is the exponent and the first 11 bits of the mantissa of their
/// floating-point form.
const DROPPED_BITS: u32 = 52 - 11;
const FIRST_LONG: u64 = (EXACT as f64).to_bits() >> DROPPED_BITS;

/// By the record's keys.
const RANKS: [(&str, f64); 5] =
    [("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99), ("p99.9_ms", 0.999)];

pub struct Times {
    ticks_per_ms: f64,
    short: Vec<u64>,
    long: Vec<u64>,
    sum: u128,
    pub count: u64,
}

impl Times {
    pub fn new(ticks_per_ms: u32) -> Self {
        Self { ticks_per_ms: ticks_per_ms.into(), short: Vec::new(), long: Vec::new(), sum: 0, count: 0 }
    }

    #[inline]
    pub fn add(&mut self, ticks: u64) {
        self.count += 1;
        self.sum += u128::from(ticks);
        match self.short.get_mut(ticks as usize) {
            Some(cell) => *cell += 1,
            None => self.add_beyond(ticks),
        }
    }

    #[inline(never)]
    fn add_beyond(&mut self, ticks: u64) {
        if ticks < EXACT {
            self.short.resize((ticks + 1).next_power_of_two().min(EXACT) as usize, 0);
            self.short[ticks as usize] += 1;
            return;
        }
        let index = (((ticks as f64).to_bits() >> DROPPED_BITS) - FIRST_LONG) as usize;
        if index >= self.long.len() {
            self.long.resize(index + 1, 0);
        }
        self.long[index] += 1;
    }

    /// Each recorded time in order, with its count.
    fn cells(&self) -> impl Iterator<Item = (f64, u64)> {
        let short = self.short.iter().enumerate().map(|(ticks, count)| (ticks as f64, *count));
        let long = self.long.iter().enumerate();
        let long =
            long.map(|(index, count)| (f64::from_bits((index as u64 + FIRST_LONG) << DROPPED_BITS), *count));
        short.chain(long).filter(|(_, count)| *count > 0)
    }

    /// Mean, deviation, extremes and percentiles in ms, by the record's keys; empty when nothing was counted.
    ///
    /// A percentile is the first time that so large a share of the others does not exceed.
    pub fn response(&self) -> Map<String, Value> {
        let mut response = Map::new();
        let (Some((least, _)), Some((greatest, _))) = (self.cells().next(), self.cells().last()) else {
            return response;
        };
        let mean = self.sum as f64 / self.count as f64;
        let (mut spread, mut upto) = (0.0, 0);
        let mut ranks =
            RANKS.iter().map(|(key, rank)| (key, (rank * (self.count - 1) as f64).ceil() as u64)).peekable();
        let mut put = |key: &str, ticks: f64| response.insert(key.into(), (ticks / self.ticks_per_ms).into());
        for (ticks, count) in self.cells() {
            spread += count as f64 * (ticks - mean).powi(2);
            upto += count;
            while let Some((key, _)) = ranks.next_if(|(_, before)| *before < upto) {
                put(key, ticks);
            }
        }
        put("mean_ms", mean);
        put("min_ms", least);
        put("max_ms", greatest);
        put("stdev_ms", if self.count > 1 { (spread / (self.count - 1) as f64).sqrt() } else { 0.0 });
        response
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn milliseconds(times: &Times, key: &str) -> f64 {
        times.response()[key].as_f64().unwrap()
    }

    #[test]
    fn nothing_has_no_times() {
        assert!(Times::new(1).response().is_empty());
    }

    #[test]
    fn one_time_is_every_percentile_of_itself() {
        let mut times = Times::new(1000);
        times.add(2_500);
        for key in ["p50_ms", "p99.9_ms", "mean_ms", "min_ms", "max_ms"] {
            assert_eq!(milliseconds(&times, key), 2.5);
        }
        assert_eq!(milliseconds(&times, "stdev_ms"), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 24, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn short_times_are_exact_and_long_ones_close(ticks in prop::collection::vec(
            prop_oneof![0u64..2_000, 0..2 * EXACT, EXACT..1 << 45, Just(i64::MAX as u64)], 1..60,
        )) {
            let mut times = Times::new(1);
            for time in &ticks {
                times.add(*time);
            }
            let mut ordered = ticks.clone();
            ordered.sort_unstable();
            let response = times.response();
            for (key, rank) in RANKS {
                let exact = ordered[(rank * (ticks.len() - 1) as f64).ceil() as usize];
                let value = response[key].as_f64().unwrap();
                if exact < EXACT {
                    prop_assert_eq!(value, exact as f64);
                } else {
                    prop_assert!(value <= exact as f64 && value > exact as f64 * (1.0 - 1.0 / 2048.0));
                }
            }
            let sum = ticks.iter().map(|time| u128::from(*time)).sum::<u128>() as f64;
            prop_assert_eq!(response["mean_ms"].as_f64().unwrap(), sum / ticks.len() as f64);
        }
    }
}
