//! The processor's probe against known answers: primes that anybody can count.

use serde_json::json;

use super::cpu::{Cpu, Options, primes};
use super::read;

fn options(section: serde_json::Value) -> Options {
    read("cpu", &section).unwrap()
}

#[test]
fn it_finds_as_many_primes_as_there_are() {
    // The numbers of primes up to powers of ten (Legendre and others), less 2, which is not tried.
    for (bound, known) in [(10, 4), (100, 25), (1_000, 168), (10_000, 1_229), (100_000, 9_592)] {
        assert_eq!(primes(bound + 1), known - 1, "up to {bound}");
    }
    assert_eq!(primes(4), 1, "3 alone");
    assert_eq!((primes(5), primes(6)), (1, 2), "the bound itself is not tried");
}

#[test]
fn sysbenchs_bound_is_the_default() {
    assert_eq!(options(json!({})).max_prime, 10_000);
    assert_eq!(options(json!({"max_prime": 20_000})).max_prime, 20_000);
}

#[test]
fn a_bound_that_makes_no_sense_is_refused() {
    for max_prime in [0, 3, 1_000_000_001] {
        let problem = Cpu::new(&Options { max_prime }).err().unwrap();
        assert!(problem.finding.contains("between 4 and"), "{problem}");
    }
    assert!(read::<Options>("cpu", &json!({"primes": 5})).unwrap_err().finding.contains("unknown field `primes`"));
}
