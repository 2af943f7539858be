//! `permute(i, size, seed)`: the position of `i` in a pseudorandom permutation of 0..size. Bit-equal to
//! pgbench's.
//!
//! Six rounds, each a bijection of 0..size: multiply by an odd number, exclusive-or and rotate modulo the
//! largest power of two that fits; the same from the other end, as a power of two covers only a part of the
//! range; then add a random offset. All these numbers depend only on `size` and `seed`, so a [`Schedule`]
//! draws them once and is reused for later `i`, which saves most of the time.

use super::random::Random;

const ROUNDS: usize = 6;

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    lower_multiplier: u64,
    lower_mask: u64,
    upper_multiplier: u64,
    upper_mask: u64,
    offset: u64,
}

/// Parameters of one permutation.
#[derive(Clone, Debug)]
pub struct Schedule {
    size: u64,
    seed: i64,
    /// 2^bits is the largest power of two not above `size`; `mask` has that many ones.
    bits: u32,
    mask: u64,
    rounds: [Round; ROUNDS],
}

impl Default for Schedule {
    fn default() -> Self {
        Self { size: 0, seed: 0, bits: 0, mask: 0, rounds: [Round::default(); ROUNDS] }
    }
}

impl Schedule {
    /// `size` is positive.
    pub fn new(size: i64, seed: i64) -> Self {
        let mut random = Random::seeded(seed as u64);
        let size = size as u64;
        let bits = 63 - size.leading_zeros();
        let mask = (1u64 << bits) - 1;
        let rounds = std::array::from_fn(|_| Round {
            lower_multiplier: random.bits() & mask | 1,
            lower_mask: random.bits() & mask,
            upper_multiplier: random.bits() & mask | 1,
            upper_mask: random.bits() & mask,
            offset: random.up_to(size - 1),
        });
        Self { size, seed, bits, mask, rounds }
    }

    /// True if this is the permutation for `size` and `seed`.
    #[inline]
    pub fn is_for(&self, size: i64, seed: i64) -> bool {
        self.size == size as u64 && self.seed == seed
    }

    /// Position of `value` modulo the size (as an unsigned number, so that negative values have one too).
    #[inline]
    pub fn position(&self, value: i64) -> i64 {
        if self.size < 2 {
            return 0;
        }
        let mut v = value as u64 % self.size;
        for round in &self.rounds {
            if v <= self.mask {
                v = self.mix(v, round.lower_multiplier, round.lower_mask);
            }
            let from_end = self.size - 1 - v;
            if from_end <= self.mask {
                v = self.size - 1 - self.mix(from_end, round.upper_multiplier, round.upper_mask);
            }
            // Both are below size, and size is below 2^63: one subtraction is the modulo.
            v += round.offset;
            if v >= self.size {
                v -= self.size;
            }
        }
        v as i64
    }

    #[inline]
    fn mix(&self, v: u64, multiplier: u64, flip: u64) -> u64 {
        let v = (v.wrapping_mul(multiplier) ^ flip) & self.mask;
        (v << 1) & self.mask | v >> (self.bits - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_match_pgbench() {
        let size = i64::MAX - 10;
        let permutation = Schedule::new(size, 5432);
        let expected = [
            520382784483822430,
            1143715004660802862,
            447293596416496998,
            916527772266572956,
            2763809008686028849,
            8648551549198294572,
            4542876852200565125,
        ];
        for (back, position) in expected.into_iter().enumerate() {
            assert_eq!(permutation.position(size - 1 - back as i64), position);
        }
        assert_eq!([0, 1].map(|i| Schedule::new(2, 5431).position(i)), [0, 1]);
        assert_eq!([0, 1].map(|i| Schedule::new(2, 5433).position(i)), [1, 0]);
        assert_eq!(Schedule::new(1, 7).position(12345), 0);
    }

    #[test]
    fn permutation_is_a_bijection() {
        for size in (1..70).chain([127, 128, 129, 1000, 4095]) {
            for seed in 0..5 {
                let permutation = Schedule::new(size, seed);
                let mut positions: Vec<_> = (0..size).map(|i| permutation.position(i)).collect();
                assert_eq!(
                    permutation.position(size + 3),
                    permutation.position(3 % size),
                    "values beyond are taken modulo"
                );
                positions.sort_unstable();
                assert!(positions.into_iter().eq(0..size), "size {size}, seed {seed}");
            }
        }
    }
}
