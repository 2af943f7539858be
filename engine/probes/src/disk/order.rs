//! Sequence of blocks, and of reads and writes.

use super::options::{Access, Options};
use super::permutation::Permutation;
use loadcell_core::random::Random;

/// Kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Read,
    Write,
}

/// Progress of one client in its file. As in fio, reads and writes of a sequential mix have separate
/// positions, and those of a random mix share one order; at the end of the file it starts again.
pub struct Order {
    access: Access,
    blocks: u64,
    reads: f64,
    random: Random,
    /// Next block to read, and to write.
    next: [u64; 2],
    /// For random access: the order of this pass, and the position in it; `None` if blocks may repeat at any
    /// time.
    pass: Option<(Permutation, u64)>,
}

impl Order {
    pub fn new(options: &Options, mut random: Random) -> Self {
        let blocks = options.blocks();
        let mapped = options.access.is_random() && options.random_map;
        let pass = mapped.then(|| (Permutation::new(blocks, &mut random), 0));
        Self { access: options.access, blocks, reads: options.reads, random, next: [0; 2], pass }
    }

    /// Next access and its block.
    #[inline]
    pub fn next(&mut self) -> (Act, u64) {
        let act = self.act();
        (act, if self.access.is_random() { self.strewn() } else { self.following(act) })
    }

    #[inline]
    fn act(&mut self) -> Act {
        match (self.access.reads(), self.access.writes()) {
            (true, false) => Act::Read,
            (false, _) => Act::Write,
            _ if self.random.unit() < self.reads => Act::Read,
            _ => Act::Write,
        }
    }

    #[inline]
    fn following(&mut self, act: Act) -> u64 {
        let next = &mut self.next[act as usize];
        let block = *next;
        *next = if block + 1 == self.blocks { 0 } else { block + 1 };
        block
    }

    #[inline]
    fn strewn(&mut self) -> u64 {
        let Some((permutation, come)) = &mut self.pass else {
            return self.random.below(self.blocks);
        };
        if *come == self.blocks {
            (*permutation, *come) = (Permutation::new(self.blocks, &mut self.random), 0);
        }
        *come += 1;
        permutation.at(*come - 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order(access: &str, random_map: bool) -> Order {
        let section = json!({"access": access, "size_bytes": 100 * 512, "block_bytes": 512, "direct": true,
            "fdatasync": 0,
            "depth": 1, "engine": "psync", "random_map": random_map});
        Order::new(
            &crate::read("disk", &loadcell_testing::section("probe.disk", &section)).unwrap(),
            Random::stream(3, 0),
        )
    }

    #[test]
    fn pass_visits_each_block_once() {
        for access in ["randread", "randwrite", "randrw", "read", "write"] {
            let mut order = order(access, true);
            for _ in 0..3 {
                let mut pass: Vec<u64> = (0..100).map(|_| order.next().1).collect();
                assert_eq!(access.starts_with("rand"), !pass.is_sorted(), "{access}");
                pass.sort_unstable();
                assert!(pass.iter().copied().eq(0..100), "{access}: {pass:?}");
            }
        }
    }

    #[test]
    fn sequential_mix_keeps_separate_positions() {
        let mut order = order("readwrite", true);
        let acts: Vec<(Act, u64)> = (0..400).map(|_| order.next()).collect();
        for act in [Act::Read, Act::Write] {
            let blocks_of_kind: Vec<u64> =
                acts.iter().filter(|access| access.0 == act).map(|access| access.1).collect();
            assert!(blocks_of_kind.len() > 140, "half of them");
            assert!(blocks_of_kind.iter().enumerate().all(|(index, &block)| block == index as u64 % 100));
        }
    }

    #[test]
    fn without_a_map_blocks_may_repeat() {
        let mut order = order("randread", false);
        let mut pass: Vec<u64> = (0..100).map(|_| order.next().1).collect();
        pass.sort_unstable();
        pass.dedup();
        assert!((40..90).contains(&pass.len()), "about 63 of 100");
    }

    #[test]
    fn read_only_access_never_writes() {
        let only = |access: &str, act: Act| {
            let mut order = order(access, true);
            (0..200).all(|_| order.next().0 == act)
        };
        assert!(only("read", Act::Read) && only("randread", Act::Read));
        assert!(only("write", Act::Write) && only("randwrite", Act::Write));
    }
}
