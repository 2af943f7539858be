//! Lines of RESP, terminated by CR LF.

use crate::Malformed;

/// Limit of a line in bytes: simple strings and errors are a sentence, all other lines are numbers.
pub const LONGEST: usize = 64 << 10;

/// A sign and the digits of a 64-bit number.
const LONGEST_NUMBER: usize = 20;

/// The line that starts at `at`, without its terminator, and the start of the next; `None` when more input is
/// needed.
pub fn text(input: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, Malformed> {
    let remaining = &input[at..];
    let within = &remaining[..remaining.len().min(LONGEST)];
    match within.iter().position(|&byte| byte == b'\n') {
        Some(end) if end > 0 && remaining[end - 1] == b'\r' => {
            Ok(Some((&remaining[..end - 1], at + end + 1)))
        }
        Some(_) => Err(Malformed("a line that ends in LF without CR".into())),
        None if within.len() == LONGEST => Err(Malformed(format!("a line of more than {LONGEST} bytes"))),
        None => Ok(None),
    }
}

/// Number of digits that always fits into 64 bits.
const FEW_DIGITS: usize = 18;

/// The number on the line that starts at `at`, and the start of the next line; `None` when more input is
/// needed.
#[inline]
pub fn number(input: &[u8], at: usize) -> Result<Option<(i64, usize)>, Malformed> {
    let (mut value, mut next) = (0, at);
    while next - at < FEW_DIGITS
        && let Some(digit @ 0..=9) = input.get(next).map(|byte| byte.wrapping_sub(b'0'))
    {
        value = value * 10 + i64::from(digit);
        next += 1;
    }
    match input.get(next..next + 2) {
        Some(b"\r\n") if next > at => Ok(Some((value, next + 2))),
        _ => any_number(input, at),
    }
}

/// The same for signed, long, unfinished or malformed numbers.
fn any_number(input: &[u8], at: usize) -> Result<Option<(i64, usize)>, Malformed> {
    let mut value: i64 = 0;
    let negative = input.get(at) == Some(&b'-');
    let first = at + usize::from(negative || input.get(at) == Some(&b'+'));
    let mut next = first;
    while let Some(&byte) = input.get(next) {
        match byte {
            b'0'..=b'9' if next - first < LONGEST_NUMBER => {
                // Accumulate negatively, as there is one more negative number than positive ones.
                let digit = i64::from(byte - b'0');
                value =
                    value.checked_mul(10).and_then(|value| value.checked_sub(digit)).ok_or_else(too_large)?;
                next += 1;
            }
            b'\r' if next > first => {
                return match input.get(next + 1) {
                    None => Ok(None),
                    Some(b'\n') if negative => Ok(Some((value, next + 2))),
                    Some(b'\n') => Ok(Some((value.checked_neg().ok_or_else(too_large)?, next + 2))),
                    Some(_) => Err(Malformed("a number whose line ends in CR without LF".into())),
                };
            }
            _ => return Err(no_number(byte)),
        }
    }
    Ok(None)
}

#[cold]
fn too_large() -> Malformed {
    Malformed("a number of more than 64 bits".into())
}

#[cold]
fn no_number(byte: u8) -> Malformed {
    Malformed(format!("{:?} where a number should be", char::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_64_bit_numbers_are_accepted() {
        for value in [0, 7, -1, 42, i64::MAX, i64::MIN] {
            let line = format!("x{value}\r\n+");
            assert_eq!(number(line.as_bytes(), 1), Ok(Some((value, line.len() - 1))));
            for cut in 1..line.len() - 1 {
                assert_eq!(number(&line.as_bytes()[..cut], 1), Ok(None), "{value} cut at {cut}");
            }
        }
        assert_eq!(number(b"+5\r\n", 0), Ok(Some((5, 4))));
        for wrong in [
            "\r\n",
            "-\r\n",
            "5 \r\n",
            "5\rx",
            "5\n",
            "x",
            "9223372036854775808\r\n",
            "99999999999999999999999",
        ] {
            assert!(number(wrong.as_bytes(), 0).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn lines_end_in_cr_lf_within_a_limit() {
        assert_eq!(text(b"+OK\r\n-", 1), Ok(Some((&b"OK"[..], 5))));
        assert_eq!(text(b"+\r\n", 1), Ok(Some((&b""[..], 3))));
        assert_eq!(text(b"+a\rb\r\n", 1), Ok(Some((&b"a\rb"[..], 6))));
        assert_eq!(text(b"+OK\r", 1), Ok(None));
        assert!(text(b"+OK\n", 1).is_err());
        assert!(text(&[b'a'; LONGEST], 0).is_err());
        assert_eq!(text(&[b'a'; LONGEST - 1], 0), Ok(None));
    }
}
