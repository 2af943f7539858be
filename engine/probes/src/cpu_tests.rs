//! CPU probe compared with known numbers of primes.

use serde_json::json;

use super::cpu::{Options, primes};
use super::read;

#[test]
fn prime_counts_are_correct() {
    // Numbers of primes up to powers of ten (Legendre and others), minus 2, which is not tested.
    for (bound, expected_count) in [(10, 4), (100, 25), (1_000, 168), (10_000, 1_229), (100_000, 9_592)] {
        assert_eq!(primes(bound + 1), expected_count - 1, "up to {bound}");
    }
    assert_eq!(primes(4), 1, "3 alone");
    assert_eq!((primes(5), primes(6)), (1, 2), "the bound itself is not tried");
    assert_eq!((primes(0), primes(3)), (0, 0), "there is nothing to try");
}

/// Speed depends on the alignment by some percent, and a change of a few bytes before a loop would move it.
#[cfg(target_arch = "x86_64")]
#[test]
fn loops_are_aligned_like_sysbench() {
    let start = primes as *const u8;
    // SAFETY: the function is nearly as long, and other code follows it.
    let code = unsafe { std::slice::from_raw_parts(start, 256) };
    let line = |octets: &[u8]| {
        let at = code.windows(octets.len()).position(|window| window == octets).expect("it is there");
        (start.addr() + at) % 64
    };
    const ZERO_AND_CONVERT: [[u8; 9]; 2] = [
        [0x66, 0x0f, 0xef, 0xc0, 0xf2, 0x48, 0x0f, 0x2a, 0xc1],
        [0x66, 0x0f, 0xef, 0xc9, 0xf2, 0x48, 0x0f, 0x2a, 0xce],
    ];
    assert_eq!(ZERO_AND_CONVERT.map(|octets| line(&octets)), [16, 56], "numbers, and their divisors");
}

#[test]
fn unknown_options_are_rejected() {
    assert!(
        read::<Options>("cpu", &json!({"primes": 5}))
            .unwrap_err()
            .to_string()
            .contains("unknown field `primes`")
    );
}
