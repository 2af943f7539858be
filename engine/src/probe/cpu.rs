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
/// Division by 2 is a look at the last bit, which is what compilers make of it in sysbench too.
#[inline(never)]
pub fn primes(max_prime: u64) -> u64 {
    let mut found = 0;
    for candidate in 3..max_prime {
        let root = as_float(candidate).sqrt();
        if root >= 2.0 && candidate & 1 == 0 {
            continue;
        }
        let mut divisor = 3;
        while as_float(divisor) <= root && remainder(candidate, divisor) != 0 {
            divisor += 1;
        }
        found += u64::from(as_float(divisor) > root);
    }
    found
}

/// Numbers below 2^63 are turned into floats by one instruction if they are signed.
#[inline]
fn as_float(number: u64) -> f64 {
    number as i64 as f64
}

/// The work is the definition, so none of it may be saved: a division of 64 bits. Compilers replace it, where numbers happen
/// to be small, by one of 32 bits, which some processors do three times as fast.
#[cfg(target_arch = "x86_64")]
#[inline]
fn remainder(number: u64, divisor: u64) -> u64 {
    let remainder;
    // SAFETY: the divisor is at least 3, and the upper half of the number 0: the quotient fits.
    unsafe {
        std::arch::asm!(
            "div {divisor}",
            divisor = in(reg) divisor,
            inout("rax") number => _,
            inout("rdx") 0u64 => remainder,
            options(pure, nomem, nostack),
        );
    }
    remainder
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn remainder(number: u64, divisor: u64) -> u64 {
    number % divisor
}
