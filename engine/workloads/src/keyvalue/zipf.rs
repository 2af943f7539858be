//! Zipf samplers: an exact one, and YCSB's. Rank 0 is the most likely; rank k is drawn in proportion to (k +
//! 1)^-theta.

use loadcell_core::random::Random;

/// Exact sampler for any theta above 0, by rejection-inversion (Hörmann and Derflinger, 1996). It needs no
/// sum over all ranks, so the number of items may change with every draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Zipf {
    theta: f64,
    /// A proposal this close to its rank is accepted without evaluating the density.
    near: f64,
    first: f64,
    last: f64,
    items: u64,
}

impl Zipf {
    pub fn new(theta: f64, items: u64) -> Self {
        let near = 2.0 - inverse(area(2.5, theta) - 2f64.powf(-theta), theta);
        let mut zipf = Self { theta, near, first: area(1.5, theta) - 1.0, last: 0.0, items: 0 };
        zipf.fit(items);
        zipf
    }

    fn fit(&mut self, items: u64) {
        self.items = items;
        self.last = area(items as f64 + 0.5, self.theta);
    }

    /// Draw a rank in `0..items`.
    #[inline]
    pub fn draw(&mut self, random: &mut Random, items: u64) -> u64 {
        if items != self.items {
            self.fit(items);
        }
        loop {
            let under = self.last + random.unit() * (self.first - self.last);
            let x = inverse(under, self.theta);
            let rank = (x + 0.5).floor().clamp(1.0, items as f64);
            if rank - x <= self.near || under >= area(rank + 0.5, self.theta) - rank.powf(-self.theta) {
                return rank as u64 - 1;
            }
        }
    }
}

/// Integral of x^-theta, up to a constant: (x^(1-theta) - 1) / (1 - theta), or ln x if theta is 1.
fn area(x: f64, theta: f64) -> f64 {
    let ln = x.ln();
    ln * expm1_over((1.0 - theta) * ln)
}

fn inverse(under: f64, theta: f64) -> f64 {
    // Rounding could leave the domain of ln.
    let t = (under * (1.0 - theta)).max(-1.0);
    (under * ln1p_over(t)).exp()
}

/// (e^x - 1) / x, also for x near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// ln(1 + x) / x, also for x near 0.
fn ln1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

/// YCSB's sampler (Gray et al., *Quickly Generating Billion-Record Synthetic Databases*, 1994), for theta
/// between 0 and 1. The first two ranks are exact, later ones approximate: of a thousand ranks with theta
/// 0.99 the third is drawn 17% too often, and 1.6% of all draws deviate from the distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Gray {
    theta: f64,
    alpha: f64,
    zeta_2: f64,
    zeta_n: f64,
    eta: f64,
    items: u64,
}

impl Gray {
    pub fn new(theta: f64, items: u64) -> Self {
        let alpha = 1.0 / (1.0 - theta);
        let mut gray = Self { theta, alpha, zeta_2: zeta(2, theta), zeta_n: 0.0, eta: 0.0, items: 0 };
        gray.fit(items);
        gray
    }

    fn fit(&mut self, items: u64) {
        // Keys are mostly added one by one: then the sum needs one more term.
        self.zeta_n = match items.checked_sub(self.items) {
            Some(more) if self.items > 0 && more <= EXACT_TERMS => {
                (self.items + 1..=items).fold(self.zeta_n, |sum, i| sum + (i as f64).powf(-self.theta))
            }
            _ => zeta(items, self.theta),
        };
        self.items = items;
        self.eta = (1.0 - (2.0 / items as f64).powf(1.0 - self.theta)) / (1.0 - self.zeta_2 / self.zeta_n);
    }

    /// Draw a rank in `0..items`.
    #[inline]
    pub fn draw(&mut self, random: &mut Random, items: u64) -> u64 {
        if items != self.items {
            self.fit(items);
        }
        let u = random.unit();
        let under = u * self.zeta_n;
        if under < 1.0 || items == 1 {
            return 0;
        }
        if under < self.zeta_2 || items == 2 {
            return 1;
        }
        let rank = items as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(items - 1)
    }

