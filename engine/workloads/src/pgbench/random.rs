//! Random numbers of scripts: pgbench's generator, its distributions, and the assignment of streams.
//!
//! | function | against pgbench 15 with the same `--random-seed` |
//! | --- | --- |
//! | `random` | bit-equal |
//! | `random_gaussian`, `random_exponential`, `random_zipfian` | bit-equal with an equal C library (below) |
//! | `permute`, `hash`, `hash_murmur2`, `hash_fnv1a` | bit-equal (integers only) |
//! | the streams of clients, `default_seed` | bit-equal |
//! | the choice of the next script | bit-equal for one thread, see below |
//!
//! Both call `log`, `exp`, `sin`, `sqrt` and `pow` of the C library; if these differ, distributions are still
//! equal. With several threads the choice of scripts depends on the numbering of threads, as in pgbench.
//!
//! One difference is intended: for ranges near 2^53 and above pgbench's rounding can give `max + 1`; here it
//! gives `max`.

use super::error::EvaluationError;

/// xoroshiro128** (Blackman and Vigna, 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    low: u64,
    high: u64,
}

/// Minimum parameter of `random_gaussian`: standard deviations from the middle to either end.
const GAUSSIAN_PARAMETER_MIN: f64 = 2.0;
/// Limits of `random_zipfian`; outside of them rejection is slow, or imprecise.
const ZIPFIAN_PARAMETER_MIN: f64 = 1.001;
const ZIPFIAN_PARAMETER_MAX: f64 = 1000.0;

impl Random {
    /// A stream seeded by SplitMix64 (Steele, Lea and Flood, 2014).
    pub fn seeded(seed: u64) -> Self {
        let mut mix = seed;
        let mut next = || {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (mix ^ (mix >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        // The state is never two zeros, which the generator could not leave: SplitMix64 is a bijection of its
        // counter, so of two successive outputs at most one is 0.
        Self { low: next(), high: next() }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let low = self.low;
        let mixed = self.high ^ low;
        let result = low.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.low = low.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.high = mixed.rotate_left(37);
        result
    }

    /// A uniform number in `0..=most`: as many high bits as `most` has, by rejection.
    #[inline]
    pub fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let shift = most.leading_zeros();
        loop {
            let drawn = self.bits() >> shift;
            if drawn <= most {
                return drawn;
            }
        }
    }

    /// A uniform number in `[0, 1)` with 52 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 12) as f64 * (1.0 / (1u64 << 52) as f64)
    }

    /// `random(min, max)`.
    #[inline]
    pub fn uniform(&mut self, range: Range) -> i64 {
        range.min.wrapping_add(self.up_to(range.most) as i64)
    }

    /// `random_gaussian`: normal distribution around the middle of the range, truncated at `parameter`
    /// standard deviations (basic Box-Muller transform with rejection).
    #[inline]
    pub fn gaussian(&mut self, range: Range, parameter: f64) -> Result<i64, EvaluationError> {
        if parameter.is_nan() || parameter < GAUSSIAN_PARAMETER_MIN {
            return Err(EvaluationError::GaussianParameter(parameter));
        }
        let deviation = loop {
            let radius = 1.0 - self.unit();
            let angle = 1.0 - self.unit();
            let deviation = (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).sin();
            if -parameter <= deviation && deviation < parameter {
                break deviation;
            }
        };
        Ok(range.at((deviation + parameter) / (parameter * 2.0)))
    }

    /// `random_exponential`: inverse of an exponential distribution truncated at `parameter`, scaled to the
    /// range.
    #[inline]
    pub fn exponential(&mut self, range: Range, bend: &Exponential) -> i64 {
        let uniform = 1.0 - self.unit();
        range.at(-(bend.cut + (1.0 - bend.cut) * uniform).ln() / bend.parameter)
    }

    /// `random_zipfian`: rejection method of Devroye, *Non-Uniform Random Variate Generation* (1986), X.6,
    /// page 550.
    #[inline]
    pub fn zipfian(&mut self, range: Range, zipf: &Zipfian) -> i64 {
        let count = range.count();
        if count <= 1 {
            return range.min;
        }
        let most = count as f64;
        loop {
            let u = self.unit();
            let v = self.unit();
            let x = u.powf(zipf.root).floor();
            let t = (1.0 + 1.0 / x).powf(zipf.exponent);
            if v * x * (t - 1.0) / (zipf.b - 1.0) <= t / zipf.b && x <= most {
                return range.min.wrapping_add(x as i64 - 1);
            }
        }
    }
}

/// A range of integers to draw from, with 1 to 2^63 - 1 elements.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    min: i64,
    /// Largest offset from `min`.
    most: u64,
}

