//! How long memory takes to answer: a chase through pointers, each of which is where the last one points to.
//!
//! The pointers are one cycle through all lines of the working set in random order (Sattolo, 1986), so that neither prefetching
//! nor doing several things at once helps. Pages are the system's small ones, unless it makes others of itself: where a working set
//! is larger than what the processor remembers of pages, their look-up is part of the time.

use std::hint::black_box;

use serde::Deserialize;

use super::{Passes, Probe, memory_budget};
use loadcell_core::error::Problem;
use loadcell_core::random::Random;
use loadcell_core::record::{OpId, TRANSACTION};
use loadcell_load::Measurement;
use loadcell_load::blocking::Fault;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The working set of each thread, in bytes.
    pub size: u64,
}

/// What processors move between caches, mostly: each is visited once in a cycle.
const LINE: usize = 64;

/// Accesses of a pass: 60 microseconds in the nearest cache, 10 ms in far memory.
const ACCESSES: u64 = 1 << 16;

/// Before a measurement so many accesses are made at least, or all of a cycle where that is shorter: what fits into a cache is
/// in it then.
const FIRST: u64 = 1 << 20;

#[repr(align(64))]
#[derive(Clone)]
struct Line {
    /// Where the next one is: its number while the cycle is made, then its address.
    next: usize,
}

const _: () = assert!(size_of::<Line>() == LINE);

pub struct Latency {
    lines: usize,
    seed: u64,
}

impl Latency {
    /// For so many threads. Refuses what this machine has no room for.
    pub fn new(options: &Options, clients: u32, seed: u64) -> Result<Self, Problem> {
        let lines = options.size / LINE as u64;
        if lines < 2 {
            let finding = "`size` must be at least two lines of 64 bytes";
            return Err(Problem::new("spec", finding, "see `loadcell/_engine.pyi`"));
        }
        let what = format!("{clients} thread{} with a working set each", if clients == 1 { "" } else { "s" });
        memory_budget::check(options.size.saturating_mul(clients.into()), &what)?;
        Ok(Self { lines: lines as usize, seed })
    }
}

impl Probe for Latency {
    type Passes<'p> = Chase;

    fn passes(&self, client: u32) -> Result<Chase, Fault> {
        Chase::new(self.lines, &mut Random::stream(self.seed, client.into()))
    }

    fn metrics(&self, measured: &Measurement<'_>) -> Vec<(&'static str, f64)> {
        let service = &measured.operations[TRANSACTION.index()].service;
        if service.count() == 0 {
            return Vec::new();
        }
        vec![("access_ns", service.mean() / ACCESSES as f64)]
    }
}

/// One thread's way through its working set.
pub struct Chase {
    /// Never touched again but by their addresses.
    _lines: Vec<Line>,
    at: usize,
}

impl Chase {
    pub fn new(count: usize, random: &mut Random) -> Result<Self, Fault> {
        let mut lines = memory_budget::filled(count, Line { next: 0 })?;
        make_cycle(&mut lines, random);
        let base = lines.as_ptr() as usize;
        for line in &mut lines {
            line.next = base + line.next * LINE;
        }
        let mut chase = Self { _lines: lines, at: base };
        chase.follow(FIRST.min(count as u64));
        Ok(chase)
    }

    /// Makes so many accesses, and says where it has come to.
    #[inline(never)]
    pub fn follow(&mut self, accesses: u64) -> usize {
        let mut at = black_box(self.at);
        for _ in 0..accesses {
            // SAFETY: it is the address of a line of `_lines`, which begins with the address of another; their memory stays
            // where it is, and nobody writes to it.
            at = unsafe { *(at as *const usize) };
        }
        self.at = black_box(at);
        at
    }
}

impl Passes for Chase {
    fn pass(&mut self) -> Result<OpId, Fault> {
        self.follow(ACCESSES);
        Ok(TRANSACTION)
    }
}

/// Every line leads to another one, and all of them in one cycle; each such cycle is as likely (Sattolo, 1986).
fn make_cycle(lines: &mut [Line], random: &mut Random) {
    for (number, line) in lines.iter_mut().enumerate() {
        line.next = number;
    }
    for last in (1..lines.len()).rev() {
        let other = random.below(last as u64) as usize;
        let next = lines[last].next;
        lines[last].next = std::mem::replace(&mut lines[other].next, next);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_chase_comes_to_every_line_once_and_then_begins_anew() {
        for count in [2, 3, 64, 1_000] {
            let mut chase = Chase::new(count, &mut Random::stream(5, 0)).unwrap();
            let start = chase.at;
            let places: HashSet<_> = (0..count).map(|_| chase.follow(1)).collect();
            assert_eq!(places.len(), count);
            assert_eq!(chase.at, start);
            assert!(places.iter().all(|place| place % LINE == 0), "each has a line of its own");
        }
    }

    #[test]
    fn its_order_is_random_and_every_threads_own() {
        let order = |seed, client| {
            let mut chase = Chase::new(256, &mut Random::stream(seed, client)).unwrap();
            let base = chase._lines.as_ptr() as usize;
            (0..256).map(|_| chase.follow(1) - base).collect::<Vec<_>>()
        };
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
        let neighbours = order(1, 0).windows(2).filter(|pair| pair[1] == pair[0] + LINE).count();
        assert!(neighbours < 16, "{neighbours} of 256 lines are followed by their neighbour");
    }

    #[test]
    fn every_cycle_is_as_likely() {
        // Of four lines there are 3! = 6 cycles.
        let mut random = Random::stream(7, 0);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..6_000 {
            let mut lines = vec![Line { next: 0 }; 4];
            make_cycle(&mut lines, &mut random);
            *counts.entry(lines.iter().map(|line| line.next).collect::<Vec<_>>()).or_insert(0usize) += 1;
        }
        let counts: Vec<_> = counts.into_values().collect();
        assert_eq!(counts.len(), 6);
        // 3.1 standard deviations are passed by chance once in a thousand; the seed is fixed.
        assert!(loadcell_core::fit::deviation(&counts, &[1.0 / 6.0; 6]) < 3.1, "{counts:?}");
    }

    #[test]
    fn what_is_no_working_set_or_too_large_a_one_is_refused() {
        let refused = |size| Latency::new(&Options { size }, 2, 1).err().unwrap();
        assert!(refused(64).finding.contains("two lines"));
        let problem = refused(1 << 60);
        assert_eq!(problem.code, "limit");
        assert!(problem.finding.contains("2 threads with a working set each"), "{problem}");
    }
}
