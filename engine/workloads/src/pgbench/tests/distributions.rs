//! Goodness of fit of the random functions to the formulas in pgbench's documentation, with fixed seeds.

use super::super::random::{Exponential, Random, Range, Zipfian};
use loadcell_core::fit::{deviation, normal};

const DRAWS: usize = 1_000_000;

/// Compare counts of draws from 1..=values with the probabilities. 3.1 standard deviations are exceeded once
/// in a thousand cases by chance; with fixed seeds the result is deterministic.
fn fits(
    name: &str,
    values: usize,
    probability: impl Fn(usize) -> f64,
    mut draw: impl FnMut(&mut Random) -> i64,
) {
    let mut random = Random::seeded(20_240_229);
    let mut counts = vec![0usize; values];
    for _ in 0..DRAWS {
        counts[usize::try_from(draw(&mut random)).unwrap() - 1] += 1;
    }
    let probabilities: Vec<f64> = (1..=values).map(probability).collect();
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-6, "{name}: probabilities sum up to {sum}");
    let deviation = deviation(&counts, &probabilities);
    assert!(deviation < 3.1, "{name}: {deviation} standard deviations");
}

fn range(values: usize) -> Range {
    Range::new(1, values as i64).unwrap()
}

#[test]
fn random_is_uniform() {
    for values in [1, 2, 7, 100, 1000, 1024, 1025] {
        if values > 1 {
            fits("uniform", values, |_| 1.0 / values as f64, |random| random.uniform(range(values)));
        }
    }
}

#[test]
fn random_gaussian_is_normal() {
    // f(i) = Phi(2 p (i - mu + 0.5) / (max - min + 1)) - Phi(2 p (i - mu - 0.5) / (max - min + 1)), over 2
    // Phi(p) - 1
    for (values, parameter) in [(100, 2.0), (100, 2.5), (1000, 5.0), (51, 10.0)] {
        let middle = (values as f64 + 1.0) / 2.0;
        let edge = |x: f64| normal(2.0 * parameter * (x - middle) / values as f64);
        let probability =
            |i: usize| (edge(i as f64 + 0.5) - edge(i as f64 - 0.5)) / (2.0 * normal(parameter) - 1.0);
        fits("gaussian", values, probability, |random| random.gaussian(range(values), parameter).unwrap());
    }
    // "for a Gaussian distribution of 2.0, 95% ... ; 67% of values are drawn from the middle 1.0 / parameter"
    let mut random = Random::seeded(1);
    let middle =
        (0..DRAWS).filter(|_| (401..=600).contains(&random.gaussian(range(1000), 5.0).unwrap())).count();
    assert!((0.680..0.685).contains(&(middle as f64 / DRAWS as f64)), "{middle}");
}

#[test]
fn random_exponential_decays() {
    // f(x) = exp(-parameter (x - min) / (max - min + 1)) / (1 - exp(-parameter)); value i is drawn with f(i)
    // - f(i + 1)
    for (values, parameter) in [(10, 0.01), (100, 1.0), (100, 5.0), (1000, 20.0)] {
        let bend = Exponential::new(parameter).unwrap();
        let f = |offset: f64| (-parameter * offset / values as f64).exp() / (1.0 - (-parameter).exp());
        let probability = |i: usize| f(i as f64 - 1.0) - f(i as f64);
        fits("exponential", values, probability, |random| random.exponential(range(values), &bend));
    }
}

#[test]
fn random_zipfian_follows_zipfs_law() {
    // Value k has a probability proportional to k^-s.
    for (values, s) in [(10, 1.05), (100, 1.1), (1000, 1.5), (1000, 2.5), (5, 10.0)] {
        let zipf = Zipfian::new(s).unwrap();
        let sum: f64 = (1..=values).map(|k| (k as f64).powf(-s)).sum();
        fits("zipfian", values, |k| (k as f64).powf(-s) / sum, |random| random.zipfian(range(values), &zipf));
    }
}

#[test]
fn ranges_reach_the_integer_limits() {
    let mut random = Random::seeded(3);
    let full = Range::new(i64::MIN, -2).unwrap();
    let zipf = Zipfian::new(1.5).unwrap();
    let bend = Exponential::new(1e-9).unwrap();
    for _ in 0..10_000 {
        assert!(random.uniform(full) <= -2);
        assert!(random.gaussian(full, 2.0).unwrap() <= -2);
        assert!(random.exponential(full, &bend) <= -2);
        assert!(random.zipfian(full, &zipf) <= -2);
    }
    assert!(
        Range::new(i64::MIN, -1).is_err()
            && Range::new(i64::MIN, i64::MAX).is_err()
            && Range::new(0, i64::MAX).is_err()
    );
    assert!(Range::new(1, i64::MAX).is_ok());
    let single = Range::new(5, 5).unwrap();
    assert_eq!(
        [random.uniform(single), random.gaussian(single, 2.0).unwrap(), random.zipfian(single, &zipf)],
        [5; 3]
    );
}
