//! Parsing of decimal numbers, eight digits at a time, and skipping of fields.

/// Readable bytes behind the start of a number.
pub const PADDING: usize = 8;

const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Eight bytes, each less `0`: a digit is below ten.
#[inline(always)]
fn eight(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight) ^ 0x3030_3030_3030_3030
}

/// Number of leading digits among the eight.
#[inline(always)]
fn digits(eight: u64) -> usize {
    // Bytes above nine get their highest bit; what they carry over lies behind the first of them.
    let others = (eight.wrapping_add(0x7676_7676_7676_7676) | eight) & 0x8080_8080_8080_8080;
    (others.trailing_zeros() / 8) as usize
}

/// The number that the first `count` of the eight make (Lemire, Number parsing at a gigabyte per second,
/// 2021). `count` is not 0.
#[inline(always)]
fn value(eight: u64, count: usize) -> u64 {
    let digits = eight << (64 - 8 * count); // zeros before them
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let (low, high) = (pairs & 0x0000_00ff_0000_00ff, (pairs >> 16) & 0x0000_00ff_0000_00ff);
    low.wrapping_mul(0x000f_4240_0000_0064).wrapping_add(high.wrapping_mul(0x0000_2710_0000_0001)) >> 32
}

/// Parses the number at `at`. Returns it with its end; none if there is no digit, or the number exceeds an
/// i64.
#[inline(always)]
pub fn number(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let first = eight(bytes, at);
    match digits(first) {
        0 => None,
        8 => longer(bytes, at + 8, value(first, 8)),
        count => Some((value(first, count) as i64, at + count)),
    }
}

#[inline]
fn longer(bytes: &[u8], at: usize, begin: u64) -> Option<(i64, usize)> {
    let next = eight(bytes, at);
    match digits(next) {
        0 => Some((begin as i64, at)),
        8 => longest(bytes, at + 8, (begin * POWERS[8] + value(next, 8)) as i64),
        count => Some(((begin * POWERS[count] + value(next, count)) as i64, at + count)),
    }
}

#[cold]
fn longest(bytes: &[u8], mut at: usize, mut number: i64) -> Option<(i64, usize)> {
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        number = number.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
        at += 1;
    }
    Some((number, at))
}

/// A number that may have a minus before it.
#[inline(always)]
pub fn signed(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    if bytes[at] == b'-' {
        number(bytes, at + 1).map(|(value, end)| (-value, end))
    } else {
        number(bytes, at)
    }
}

/// Where the next field begins, after this one's `end`; none where the line ends before.
#[inline(always)]
pub fn past(bytes: &[u8], mut at: usize, end: u8) -> Option<usize> {
    // Most are numbers.
    at += digits(eight(bytes, at));
    loop {
        match bytes[at] {
            byte if byte == end => return Some(at + 1),
            b'\n' => return None,
            _ => at += 1,
        }
    }
}

/// Behind this byte, if it is the one that should be there.
#[inline(always)]
pub fn exactly(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    (bytes[at] == byte).then_some(at + 1)
}

/// Where the next line begins after the last field that is of interest; further ones, after `end`, are passed
/// over.
#[inline(always)]
pub fn ended(bytes: &[u8], at: usize, end: u8) -> Option<usize> {
    match bytes[at] {
        b'\n' => Some(at + 1),
        b'\r' => exactly(bytes, at + 1, b'\n'),
        byte if byte == end => Some(at + memchr::memchr(b'\n', &bytes[at..])? + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn padded(text: &[u8]) -> Vec<u8> {
        [text, b"\n", &[b'9'; PADDING]].concat()
    }

    #[test]
    fn numbers_end_where_their_digits_end() {
        for text in ["0", "7 ", "12345678", "123456789\r", "1234567890123456 1", "9223372036854775807"] {
            let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit()).split(' ').next().unwrap();
            assert_eq!(
                number(&padded(text.as_bytes()), 0),
                Some((digits.parse().unwrap(), digits.len())),
                "{text}"
            );
        }
        for text in ["", " 1", "-1", "x", "\u{ff}", "9223372036854775808", "99999999999999999999999"] {
            assert_eq!(number(&padded(text.as_bytes()), 0), None, "{text}");
        }
        assert_eq!(signed(&padded(b"-12,"), 0), Some((-12, 3)));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 512, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn a_number_is_what_the_standard_library_reads(
            text in prop::collection::vec(prop_oneof![48u8..58, any::<u8>()], 0..24)
        ) {
            let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
            let number_text = std::str::from_utf8(&text[..end]).unwrap();
            let expected = number_text.parse::<i64>().ok().map(|value| (value, end));
            prop_assert_eq!(number(&padded(&text), 0), expected);
        }

        #[test]
        fn fields_are_passed_over_to_their_end(
            text in prop::collection::vec(prop_oneof![48u8..58, Just(b','), any::<u8>()], 0..24)
        ) {
            let line = text.split(|byte| *byte == b'\n').next().unwrap();
            let expected = line.iter().position(|byte| *byte == b',').map(|at| at + 1);
            prop_assert_eq!(past(&padded(&text), 0, b','), expected);
        }
    }
}
