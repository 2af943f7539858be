//! Random order of all blocks of a file in constant memory.

use loadcell_core::random::Random;

/// A random permutation of `0..count`: a Feistel network over the next power of two, with cycle walking
/// (Black and Rogaway, 2002). Its size does not depend on `count`.
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    right_bits: u32,
    left_mask: u64,
    right_mask: u64,
    keys: [u64; ROUNDS],
}

/// Number of rounds, enough to spread neighbours over the complete file.
const ROUNDS: usize = 6;

impl Permutation {
    /// For a `count` of at least one.
    pub fn new(count: u64, random: &mut Random) -> Self {
        let bits = u64::BITS - (count - 1).leading_zeros();
        let right_bits = bits.div_ceil(2);
        let left_bits = bits - right_bits;
        let keys = std::array::from_fn(|_| random.bits());
        Self { count, right_bits, left_mask: (1 << left_bits) - 1, right_mask: (1 << right_bits) - 1, keys }
    }

    /// Image of `index`, which is below `count`.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        let mut at = index;
        loop {
            at = self.shuffled(at);
            if at < self.count {
                return at;
            }
        }
    }

    #[inline]
    fn shuffled(&self, at: u64) -> u64 {
        let (mut high_half, mut low_half) = (at >> self.right_bits, at & self.right_mask);
        for keys in self.keys.chunks_exact(2) {
            high_half ^= mixed(low_half ^ keys[0]) & self.left_mask;
            low_half ^= mixed(high_half ^ keys[1]) & self.right_mask;
        }
        high_half << self.right_bits | low_half
    }
}

#[inline]
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ word >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutation_is_a_bijection() {
        for count in (1..70).chain([127, 128, 129, 1000, 4096, 65_537]) {
            let permutation = Permutation::new(count, &mut Random::stream(count, 1));
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let at = permutation.at(index) as usize;
                assert!(!std::mem::replace(&mut seen[at], true), "{at} of {count} came twice");
            }
        }
    }

    #[test]
    fn permutations_differ_and_have_no_runs() {
        let mut random = Random::stream(7, 0);
        let (first, second) = (Permutation::new(10_000, &mut random), Permutation::new(10_000, &mut random));
        let same = (0..10_000).filter(|&index| first.at(index) == second.at(index)).count();
        let next = (1..10_000).filter(|&index| first.at(index) == first.at(index - 1) + 1).count();
        // About one of each is expected by chance.
        assert!(same < 20 && next < 20, "{same} stayed, {next} follow each other");
    }

    #[test]
    fn largest_count_is_supported() {
        let permutation = Permutation::new(1 << 52, &mut Random::stream(1, 1));
        assert!((0..1000).all(|index| permutation.at(index) < 1 << 52));
    }
}
