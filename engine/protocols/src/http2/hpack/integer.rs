//! Integers of HPACK (RFC 7541, section 5.1): the free bits of the first byte, then seven bits per byte.

/// Limit of a decoded integer; anything larger is treated as an attack.
const LARGEST: u64 = u32::MAX as u64;

/// Decode the integer that starts in the low `prefix` bits of the first byte. Returns the value and the bytes
/// consumed; `None` if it is unfinished or too large.
#[inline]
pub fn decode(input: &[u8], prefix: u32) -> Option<(usize, usize)> {
    let full = (1u64 << prefix) - 1;
    let (&first, remaining) = input.split_first()?;
    let mut value = u64::from(first) & full;
    if value < full {
        return Some((value as usize, 1));
    }
    for (at, &octet) in remaining.iter().enumerate().take(6) {
        value += u64::from(octet & 0x7f) << (7 * at);
        if octet & 0x80 == 0 {
            return (value <= LARGEST).then_some((value as usize, at + 2));
        }
    }
    None
}

/// Append `value`, its first bits combined with `first`, which holds the representation.
#[inline]
pub fn encode(out: &mut Vec<u8>, first: u8, prefix: u32, value: usize) {
    let full = (1usize << prefix) - 1;
    if value < full {
        return out.push(first | value as u8);
    }
    out.push(first | full as u8);
    let mut remaining = value - full;
    while remaining >= 0x80 {
        out.push(remaining as u8 | 0x80);
        remaining >>= 7;
    }
    out.push(remaining as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 7541, appendix C.1.
    #[test]
    fn integers_match_the_appendix() {
        for (value, first, prefix, octets) in
            [(10, 0, 5, &[0x0a][..]), (1337, 0, 5, &[0x1f, 0x9a, 0x0a]), (42, 0, 8, &[0x2a])]
        {
            let mut out = Vec::new();
            encode(&mut out, first, prefix, value);
            assert_eq!(out, octets);
            assert_eq!(decode(octets, prefix), Some((value, octets.len())));
        }
    }

    #[test]
    fn unfinished_and_oversized_integers_are_rejected() {
        assert_eq!(decode(&[], 7), None);
        assert_eq!(decode(&[0x7f], 7), None);
        assert_eq!(decode(&[0x7f, 0x80], 7), None);
        assert_eq!(decode(&[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], 7), None);
        assert_eq!(
            decode(&[0x7f, 0x80, 0x80, 0x80, 0x80, 0x00], 7),
            Some((127, 6)),
            "long-winded, but right"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn integers_round_trip(
            value in 0usize..=u32::MAX as usize,
            prefix in 1u32..=8,
            remaining in any::<u8>(),
        ) {
            let mut out = Vec::new();
            encode(&mut out, 0, prefix, value);
            let size = out.len();
            out.push(remaining);
            prop_assert_eq!(decode(&out, prefix), Some((value, size)));
        }
    }
}
