//! Decimal formatting of integers, used by requests and rows.

/// The two digits of every number below 100.
const PAIRS: &[u8; 200] = &{
    let mut pairs = [0u8; 200];
    let mut n = 0;
    while n < 100 {
        pairs[2 * n] = b'0' + (n / 10) as u8;
        pairs[2 * n + 1] = b'0' + (n % 10) as u8;
        n += 1;
    }
    pairs
};

/// Overwrite all of `out` with `value` in decimal, with leading zeros; higher digits are dropped.
#[inline]
pub fn fixed_decimal(out: &mut [u8], mut value: u64) {
    let mut end = out.len();
    while end >= 2 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        out[end - 2..end].copy_from_slice(&PAIRS[pair..pair + 2]);
        end -= 2;
    }
    if end == 1 {
        out[0] = b'0' + (value % 10) as u8;
    }
}

/// Append `value` in decimal. A blank precedes the sign, as `--` begins a comment in SQL.
#[inline]
pub fn signed_decimal(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.extend_from_slice(b" -");
    }
    decimal(out, value.unsigned_abs());
}

/// Number of digits of `u64::MAX`.
const MOST: usize = 20;

/// Append `value` in decimal.
#[inline]
pub fn decimal(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
    } else if value < 100 {
        out.extend_from_slice(&PAIRS[value as usize * 2..][..2]);
    } else {
        padded_decimal(out, value, 1);
    }
}

/// Number of digits that `decimal` appends.
#[inline]
pub fn count(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// True if `value` has at most `digits` digits.
#[inline]
pub fn fits(value: u64, digits: usize) -> bool {
    POWERS.get(digits).is_none_or(|power| value < *power)
}

/// Powers of ten, from 1.
const POWERS: [u64; MOST] = {
    let mut powers = [1; MOST];
    let mut at = 1;
    while at < MOST {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Append `value` in decimal, with leading zeros up to `least` digits.
#[inline]
pub fn padded_decimal(out: &mut Vec<u8>, mut value: u64, least: usize) {
    let mut digits = [b'0'; MOST];
    let mut start = MOST;
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[value as usize * 2..value as usize * 2 + 2]);
    } else {
        start -= 1;
        digits[start] = b'0' + value as u8;
    }
    for _ in MOST..least {
        out.push(b'0');
    }
    out.extend_from_slice(&digits[start.min(MOST.saturating_sub(least))..]);
}

/// Append `value` hundredths as a number with two decimals.
#[inline]
pub fn hundredths(out: &mut Vec<u8>, value: u64) {
    decimal(out, value / 100);
    let pair = (value % 100) as usize * 2;
    out.push(b'.');
    out.extend_from_slice(&PAIRS[pair..pair + 2]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_like_the_standard_library() {
        for value in (0..2000).chain([9_999, 10_000, 65_535, 2_147_483_647, u64::MAX - 1, u64::MAX]) {
            let mut out = Vec::new();
            decimal(&mut out, value);
            assert_eq!(out, value.to_string().into_bytes());
            assert_eq!(count(value), out.len());
            for digits in 0..25 {
                assert_eq!(fits(value, digits), out.len() <= digits || value == 0, "{value} in {digits}");
            }
            for least in [0, 1, 2, 3, 12, 19, 20, 21, 30] {
                out.clear();
                padded_decimal(&mut out, value, least);
                assert_eq!(out, format!("{value:0least$}").into_bytes());
            }
        }
        for value in [0u64, 7, 42, 99_999_999_999] {
            let mut digits = [0u8; 11];
            fixed_decimal(&mut digits, value);
            assert_eq!(digits.to_vec(), format!("{value:011}").into_bytes());
        }
    }
}
