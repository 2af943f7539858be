//! Key distributions: numbers drawn from `0..items`, where `items` may grow between draws.

use super::keys::fnv;
use super::zipf::{Gray, Zipf};
use loadcell_core::random::Random;

/// Distribution of keys. Numbers are in the order of insertion: 0 is the oldest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Every key is equally likely.
    Uniform,
    /// Exact Zipf distribution: key k in proportion to (k + 1)^-theta.
    Zipfian { theta: f64 },
    /// YCSB's `zipfian`: ranks of a Zipf distribution over ten billion, hashed onto the keys. Hot keys are
    /// scattered, and the hottest one has the same share (3.78% with theta 0.99) for any number of keys.
    ScrambledZipfian { theta: f64 },
    /// YCSB's `latest`: Zipf distribution, counted from the newest key.
    Latest { theta: f64 },
    /// The first `data` (a share) of the keys get `operations` (a share) of the draws, both uniformly.
    Hotspot { data: f64, operations: f64 },
    /// Normal distribution around the middle; `deviation` is its standard deviation as a share of all keys.
    /// Draws outside the range are repeated.
    Gaussian { deviation: f64 },
    /// YCSB's `exponential`: counted from the newest key, `percentile` percent (such as 95) of the draws are
    /// within the newest `fraction` of the keys.
    Exponential { percentile: f64, fraction: f64 },
    /// All keys in order, repeatedly. Clients partition the keys.
    Sequential,
}

/// Number of ranks of the scrambled distribution.
const SCRAMBLED_RANKS: u64 = 10_000_000_000;

/// Sampler of one client.
#[derive(Clone, Debug)]
pub struct Chooser {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Uniform,
    Zipfian(Zipf),
    Scrambled(Gray),
    Latest(Gray),
    Hotspot { data: f64, operations: f64 },
    Gaussian { deviation: f64 },
    Exponential { mean: f64 },
    Sequential { next: u64, step: u64 },
}

impl Chooser {
    /// Sampler of client `client` of `clients`.
    pub fn of_client(distribution: &Distribution, items: u64, client: u32, clients: u32) -> Self {
        let kind = match *distribution {
            Distribution::Uniform => Kind::Uniform,
            Distribution::Zipfian { theta } => Kind::Zipfian(Zipf::new(theta, items)),
            Distribution::ScrambledZipfian { theta } => Kind::Scrambled(Gray::new(theta, SCRAMBLED_RANKS)),
            Distribution::Latest { theta } => Kind::Latest(Gray::new(theta, items)),
            Distribution::Hotspot { data, operations } => Kind::Hotspot { data, operations },
            Distribution::Gaussian { deviation } => Kind::Gaussian { deviation },
            Distribution::Exponential { percentile, fraction } => {
                Kind::Exponential { mean: items as f64 * fraction / -(1.0 - percentile / 100.0).ln() }
            }
            Distribution::Sequential => Kind::Sequential { next: client.into(), step: clients.into() },
        };
        Self { kind }
    }

    /// Draw a number in `0..items`; `items` is at least 1.
    #[inline]
    pub fn draw(&mut self, random: &mut Random, items: u64) -> u64 {
        debug_assert!(items > 0, "there are no keys");
        match &mut self.kind {
            Kind::Uniform => random.below(items),
            Kind::Zipfian(zipf) => zipf.draw(random, items),
            Kind::Scrambled(gray) => fnv(gray.draw(random, SCRAMBLED_RANKS)) % items,
            Kind::Latest(gray) => items - 1 - gray.draw(random, items),
            Kind::Hotspot { data, operations } => {
                let hot = ((items as f64 * *data) as u64).min(items);
                match random.unit() < *operations {
                    true if hot > 0 => random.below(hot),
                    false if hot < items => hot + random.below(items - hot),
                    _ => random.below(items),
                }
            }
            Kind::Gaussian { deviation } => loop {
                let at = (0.5 + *deviation * normal(random)) * items as f64;
                if (0.0..items as f64).contains(&at) {
                    break at as u64;
                }
            },
            Kind::Exponential { mean } => loop {
                let back = (-(1.0 - random.unit()).ln() * *mean) as u64;
                if back < items {
                    break items - 1 - back;
                }
            },
            Kind::Sequential { next, step } => {
                let drawn = *next % items;
                *next = drawn + *step;
                drawn
            }
        }
    }
}

