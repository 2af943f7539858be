//! Non-uniform random numbers (clause 2.1.6) and their constants.

use loadcell_core::random::Random;

/// Last-name constant used for loading: any number from 0 to 255, known to later runs.
pub const C_LAST_OF_LOAD: u64 = 157;

/// Allowed distances between a run's last-name constant and that of the load, with exceptions (clause
/// 2.1.6.1).
const DELTA: std::ops::RangeInclusive<u64> = 65..=119;
const NO_DELTA: [u64; 2] = [96, 112];

/// Separates the random stream of the constants from those of clients with the same seed.
const CONSTANTS: u64 = 0x636f_6e73_7461_6e74; // "constant"

/// Constants of one run, common to all terminals, drawn from the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    c_last: u64,
    c_id: u64,
    i_id: u64,
}

impl Constants {
    pub fn of_run(seed: u64) -> Self {
        let mut random = Random::stream(seed ^ CONSTANTS, 0);
        let c_last = loop {
            let c_last = random.uniform(0, 255);
            let delta = c_last.abs_diff(C_LAST_OF_LOAD);
            if DELTA.contains(&delta) && !NO_DELTA.contains(&delta) {
                break c_last;
            }
        };
        Self { c_last, c_id: random.uniform(0, 1_023), i_id: random.uniform(0, 8_191) }
    }

    /// Number of a last name, 0..=999.
    #[inline]
    pub fn last_name(&self, random: &mut Random) -> u64 {
        nurand(random, 255, self.c_last, 0, 999)
    }

    #[inline]
    pub fn customer(&self, random: &mut Random) -> u64 {
        nurand(random, 1_023, self.c_id, 1, super::CUSTOMERS)
    }

    #[inline]
    pub fn item(&self, random: &mut Random) -> u64 {
        nurand(random, 8_191, self.i_id, 1, super::ITEMS)
    }
}

/// Number of a last name for loading.
pub fn last_name_of_load(random: &mut Random) -> u64 {
    nurand(random, 255, C_LAST_OF_LOAD, 0, 999)
}

#[inline]
fn nurand(random: &mut Random, a: u64, c: u64, low: u64, high: u64) -> u64 {
    (((random.uniform(0, a) | random.uniform(low, high)) + c) % (high - low + 1)) + low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_name_constant_follows_the_specification() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..2_000 {
            let constants = Constants::of_run(seed);
            let delta = constants.c_last.abs_diff(C_LAST_OF_LOAD);
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
            assert!(constants.c_last <= 255 && constants.c_id <= 1_023 && constants.i_id <= 8_191);
            seen.insert(constants.c_last);
        }
        assert!(seen.len() > 70, "{} different constants", seen.len());
        assert_eq!(Constants::of_run(5), Constants::of_run(5));
    }

    /// Relative frequency of each value.
    fn shares(values: u64, draws: u32, mut draw: impl FnMut() -> u64) -> Vec<f64> {
        let mut counts = vec![0u32; values as usize];
        for _ in 0..draws {
            counts[draw() as usize] += 1;
        }
        counts.into_iter().map(|count| f64::from(count) / f64::from(draws)).collect()
    }

    /// Probabilities by the formula: the bitwise or of a number up to `a` and one of `low..=high`, both
    /// uniform.
    fn expected(a: u64, c: u64, low: u64, high: u64) -> Vec<f64> {
        let width = high - low + 1;
        let mut shares = vec![0.0; width as usize];
        for x in 0..=a {
            for y in low..=high {
                shares[(((x | y) + c) % width) as usize] += 1.0 / ((a + 1) * width) as f64;
            }
        }
        shares
    }

    #[test]
    fn numbers_follow_the_formula() {
        let constants = Constants::of_run(1);
        let mut random = Random::stream(1, 1);
        let draws = 400_000;
        let cases = [
            (
                expected(255, constants.c_last, 0, 999),
                shares(1_000, draws, || constants.last_name(&mut random)),
            ),
            (expected(1_023, constants.c_id, 1, 3_000), {
                let mut random = Random::stream(2, 1);
                shares(3_000, draws, || constants.customer(&mut random) - 1)
            }),
        ];
        for (expected, actual) in cases {
            // Chi-square with rare values combined. The mean is the number of classes, the standard deviation
            // the root of twice that; five of these are exceeded by chance less than once in a million cases.
            let (mut chi, mut classes, mut rare) = (0.0, 0.0, (0.0, 0.0));
            for (expected, actual) in expected.iter().zip(&actual) {
                let (expected, actual) = (expected * f64::from(draws), actual * f64::from(draws));
                if expected >= 10.0 {
                    chi += (actual - expected).powi(2) / expected;
                    classes += 1.0;
                } else {
                    rare = (rare.0 + expected, rare.1 + actual);
                }
            }
            if rare.0 >= 10.0 {
                chi += (rare.1 - rare.0).powi(2) / rare.0;
            }
            assert!(classes > 100.0);
            assert!(
                (chi - classes).abs() < 5.0 * (2.0f64 * classes).sqrt(),
                "chi-square {chi} of {classes} classes"
            );
        }
    }

    #[test]
    fn all_items_occur_and_some_are_hot() {
        let constants = Constants::of_run(3);
        let mut random = Random::stream(3, 0);
        let mut shares = shares(100_000, 1_000_000, || constants.item(&mut random) - 1);
        shares.sort_by(f64::total_cmp);
        let hottest: f64 = shares[90_000..].iter().sum();
        assert!((0.4..0.8).contains(&hottest), "the hottest tenth of the items gets {hottest}");
    }
}
