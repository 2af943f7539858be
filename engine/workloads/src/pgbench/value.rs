//! Values of expressions and variables, their conversions, and their text form.

use std::io::Write;

use super::error::EvaluationError;

/// A value of the script language: null, boolean, 64-bit integer or double.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

/// Digits of a double that survive a round trip through text (C's `DBL_DIG`), as printed by pgbench.
const DOUBLE_DIGITS: usize = 15;

impl Value {
    /// Name of the type in messages.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "int",
            Self::Double(_) => "double",
        }
    }

    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// Convert to an integer; a double is rounded to nearest, ties to even.
    #[inline]
    pub fn integer(self) -> Result<i64, EvaluationError> {
        match self {
            Self::Integer(i) => Ok(i),
            Self::Double(d) => {
                let rounded = d.round_ties_even();
                // -2^63 is a double, 2^63 - 1 is not: the upper bound is exclusive. NaN is in no range.
                if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
                    Ok(rounded as i64)
                } else {
                    Err(EvaluationError::DoubleToInteger(d))
                }
            }
            other => Err(EvaluationError::Coercion { from: other.type_name(), to: "int" }),
        }
    }

    #[inline]
    pub fn double(self) -> Result<f64, EvaluationError> {
        match self {
            Self::Double(d) => Ok(d),
            Self::Integer(i) => Ok(i as f64),
            other => Err(EvaluationError::Coercion { from: other.type_name(), to: "double" }),
        }
    }

    /// Convert to an operand of AND, OR and NOT: only booleans are allowed.
    #[inline]
    pub fn boolean(self) -> Result<bool, EvaluationError> {
        match self {
            Self::Boolean(b) => Ok(b),
            other => Err(EvaluationError::Coercion { from: other.type_name(), to: "boolean" }),
        }
    }

    /// Convert to a condition of `CASE WHEN` or `\if`: null is false, a number is true unless it is 0.
    #[inline]
    pub fn truth(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(b) => b,
            Self::Integer(i) => i != 0,
            Self::Double(d) => d != 0.0,
        }
    }

    /// Comparison of `IS`: equal type and bit-equal value.
    pub fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Boolean(a), Self::Boolean(b)) => a == b,
            _ => false,
        }
    }

    /// Append the text that represents the value in a statement.
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Boolean(true) => out.extend_from_slice(b"true"),
            Self::Boolean(false) => out.extend_from_slice(b"false"),
            Self::Integer(i) => write_integer(i, out),
            Self::Double(d) => write_double(d, out),
        }
    }

    /// Parse a text from `-D`, `\gset` or `\setshell`; `None` if it is not a value.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if text.eq_ignore_ascii_case(b"null") {
            return Some(Self::Null);
        }
        // Any prefix of these words is accepted, but `o` alone is ambiguous.
        if is_beginning(text, b"true") || is_beginning(text, b"yes") || text.eq_ignore_ascii_case(b"on") {
            return Some(Self::Boolean(true));
        }
        if is_beginning(text, b"false")
            || is_beginning(text, b"no")
            || text.eq_ignore_ascii_case(b"off")
            || text.eq_ignore_ascii_case(b"of")
        {
            return Some(Self::Boolean(false));
        }
        let text = std::str::from_utf8(text)
            .ok()?
            .trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            // An integer that is too large is not converted to a double.
            return text.parse().ok().map(Self::Integer);
        }
        if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            let magnitude =
                i64::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with(['+', '-']))? as f64;
            return Some(Self::Double(if text.starts_with('-') { -magnitude } else { magnitude }));
        }
        let double: f64 = text.parse().ok()?;
        let infinite = digits.as_bytes()[0].eq_ignore_ascii_case(&b'i');
        (double.is_finite() || double.is_nan() || infinite).then_some(Self::Double(double))
    }
}

fn is_beginning(text: &[u8], word: &[u8]) -> bool {
    text.len() <= word.len() && text.eq_ignore_ascii_case(&word[..text.len()])
}

fn write_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut remaining = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (remaining % 10) as u8;
        remaining /= 10;
        if remaining == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Format like C's `%.15g`, with PostgreSQL's words for non-finite values.
