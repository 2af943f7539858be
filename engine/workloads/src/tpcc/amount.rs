//! Parsing of amounts of money as written by the server.

/// Hundredths of a non-negative amount: `12.34`, `12.3` or `12`; `None` for anything else.
pub fn parse_hundredths(text: &[u8]) -> Option<u64> {
    let (integer_part, fraction) = match text.iter().position(|&byte| byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    let fraction = match fraction {
        [] => 0,
        [tenths] => 10 * digit(*tenths)?,
        [tenths, hundredths] => 10 * digit(*tenths)? + digit(*hundredths)?,
        _ => return None,
    };
    parse(integer_part)?.checked_mul(100)?.checked_add(fraction)
}

/// A non-negative integer.
pub fn parse(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| number.checked_mul(10)?.checked_add(digit(byte)?))
}

fn digit(byte: u8) -> Option<u64> {
    byte.is_ascii_digit().then(|| u64::from(byte - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_to_hundredths() {
        for (text, hundredths) in
            [("0.01", 1), ("9999.99", 999_999), ("100.00", 10_000), ("7", 700), ("7.5", 750)]
        {
            assert_eq!(parse_hundredths(text.as_bytes()), Some(hundredths));
        }
        for text in ["", ".", "-1.00", "1.234", "x", "1,00", "99999999999999999999.00"] {
            assert_eq!(parse_hundredths(text.as_bytes()), None, "{text}");
        }
    }
}
