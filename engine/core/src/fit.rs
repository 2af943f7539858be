//! Goodness of fit: draws compared with probabilities, for tests.

use crate::random::Random;

const DRAWS: usize = 400_000;

/// Pearson's chi-square of observed counts against probabilities; values that are expected less than 10 times
/// are pooled. Gives the statistic in standard deviations of its distribution (Wilson and Hilferty, 1931).
pub fn deviation(counts: &[usize], probabilities: &[f64]) -> f64 {
    let total: usize = counts.iter().sum();
    let (mut chi, mut cells) = (0.0, 0);
    let (mut pooled_observed, mut pooled_expected) = (0.0, 0.0);
    for (&count, probability) in counts.iter().zip(probabilities) {
        let expected = probability * total as f64;
        if expected < 10.0 {
            pooled_observed += count as f64;
            pooled_expected += expected;
        } else {
            chi += (count as f64 - expected).powi(2) / expected;
            cells += 1;
        }
    }
    if pooled_expected >= 1.0 {
        chi += (pooled_observed - pooled_expected).powi(2) / pooled_expected;
        cells += 1;
    } else {
        assert!(pooled_observed < 10.0, "what is next to impossible happened {pooled_observed} times");
    }
    if cells == 1 {
        return 0.0; // Nothing else can happen.
    }
    let freedom = f64::from(cells - 1);
    let spread = 2.0 / (9.0 * freedom);
    ((chi / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Draws numbers below as many as there are `probabilities`, and compares their counts with these. 3.1
/// standard deviations are passed by chance once in a thousand; the seed is fixed, so a test passes always or
/// never.
pub fn fits(name: &str, probabilities: &[f64], mut draw: impl FnMut(&mut Random) -> u64) {
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-6, "{name}: probabilities sum up to {sum}");
    let mut random = Random::stream(20_240_229, 0);
    let mut counts = vec![0usize; probabilities.len()];
    for _ in 0..DRAWS {
        counts[usize::try_from(draw(&mut random)).unwrap()] += 1;
    }
    let deviation = deviation(&counts, probabilities);
    assert!(deviation < 3.1, "{name} over {}: {deviation} standard deviations", probabilities.len());
}

/// The standard normal distribution function, by Simpson's rule from 0: exact to far more digits than a test
/// sees.
pub fn normal(x: f64) -> f64 {
    let steps = 2000;
    let width = x / f64::from(steps);
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let inner: f64 =
        (1..steps).map(|i| density(f64::from(i) * width) * if i % 2 == 0 { 2.0 } else { 4.0 }).sum();
    0.5 + (density(0.0) + inner + density(x)) * width / 3.0
}