/// Draw from the standard normal distribution (Box and Muller, 1958).
#[inline]
pub fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * random.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::super::zipf::zeta;
    use super::*;
    use loadcell_core::fit;

    fn fits(distribution: Distribution, items: u64, probability: impl Fn(u64) -> f64) {
        let mut chooser = Chooser::of_client(&distribution, items, 0, 1);
        let probabilities: Vec<f64> = (0..items).map(probability).collect();
        fit::fits(&format!("{distribution:?}"), &probabilities, |random| chooser.draw(random, items));
    }

    #[test]
    fn uniform_is_even() {
        for items in [1, 2, 1_000, 1_025] {
            fits(Distribution::Uniform, items, |_| 1.0 / items as f64);
        }
    }

    #[test]
    fn zipfian_follows_zipfs_law() {
        for theta in [0.5, 0.99, 1.2] {
            fits(Distribution::Zipfian { theta }, 1_000, |k| {
                (k as f64 + 1.0).powf(-theta) / zeta(1_000, theta)
            });
        }
    }

    #[test]
    fn latest_is_zipfian_from_the_newest() {
        let law = Gray::probabilities(0.99, 1_000);
        fits(Distribution::Latest { theta: 0.99 }, 1_000, |k| law[999 - k as usize]);
        let mut chooser = Chooser::of_client(&Distribution::Latest { theta: 0.99 }, 10, 0, 1);
        let mut random = Random::stream(3, 0);
        for items in 10..3_000 {
            assert!(chooser.draw(&mut random, items) < items);
        }
        let newest = (0..10_000).filter(|_| chooser.draw(&mut random, 3_000) == 2_999).count() as f64 / 1e4;
        assert!((newest - 1.0 / zeta(3_000, 0.99)).abs() < 0.01, "{newest}");
    }

    #[test]
    fn scrambled_hottest_share_is_constant() {
        for items in [1_000u64, 100_000] {
            let mut chooser =
                Chooser::of_client(&Distribution::ScrambledZipfian { theta: 0.99 }, items, 0, 1);
            let mut random = Random::stream(9, 0);
            let hottest = fnv(0) % items;
            let draws = 200_000;
            let share = (0..draws).filter(|_| chooser.draw(&mut random, items) == hottest).count() as f64
                / draws as f64;
            // 1 / 26.469 = 3.778%, and the share hashed onto the same key: 1 / items of the remainder.
            let expected = 1.0 / 26.469_028_201_783_02 + (1.0 - 0.0378) / items as f64;
            assert!((share - expected).abs() < 0.002, "{share} of {items}");
        }
    }

    #[test]
    fn scrambled_hashes_the_ranks() {
        // Ranks below a bound are computed one by one; the remaining ones spread evenly, as a key's share of
        // many hashes.
        let items = 50u64;
        let (n, theta) = (SCRAMBLED_RANKS as f64, 0.99);
        let (zeta_n, zeta_2) = (zeta(SCRAMBLED_RANKS, theta), zeta(2, theta));
        let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - zeta_2 / zeta_n);
        let below = |rank: f64| (((rank / n).powf(1.0 - theta) - 1.0 + eta) / eta).max(zeta_2 / zeta_n);
        let head = 2_000_000u64;
        let mut probabilities = vec![(1.0 - below(head as f64)) / items as f64; items as usize];
        probabilities[(fnv(0) % items) as usize] += 1.0 / zeta_n;
        probabilities[(fnv(1) % items) as usize] += (zeta_2 - 1.0) / zeta_n;
        for rank in 0..head {
            probabilities[(fnv(rank) % items) as usize] += below(rank as f64 + 1.0) - below(rank as f64);
        }
        fits(Distribution::ScrambledZipfian { theta }, items, |k| probabilities[k as usize]);
    }

    #[test]
    fn hotspot_has_its_share() {
        let hot = |data: f64, operations: f64, items: u64| {
            let edge = (data * items as f64) as u64;
            move |k: u64| match k < edge {
                true => operations / edge as f64,
                false => (1.0 - operations) / (items - edge) as f64,
            }
        };
        fits(Distribution::Hotspot { data: 0.2, operations: 0.8 }, 1_000, hot(0.2, 0.8, 1_000));
        fits(Distribution::Hotspot { data: 0.01, operations: 0.5 }, 300, hot(0.01, 0.5, 300));
        // No hot keys: the distribution is uniform.
        fits(Distribution::Hotspot { data: 0.0, operations: 0.8 }, 100, |_| 0.01);
        fits(Distribution::Hotspot { data: 1.0, operations: 0.8 }, 100, |_| 0.01);
    }

    #[test]
    fn gaussian_is_centred() {
        for (items, deviation) in [(1_000u64, 0.1), (100, 0.5), (51, 1.0 / 6.0)] {
            let edge = |k: f64| fit::normal((k / items as f64 - 0.5) / deviation);
            let inside = edge(items as f64) - edge(0.0);
            fits(Distribution::Gaussian { deviation }, items, |k| {
                (edge(k as f64 + 1.0) - edge(k as f64)) / inside
            });
        }
    }

    #[test]
    fn exponential_has_its_percentile() {
        let (items, percentile, fraction) = (1_000u64, 95.0, 0.857_142_857_1);
        let mean = items as f64 * fraction / -(0.05f64).ln();
        let tail = |back: f64| (-back / mean).exp();
        let inside = 1.0 - tail(items as f64);
        let probability = |k: u64| {
            let back = (items - 1 - k) as f64;
            (tail(back) - tail(back + 1.0)) / inside
        };
        fits(Distribution::Exponential { percentile, fraction }, items, probability);
        let within: f64 = (0..items).rev().take((items as f64 * fraction) as usize).map(probability).sum();
        assert!((within * inside - 0.95).abs() < 0.001, "{within}");
    }

    #[test]
    fn clients_partition_a_sequence() {
        let mut drawn = Vec::new();
        let mut random = Random::stream(1, 0);
        for client in 0..3 {
            let mut chooser = Chooser::of_client(&Distribution::Sequential, 9, client, 3);
            drawn.extend((0..3).map(|_| chooser.draw(&mut random, 9)));
            assert_eq!(chooser.draw(&mut random, 9), u64::from(client)); // From the start again.
        }
        drawn.sort_unstable();
        assert_eq!(drawn, (0..9).collect::<Vec<_>>());
        let mut crowded = Chooser::of_client(&Distribution::Sequential, 2, 7, 8);
        assert_eq!(crowded.draw(&mut random, 2), 1);
    }

    #[test]
    fn single_key_is_always_chosen() {
        let all = [
            Distribution::Uniform,
            Distribution::Zipfian { theta: 0.99 },
            Distribution::ScrambledZipfian { theta: 0.99 },
            Distribution::Latest { theta: 0.99 },
            Distribution::Hotspot { data: 0.2, operations: 0.8 },
            Distribution::Gaussian { deviation: 0.1 },
            Distribution::Exponential { percentile: 95.0, fraction: 0.857 },
            Distribution::Sequential,
        ];
        let mut random = Random::stream(5, 0);
        for distribution in all {
            let mut chooser = Chooser::of_client(&distribution, 1, 0, 1);
            assert_eq!((0..100).map(|_| chooser.draw(&mut random, 1)).max(), Some(0), "{distribution:?}");
        }
    }
}
