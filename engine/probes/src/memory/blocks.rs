//! sysbench's `memory` test: passes over a block, word by word.

use std::arch::asm;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst, compiler_fence};

use serde::Deserialize;

use super::WORD;
use crate::memory_budget;
use loadcell_core::random::Random;
use loadcell_load::blocking::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Seq,
    Rnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Read,
    Write,
    None,
}

/// Memory per pass in bytes: at least 0.2 ms, so that reading the clock takes less than a thousandth. Random
/// access takes ten times as long as sequential, or fifty times if it misses all caches.
const IN_SEQUENCE: u64 = 16 << 20;
const AT_RANDOM: u64 = 1 << 20;

/// Words per iteration of the loop, as unrolled by sysbench's compiler; the overhead of a single-word loop
/// would dominate.
const ROUND: usize = 8;

/// Allocate a block. Words are atomic, as threads may share them; relaxed access is a plain instruction that
/// compilers do not combine.
pub fn block(bytes: u64) -> Result<Vec<AtomicU64>, Fault> {
    memory_budget::filled_with((bytes / WORD) as usize, || AtomicU64::new(1))
}

/// Passes of one thread over a block.
pub struct Blocks {
    words: Arc<Vec<AtomicU64>>,
    walk: fn(&[AtomicU64], u64, &mut Random),
    /// Blocks per pass.
    count: u64,
    random: Random,
}

impl Blocks {
    /// Number of blocks per pass for a block size.
    pub fn in_a_pass(bytes: u64, access: Access) -> u64 {
        let amount = match access {
            Access::Seq => IN_SEQUENCE,
            Access::Rnd => AT_RANDOM,
        };
        (amount / bytes).max(1)
    }

    pub fn new(words: Arc<Vec<AtomicU64>>, access: Access, operation: Operation, random: Random) -> Self {
        let walk = match (access, operation) {
            (Access::Seq, Operation::Read) => read,
            (Access::Seq, Operation::Write) => write,
            (Access::Seq, Operation::None) => neither,
            (Access::Rnd, Operation::Read) => read_at_random,
            (Access::Rnd, Operation::Write) => write_at_random,
            (Access::Rnd, Operation::None) => neither_at_random,
        };
        let count = Self::in_a_pass(words.len() as u64 * WORD, access);
        Self { words, walk, count, random }
    }

    pub fn pass(&mut self) {
        (self.walk)(&self.words, self.count, &mut self.random);
    }

    #[cfg(test)]
    pub fn words(&self) -> &Arc<Vec<AtomicU64>> {
        &self.words
    }
}

/// Keep a value in a register: a load whose value is unused would be removed.
#[inline(always)]
fn keep(value: u64) {
    // SAFETY: no instructions.
    unsafe { asm!("/* {0} */", in(reg) value, options(nomem, nostack, preserves_flags)) };
}

#[inline(never)]
fn read(words: &[AtomicU64], count: u64, _: &mut Random) {
    for _ in 0..count {
        let rounds = words.chunks_exact(ROUND);
        let remainder = rounds.remainder();
        for round in rounds {
            round.iter().for_each(|word| keep(word.load(Relaxed)));
        }
        remainder.iter().for_each(|word| keep(word.load(Relaxed)));
        compiler_fence(SeqCst);
    }
}

/// Write the number of remaining words into each word, computed for each word from its address, as in
/// sysbench; a store that hits the caches takes less time than this computation.
#[inline(never)]
fn write(words: &[AtomicU64], count: u64, _: &mut Random) {
    let end = words.as_ptr_range().end;
    let (rounds, remainder) = words.as_chunks::<ROUND>();
    for _ in 0..count {
        write_rounds(rounds, end);
        write_words(remainder, end);
        compiler_fence(SeqCst);
    }
}

#[inline(always)]
fn write_words(words: &[AtomicU64], end: *const AtomicU64) {
    for word in words {
        let at = hidden(word.as_ptr() as u64);
        word.store((hidden(end as u64) - at) / WORD, Relaxed);
    }
}

/// The loop is bound by instructions per cycle when in the caches. It has the instructions and the alignment
/// of Debian's sysbench, a tenth fewer than a compiler makes of a loop over words.
#[cfg(target_arch = "x86_64")]
#[inline]
fn write_rounds(rounds: &[[AtomicU64; ROUND]], end: *const AtomicU64) {
    let within = rounds.as_ptr_range();
    if rounds.is_empty() {
        return;
    }
    // SAFETY: writes only the words of `rounds`, by plain stores, like relaxed ones.
    unsafe {
        asm!(
            "jmp 2f",
            ".p2align 6",
            ".skip 6",
            "2:",
            "mov {left}, {end}",
            "sub {left}, {at}",
            "sar {left}, 3",
            "mov [{at}], {left}",
            ".irp offset, 8, 16, 24, 32, 40, 48, 56",
            "lea {word}, [{at} + \\offset]",
            "mov {left}, {end}",
            "sub {left}, {word}",
            "sar {left}, 3",
            "mov [{at} + \\offset], {left}",
            ".endr",
            "add {at}, 64",
            "cmp {stop}, {at}",
            "ja 2b",
            at = inout(reg) within.start => _,
            stop = in(reg) within.end,
            end = in(reg) end,
            left = out(reg) _,
            word = out(reg) _,
            options(nostack),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn write_rounds(rounds: &[[AtomicU64; ROUND]], end: *const AtomicU64) {
    rounds.iter().for_each(|round| write_words(round, end));
}

/// The same number, opaque to the compiler, which prevents reuse of computations between words.
#[inline(always)]
fn hidden(mut value: u64) -> u64 {
    // SAFETY: no instructions.
    unsafe { asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Loop overhead alone; sysbench's loop also advances by eight words without access.
#[inline(never)]
fn neither(words: &[AtomicU64], count: u64, _: &mut Random) {
    for _ in 0..count {
        words.chunks(ROUND).for_each(|round| keep(round.as_ptr() as u64));
    }
}

#[inline(never)]
fn read_at_random(words: &[AtomicU64], count: u64, random: &mut Random) {
    for _ in 0..count * words.len() as u64 {
        keep(words[random.below(words.len() as u64) as usize].load(Relaxed));
    }
}

#[inline(never)]
fn write_at_random(words: &[AtomicU64], count: u64, random: &mut Random) {
    for number in 0..count * words.len() as u64 {
        words[random.below(words.len() as u64) as usize].store(number, Relaxed);
    }
}

#[inline(never)]
fn neither_at_random(words: &[AtomicU64], count: u64, random: &mut Random) {
    for _ in 0..count * words.len() as u64 {
        keep(random.below(words.len() as u64));
    }
}
