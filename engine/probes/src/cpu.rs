//! CPU probe with the definition of sysbench's `cpu` test: how often per second all primes below a bound are
//! found by trial division.

use std::hint::black_box;

use serde::Deserialize;

use super::{Passes, Probe};
use loadcell_core::record::{OpId, TRANSACTION};
use loadcell_load::Measurement;
use loadcell_load::blocking::Fault;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Numbers from 3 up to below this one are tested.
    pub max_prime: u64,
}

/// An event is a pass, which is long enough to be timed (0.3 ms to 1 ms with the default bound).
pub struct Cpu {
    max_prime: u64,
}

impl Cpu {
    pub fn new(options: &Options) -> Self {
        Self { max_prime: options.max_prime }
    }
}

impl Probe for Cpu {
    type Passes<'p> = Divisions;

    fn passes(&self, _: u32) -> Result<Divisions, Fault> {
        Ok(Divisions { max_prime: self.max_prime })
    }

    fn metrics(&self, measured: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        measured.rate_per_s(TRANSACTION).map(|rate| ("events_per_s", rate)).into_iter().collect()
    }
}

pub struct Divisions {
    max_prime: u64,
}

impl Passes for Divisions {
    fn pass(&mut self) -> Result<OpId, Fault> {
        black_box(primes(black_box(self.max_prime)));
        Ok(TRANSACTION)
    }
}

/// Number of primes from 3 to below `max_prime`: each number is divided by every number from 2 to its square
/// root, until one divides it.
///
/// Division by 2 tests the last bit, as compilers do for sysbench too; as there, the square root is computed
/// first.
///
/// The work is the definition and must not be optimised. Compilers replace 64-bit divisions of small numbers
/// by 32-bit ones, which are three times as fast on some processors. Nor may it become slower: the loops have
/// the instructions that a C compiler makes of the definition, and the alignment within cache lines that they
/// have in Debian's sysbench. Other alignments change the speed by up to 7%, from build to build.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub fn primes(max_prime: u64) -> u64 {
    let mut primes_count = 0;
    if max_prime <= FIRST {
        return primes_count;
    }
    // SAFETY: registers only; a divisor is at least 3, and the upper half of the dividend is 0: the quotient
    // fits.
    unsafe {
        std::arch::asm!(
            "jmp 2f",
            ".p2align 6",
            ".skip {numbers}",
            // One number: its root.
            "2:",
            "pxor xmm0, xmm0",
            "cvtsi2sd xmm0, rcx",
            // C's square root checks that the root exists.
            "ucomisd xmm3, xmm0",
            "ja 5f",
            "sqrtsd xmm0, xmm0",
            "comisd xmm0, xmm2",
            "jb 5f",
            "test cl, 1",
            "je 6f",
            "mov esi, 2",
            "jmp 4f",
            // 37 bytes: the loop over divisors is at 56.
            ".p2align 3",
            // One divisor of it.
            "3:",
            "pxor xmm1, xmm1",
            "cvtsi2sd xmm1, rsi",
            "comisd xmm0, xmm1",
            "jb 5f",
            "mov rax, rcx",
            "xor edx, edx",
            "div rsi",
            "test rdx, rdx",
            "je 6f",
            "4:",
            "add rsi, 1",
            "jns 3b",
            // It is prime.
            "5:",
            "add {primes_count}, 1",
            "6:",
            "add rcx, 1",
            "cmp rcx, rdi",
            "jne 2b",
            numbers = const NUMBERS_AT,
            primes_count = inout(reg) primes_count,
            inout("rcx") FIRST => _,
            in("rdi") max_prime,
            in("xmm2") 2.0f64,
            in("xmm3") 0.0f64,
            out("xmm0") _,
            out("xmm1") _,
            out("rax") _,
            out("rdx") _,
            out("rsi") _,
            options(pure, nomem, nostack),
        );
    }
    primes_count
}

/// First number tested.
const FIRST: u64 = 3;

/// Start of the loop over numbers, and from there of the one over divisors, in bytes after a multiple of 64.
#[cfg(target_arch = "x86_64")]
const NUMBERS_AT: usize = 16;

#[cfg(not(target_arch = "x86_64"))]
#[inline(never)]
pub fn primes(max_prime: u64) -> u64 {
    let as_float = |number: u64| number as i64 as f64; // Below 2^63 this is one instruction.
    let mut primes_count = 0;
    for candidate in FIRST..max_prime {
        let root = as_float(candidate).sqrt();
        if root < 2.0 {
            primes_count += 1;
            continue;
        }
        if candidate & 1 == 0 {
            continue;
        }
        let mut divisor = 3;
        while as_float(divisor) <= root && candidate % divisor != 0 {
            divisor += 1;
        }
        primes_count += u64::from(as_float(divisor) > root);
    }
    primes_count
}
