//! Random numbers: fast, seeded, with a separate stream for every client, and without modulo bias.

/// xoshiro256++ (Blackman and Vigna, 2019), seeded through SplitMix64 as its authors advise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream number `stream` of `seed`. The streams of a seed are as good as independent, and the same
    /// seed gives every client the same work in every run.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut mix = SplitMix(seed ^ SplitMix(stream).next());
        let mut state = [mix.next(), mix.next(), mix.next(), mix.next()];
        if state == [0; 4] {
            state[0] = 1; // The one state that xoshiro never leaves.
        }
        Self { state }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number in `0..bound`; no value is likelier than another (Lemire, 2019, nearly divisionless).
    /// `bound` is at least 1.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "nothing lies below 0");
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let unfair = bound.wrapping_neg() % bound;
            while (product as u64) < unfair {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A uniform number in `low..=high`.
    #[inline]
    pub fn uniform(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high, "an empty range");
        match (high - low).checked_add(1) {
            Some(count) => low + self.below(count),
            None => self.bits(),
        }
    }

    /// A uniform number in `[0, 1)`, with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draw one of `choices`, of which there is at least one. Each has the cumulative share of itself and all
    /// earlier ones, normalised to 1. Without an alternative no number is drawn.
    #[inline]
    pub fn choose<T: Copy>(&mut self, choices: &[(f64, T)]) -> T {
        let (last, others) = choices.split_last().expect("there is a choice: it was checked");
        if others.is_empty() {
            return last.1;
        }
        let drawn = self.unit();
        others.iter().find(|(upto, _)| drawn < *upto).unwrap_or(last).1
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): turns any seed into well mixed bits.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Distribution of numbers (ids of rows) in a range. Both have the name and the shape of sysbench's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Every value is equally likely.
    Uniform,
    /// sysbench 1.0's default: a bell round the middle of the range, whose middle 1% gets 75% of the draws.
    Special,
}

// What sysbench 1.0 calls `--rand-spec-iter`, `--rand-spec-pct` and `--rand-spec-res`, and its defaults.
const SPECIAL_ITERATIONS: u32 = 12;
const SPECIAL_VALUES_PERCENT: u64 = 1;
const SPECIAL_RESULTS_PERCENT: u64 = 75;

impl Distribution {
    /// A number in `low..=high`.
    #[inline]
    pub fn draw(self, random: &mut Random, low: u64, high: u64) -> u64 {
        match self {
            Self::Uniform => random.uniform(low, high),
            Self::Special => special(random, low, high),
        }
    }
}

/// A quarter of the draws is the mean of 12 uniform numbers (Irwin-Hall), the rest is spread evenly over the
/// special values: the middle 1% of the range (at least one value).
fn special(random: &mut Random, low: u64, high: u64) -> u64 {
    let range = high - low + 1;
    if random.below(100) < SPECIAL_RESULTS_PERCENT {
        let special = (range * SPECIAL_VALUES_PERCENT / 100).max(1);
        return low + (range - special) / 2 + random.below(special);
    }
    let sum: f64 = (0..SPECIAL_ITERATIONS).map(|_| random.unit()).sum();
    low + ((sum / f64::from(SPECIAL_ITERATIONS) * range as f64) as u64).min(range - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_repeats_itself_and_differs_from_others() {
        let draw = |seed, stream| {
            let mut random = Random::stream(seed, stream);
            (0..8).map(|_| random.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 3), draw(7, 3));
        assert_ne!(draw(7, 3), draw(7, 4));
        assert_ne!(draw(7, 3), draw(8, 3));
        assert_ne!(draw(3, 7), draw(7, 3));
    }

    #[test]
    fn every_value_of_a_range_is_equally_likely() {
        let mut random = Random::stream(1, 0);
        let mut counts = [0u32; 7];
        for _ in 0..700_000 {
            counts[random.uniform(10, 16) as usize - 10] += 1;
        }
        // Chi-square with 6 degrees of freedom: 22.46 is passed by chance once in 1000.
        let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 1e5).powi(2) / 1e5).sum();
        assert!(chi < 22.46, "chi-square {chi}: {counts:?}");
    }

    #[test]
    fn a_large_range_has_no_modulo_bias() {
        // Taken modulo, 3/4 of 2^64 would give its lower third twice as often as the rest.
        let bound = 3u64 << 62;
        let mut random = Random::stream(2, 0);
        let low = (0..300_000).filter(|_| random.below(bound) < bound / 3).count();
        assert!((99_000..101_000).contains(&low), "{low} of 300000 in the lower third");
    }

    #[test]
    fn ranges_of_one_and_of_everything_work() {
        let mut random = Random::stream(3, 0);
        assert_eq!(random.uniform(5, 5), 5);
        random.uniform(0, u64::MAX);
        assert_eq!(Distribution::Special.draw(&mut random, 9, 9), 9);
    }

    #[test]
    fn special_gives_one_percent_of_the_values_three_quarters_of_the_draws() {
        let mut random = Random::stream(4, 0);
        let draws = 400_000;
        let mut hot = 0;
        let (mut lowest, mut highest) = (u64::MAX, 0);
        for _ in 0..draws {
            let id = Distribution::Special.draw(&mut random, 1, 10_000);
            assert!((1..=10_000).contains(&id));
            hot += u32::from((4951..=5050).contains(&id));
            lowest = lowest.min(id);
            highest = highest.max(id);
        }
        // The bell puts 4.8% of its quarter on the same values: its density in the middle is 12 / sqrt(2 pi).
        let share = f64::from(hot) / f64::from(draws);
        assert!((0.755..0.768).contains(&share), "{share} of the draws were special");
        assert!(lowest < 2_500 && highest > 7_500, "the bell spans {lowest}..{highest}");
    }
}