    /// Probability of each rank of `items` under this method, as a reference for tests.
    #[cfg(test)]
    pub fn probabilities(theta: f64, items: u64) -> Vec<f64> {
        let gray = Self::new(theta, items);
        let n = items as f64;
        let below = |rank: f64| ((rank / n).powf(1.0 - theta) - 1.0 + gray.eta) / gray.eta;
        let two = gray.zeta_2 / gray.zeta_n;
        let from = |rank: f64| below(rank).max(two);
        let tail = (0..items).map(|rank| from(rank as f64 + 1.0) - from(rank as f64));
        let mut all: Vec<f64> = tail.collect();
        all[0] += 1.0 / gray.zeta_n;
        all[1] += two - 1.0 / gray.zeta_n;
        all
    }
}

/// Number of terms summed directly, which takes some microseconds.
const EXACT_TERMS: u64 = 100;

/// Sum of i^-theta for i from 1 to n: the first terms directly, the others by the Euler-Maclaurin formula,
/// with an error below 1e-12.
pub fn zeta(n: u64, theta: f64) -> f64 {
    let term = |i: u64| (i as f64).powf(-theta);
    let head: f64 = (1..=n.min(EXACT_TERMS)).map(term).sum();
    if n <= EXACT_TERMS {
        return head;
    }
    let (a, b) = (EXACT_TERMS as f64, n as f64);
    let slope = |x: f64| -theta * x.powf(-theta - 1.0);
    let third = |x: f64| -theta * (theta + 1.0) * (theta + 2.0) * x.powf(-theta - 3.0);
    let tail = area(b, theta) - area(a, theta) + (term(n) - term(EXACT_TERMS)) / 2.0;
    head + tail + (slope(b) - slope(a)) / 12.0 - (third(b) - third(a)) / 720.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::fit::fits;

    #[test]
    fn zeta_is_accurate_for_any_number_of_terms() {
        for (n, theta) in [(1, 0.99), (100, 0.5), (101, 0.99), (5_000, 0.2), (100_000, 0.99), (20_000, 1.0)] {
            let sum: f64 = (1..=n).map(|i| (i as f64).powf(-theta)).sum();
            assert!((zeta(n, theta) / sum - 1.0).abs() < 1e-12, "zeta({n}, {theta})");
        }
        // YCSB has it as a constant, as it adds ten billion terms.
        assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-8);
    }

    #[test]
    fn exact_sampler_follows_zipfs_law() {
        for (items, theta) in
            [(1, 0.99), (2, 0.99), (10, 0.2), (1_000, 0.99), (1_000, 1.0), (500, 1.5), (100, 4.0)]
        {
            let sum = zeta(items, theta);
            let probabilities: Vec<f64> = (1..=items).map(|k| (k as f64).powf(-theta) / sum).collect();
            let mut zipf = Zipf::new(theta, items);
            fits("zipf", &probabilities, |random| zipf.draw(random, items));
        }
    }

    #[test]
    fn ycsb_sampler_follows_gray_et_al() {
        for (items, theta) in [(10, 0.5), (1_000, 0.99), (777, 0.8)] {
            let mut gray = Gray::new(theta, items);
            fits("gray", &Gray::probabilities(theta, items), |random| gray.draw(random, items));
        }
        let of_thousand = Gray::probabilities(0.99, 1_000);
        let law = |k: f64| k.powf(-0.99) / zeta(1_000, 0.99);
        assert!((of_thousand[0] - 0.129).abs() < 0.001 && (of_thousand[0] - law(1.0)).abs() < 1e-12);
        assert!((of_thousand[2] / law(3.0) - 1.17).abs() < 0.005, "{}", of_thousand[2] / law(3.0));
        let astray: f64 = (1..).zip(&of_thousand).map(|(k, p)| (p - law(f64::from(k))).abs() / 2.0).sum();
        assert!((astray - 0.016).abs() < 0.0005, "{astray}");
    }

    #[test]
    fn growing_sampler_matches_its_size() {
        let mut random = Random::stream(1, 1);
        let mut gray = Gray::new(0.99, 1);
        let mut zipf = Zipf::new(0.99, 1);
        for items in [1, 2, 3, 90, 1_000, 1_001, 400, 1_000_000] {
            assert!(gray.draw(&mut random, items) < items);
            assert!(zipf.draw(&mut random, items) < items);
            let fresh = Gray::new(0.99, items);
            assert!((gray.zeta_n / fresh.zeta_n - 1.0).abs() < 1e-12);
            assert_eq!(zipf, Zipf::new(0.99, items));
        }
    }
}