fn write_double(value: f64, out: &mut Vec<u8>) {
    if !value.is_finite() {
        let word: &[u8] = if value.is_nan() {
            b"NaN"
        } else if value > 0.0 {
            b"Infinity"
        } else {
            b"-Infinity"
        };
        out.extend_from_slice(word);
        return;
    }
    // One digit, a point, 14 digits, `e` and the exponent: rounded once, exactly, so both layouts below agree
    // with C.
    let mut buffer = [0u8; 32];
    let mut remaining = &mut buffer[..];
    write!(remaining, "{value:.precision$e}", precision = DOUBLE_DIGITS - 1)
        .expect("15 digits fit into 32 bytes");
    let written = 32 - remaining.len();
    let text = &buffer[..written];
    let e = text.iter().rposition(|&b| b == b'e').expect("the format has an exponent");
    let exponent: i32 =
        std::str::from_utf8(&text[e + 1..]).ok().and_then(|x| x.parse().ok()).expect("a number");
    let (sign, mantissa) = if text[0] == b'-' { (&text[..1], &text[1..e]) } else { (&text[..0], &text[..e]) };
    out.extend_from_slice(sign);

    let mut digits = [0u8; DOUBLE_DIGITS];
    digits[0] = mantissa[0];
    digits[1..].copy_from_slice(&mantissa[2..]);
    let significant = digits.iter().rposition(|&b| b != b'0').map_or(1, |last| last + 1);
    let digits = &digits[..significant];

    if !(-4..DOUBLE_DIGITS as i32).contains(&exponent) {
        out.push(digits[0]);
        if significant > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "e{sign}{:02}", exponent.abs()).expect("a vector takes all");
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let integer_digits = exponent as usize + 1;
        if significant <= integer_digits {
            out.extend_from_slice(digits);
            out.resize(out.len() + integer_digits - significant, b'0');
        } else {
            out.extend_from_slice(&digits[..integer_digits]);
            out.push(b'.');
            out.extend_from_slice(&digits[integer_digits..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: Value) -> String {
        let mut out = Vec::new();
        value.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_format_as_in_c() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-27.0, "-27"),
            (-0.125, "-0.125"),
            (-0.00032, "-0.00032"),
            (0.1 + 0.2, "0.3"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1e30, "1e+30"),
            (8.507_059_173_023_46e37, "8.50705917302346e+37"),
            (123_456_789_012_345_678.0, "1.23456789012346e+17"),
            (999_999_999_999_999.9, "1e+15"),
            (99_999_999_999_999.99, "100000000000000"),
            (1e-310, "9.99999999999997e-311"),
            (1e300, "1e+300"),
            (123.456, "123.456"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(text(Value::Double(value)), expected);
        }
        assert_eq!(text(Value::Integer(i64::MIN)), "-9223372036854775808");
        assert_eq!(text(Value::Integer(0)), "0");
        assert_eq!(text(Value::Null), "NULL");
        assert_eq!(text(Value::Boolean(false)), "false");
    }

    #[test]
    fn texts_parse_as_in_pgbench() {
        for (text_given, expected) in [
            ("t", "boolean true"),
            ("TRUE", "boolean true"),
            ("tru", "boolean true"),
            ("y", "boolean true"),
            ("on", "boolean true"),
            ("f", "boolean false"),
            ("n", "boolean false"),
            ("no", "boolean false"),
            ("of", "boolean false"),
            ("null", "null NULL"),
            ("NULL", "null NULL"),
            (" 5", "int 5"),
            ("+3", "int 3"),
            ("-9223372036854775808", "int -9223372036854775808"),
            (".5", "double 0.5"),
            ("5.", "double 5"),
            ("1e3", "double 1000"),
            ("-10.1", "double -10.1"),
            ("0x10", "double 16"),
            ("inf", "double Infinity"),
            ("-infinity", "double -Infinity"),
            ("nan", "double NaN"),
            ("o", "-"),
            ("nul", "-"),
            ("trueXXX", "-"),
            ("bla", "-"),
            ("", "-"),
            ("+", "-"),
            ("5 ", "-"),
            ("9223372036854775808", "-"),
            ("1e400", "-"),
            ("\u{e9}", "-"),
        ] {
            let parsed = Value::parse(text_given.as_bytes())
                .map_or("-".into(), |v| format!("{} {}", v.type_name(), text(v)));
            assert_eq!(parsed, expected, "{text_given:?}");
        }
    }

    #[test]
    fn doubles_round_to_even() {
        for (double, expected) in [(2.5, 2), (3.5, 4), (-2.5, -2), (7.3, 7), (-9.3e18_f64.min(0.0), 0)] {
            match Value::Double(double).integer() {
                Ok(parsed) => assert_eq!(parsed, expected),
                Err(fault) => assert_eq!(fault, EvaluationError::DoubleToInteger(-9.3e18)),
            }
        }
        assert_eq!(Value::Double(-9_223_372_036_854_775_808.0).integer(), Ok(i64::MIN));
        assert!(Value::Double(9_223_372_036_854_775_808.0).integer().is_err());
        assert!(Value::Double(f64::NAN).integer().is_err());
        assert!(Value::Boolean(true).integer().is_err());
        assert!(Value::Null.double().is_err());
        assert!(Value::Integer(1).boolean().is_err());
    }
}