impl Range {
    #[inline]
    pub fn new(min: i64, max: i64) -> Result<Self, EvaluationError> {
        if min > max {
            return Err(EvaluationError::EmptyRange { min, max });
        }
        match max.checked_sub(min).filter(|&most| most < i64::MAX) {
            Some(most) => Ok(Self { min, most: most as u64 }),
            None => Err(EvaluationError::RangeTooLarge),
        }
    }

    #[inline]
    fn count(self) -> i64 {
        self.most as i64 + 1
    }

    /// The value at fraction `part` (in `[0, 1)`) of the range.
    #[inline]
    fn at(self, part: f64) -> i64 {
        let offset = (self.count() as f64 * part) as u64;
        self.min.wrapping_add(offset.min(self.most) as i64)
    }
}

/// Precomputed state of `random_exponential` for its parameter.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    parameter: f64,
    cut: f64,
}

impl Exponential {
    pub fn new(parameter: f64) -> Result<Self, EvaluationError> {
        if parameter.is_nan() || parameter <= 0.0 {
            return Err(EvaluationError::ExponentialParameter(parameter));
        }
        Ok(Self { parameter, cut: (-parameter).exp() })
    }

    #[inline]
    pub fn is_for(&self, parameter: f64) -> bool {
        self.parameter == parameter
    }
}

/// Precomputed state of `random_zipfian` for its parameter.
#[derive(Clone, Copy, Debug)]
pub struct Zipfian {
    parameter: f64,
    exponent: f64,
    root: f64,
    b: f64,
}

impl Zipfian {
    pub fn new(parameter: f64) -> Result<Self, EvaluationError> {
        if !(ZIPFIAN_PARAMETER_MIN..=ZIPFIAN_PARAMETER_MAX).contains(&parameter) {
            return Err(EvaluationError::ZipfianParameter(parameter));
        }
        let exponent = parameter - 1.0;
        Ok(Self { parameter, exponent, root: -1.0 / exponent, b: 2.0f64.powf(exponent) })
    }

    #[inline]
    pub fn is_for(&self, parameter: f64) -> bool {
        self.parameter == parameter
    }
}

/// Assignment of random streams. A generator seeded with the run's seed is drawn from once per client in
/// order; then for `default_seed`; then three times per thread: for the choice of scripts, pacing, and
/// sampling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Streams for the functions of each client's scripts.
    pub clients: Vec<Random>,
    /// The variable of that name: default seed of hashes and permutations.
    pub default_seed: i64,
    pub threads: Vec<ThreadStreams>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStreams {
    pub choose: Random,
    pub pace: Random,
    pub sample: Random,
}

impl Seeds {
    pub fn new(seed: u64, clients: u32, threads: u32) -> Self {
        let mut base = Random::seeded(seed);
        let clients = (0..clients).map(|_| Random::seeded(base.bits())).collect();
        let default_seed = base.bits() as i64;
        let mut stream = || Random::seeded(base.bits());
        let threads = (0..threads)
            .map(|_| ThreadStreams { choose: stream(), pace: stream(), sample: stream() })
            .collect();
        Self { clients, default_seed, threads }
    }
}
