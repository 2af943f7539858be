//! Processors, by sysbench's definition of its `cpu` test: how often a second all primes below a bound can be found by trial
//! division.

use std::hint::black_box;

use serde::Deserialize;

use super::{Passes, Probe};
use crate::direct::Fault;
use crate::load::Measured;
use crate::record::{OpId, TRANSACTION};
use crate::spec::Problem;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Numbers below this one are tried, from 3 on.
    #[serde(default = "ten_thousand")]
    pub max_prime: u64,
}

fn ten_thousand() -> u64 {
    10_000
}

/// A pass with this bound takes hours.
const LARGEST: u64 = 1_000_000_000;

/// One event is one pass: it takes long enough for a clock (0.3 ms to 1 ms with the default bound).
pub struct Cpu {
    max_prime: u64,
}

impl Cpu {
    pub fn new(options: &Options) -> Result<Self, Problem> {
        if !(4..=LARGEST).contains(&options.max_prime) {
            return Err(Problem::new(
                "spec",
                "`max_prime` must be between 4 and 1000000000",
                "sysbench's default is 10000",
            ));
        }
        Ok(Self { max_prime: options.max_prime })
    }
}

impl Probe for Cpu {
    type Passes<'p> = Divisions;

    fn passes(&self, _: u32) -> Result<Divisions, Fault> {
        Ok(Divisions { max_prime: self.max_prime })
    }

    fn figures(&self, measured: &Measured<'_>) -> Vec<(&'static str, f64)> {
        measured.per_second(TRANSACTION).map(|rate| ("events_per_s", rate)).into_iter().collect()
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

/// How many of the numbers from 3 up to below `max_prime` are prime: each is divided by every number from 2 to its square root,
/// until one divides it.
///
/// Division by 2 is a look at the last bit, which is what compilers make of it in sysbench too; as there, the square root is
/// waited for first.
#[inline(never)]
pub fn primes(max_prime: u64) -> u64 {
    let mut found = 0;
    for candidate in 3..max_prime {
        let root = as_float(candidate).sqrt();
        if root < 2.0 {
            found += 1;
            continue;
        }
        if candidate & 1 == 0 {
            continue;
        }
        found += u64::from(as_float(divide(candidate, root)) > root);
    }
    found
}

/// Numbers below 2^63 are turned into floats by one instruction if they are signed.
#[inline]
fn as_float(number: u64) -> f64 {
    number as i64 as f64
}

/// The first number from 3 on that divides an odd one, or is larger than its root.
///
/// The work is the definition, so none of it may be saved: a division of 64 bits, which compilers replace, where numbers happen
/// to be small, by one of 32 bits, which some processors do three times as fast. And the loop begins where a line of the cache
/// of instructions does, or half of one: elsewhere it is slower by some percent, from build to build.
#[cfg(target_arch = "x86_64")]
#[inline]
fn divide(number: u64, root: f64) -> u64 {
    let mut divisor = 2u64;
    // SAFETY: registers only; the divisor is at least 3, and the upper half of the number 0: the quotient fits.
    unsafe {
        std::arch::asm!(
            "jmp 4f",
            ".p2align 5",
            "2:",
            "pxor {float}, {float}",
            "cvtsi2sd {float}, {divisor}",
            "comisd {root}, {float}",
            "jb 3f",
            "mov rax, {number}",
            "xor edx, edx",
            "div {divisor}",
            "test rdx, rdx",
            "je 3f",
            "4:",
            "add {divisor}, 1",
            "jns 2b",
            "3:",
            divisor = inout(reg) divisor,
            number = in(reg) number,
            root = in(xmm_reg) root,
            float = out(xmm_reg) _,
            out("rax") _,
            out("rdx") _,
            options(pure, nomem, nostack),
        );
    }
    divisor
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn divide(number: u64, root: f64) -> u64 {
    let mut divisor = 3;
    while as_float(divisor) <= root && number % divisor != 0 {
        divisor += 1;
    }
    divisor
}
