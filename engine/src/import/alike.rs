//! Lines that are the same but for their numbers, as tools print their intervals: thousands of them are one table.

/// Numbers with at most so many digits are exact as an integer, and as a quotient by a power of ten rounded once.
const EXACT_DIGITS: usize = 15;
const POWERS: [f64; EXACT_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The lines, up to `end`, and their numbers, line after line; a number is digits, and perhaps a point and more of them.
#[derive(Debug, PartialEq)]
pub struct Alike {
    pub end: usize,
    pub columns: usize,
    pub numbers: Vec<f64>,
}

/// The lines from `begin` on that are the same as the first of them but for their numbers. Where the first has no number, or no
/// end, there are none.
pub fn alike(text: &[u8], begin: usize) -> Alike {
    let mut found = Alike { end: begin, columns: 0, numbers: Vec::new() };
    let rest = text.get(begin..).unwrap_or_default();
    let Some(length) = memchr::memchr(b'\n', rest) else { return found };
    let first = &rest[..length];
    let shape = Shape::of(first.strip_suffix(b"\r").unwrap_or(first));
    found.columns = shape.before.len();
    if found.columns == 0 {
        return found;
    }
    loop {
        let whole = found.numbers.len();
        match shape.line(text, found.end, &mut found.numbers) {
            Some(end) => found.end = end,
            None => {
                found.numbers.truncate(whole);
                return found;
            }
        }
    }
}

/// What stands before each number of a line, and behind the last.
struct Shape<'a> {
    before: Vec<&'a [u8]>,
    behind: &'a [u8],
}

impl<'a> Shape<'a> {
    fn of(line: &'a [u8]) -> Self {
        let (mut before, mut at) = (Vec::new(), 0);
        while let Some(next) = line[at..].iter().position(u8::is_ascii_digit) {
            before.push(&line[at..at + next]);
            at = number(line, at + next).1;
        }
        Self { before, behind: &line[at..] }
    }

    /// Adds the numbers of the line at `at`, and says where the next begins. None if it is another line, of which some numbers may
    /// have been added.
    #[inline]
    fn line(&self, text: &[u8], mut at: usize, numbers: &mut Vec<f64>) -> Option<usize> {
        for words in &self.before {
            if !text[at..].starts_with(words) {
                return None;
            }
            at += words.len();
            if !text.get(at)?.is_ascii_digit() {
                return None;
            }
            let (value, end) = number(text, at);
            numbers.push(value);
            at = end;
        }
        let rest = text[at..].strip_prefix(self.behind)?;
        let rest = rest.strip_prefix(b"\r").unwrap_or(rest).strip_prefix(b"\n")?;
        Some(text.len() - rest.len())
    }
}

/// The number whose first digit is at `begin`, and where it ends.
#[inline]
fn number(text: &[u8], begin: usize) -> (f64, usize) {
    let (mut whole, mut at) = (0_u64, begin);
    let mut digits = |at: &mut usize| {
        let from = *at;
        while let Some(digit @ b'0'..=b'9') = text.get(*at) {
            whole = whole.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            *at += 1;
        }
        *at - from
    };
    let mut count = digits(&mut at);
    let mut decimals = 0;
    if text.get(at) == Some(&b'.') && text.get(at + 1).is_some_and(u8::is_ascii_digit) {
        at += 1;
        decimals = digits(&mut at);
        count += decimals;
    }
    if count <= EXACT_DIGITS {
        return (whole as f64 / POWERS[decimals], at);
    }
    let long = std::str::from_utf8(&text[begin..at]).ok().and_then(|long| long.parse().ok());
    (long.unwrap_or(f64::NAN), at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_that_differ_in_numbers_alone_are_a_table() {
        let text =
            b"head\n[ 1s ] tps: 5.25 (95%)\n[ 20s ] tps: 17 (95%)\r\n[ 3s ] tps: nan (95%)\n[ 4s ] tps: 1.00 (95%)\n";
        let found = alike(text, 5);
        assert_eq!((found.columns, &found.numbers[..]), (3, &[1.0, 5.25, 95.0, 20.0, 17.0, 95.0][..]));
        assert!(text[found.end..].starts_with(b"[ 3s ]"));
    }

    #[test]
    fn what_has_no_number_or_no_end_is_no_table() {
        for text in ["", "word\n", "12", "\n"] {
            assert_eq!(alike(text.as_bytes(), 0).end, 0, "{text:?}");
        }
        assert_eq!(alike(b"1\n", 7).end, 7);
        assert_eq!(alike(b"1\n2\n3", 0).numbers, [1.0, 2.0]);
        assert_eq!(alike(b"1 a\n2 b\n", 0).numbers, [1.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn numbers_are_what_the_standard_library_reads(text in "[0-9]{1,18}(\\.[0-9]{1,18})?") {
            prop_assert_eq!(alike(format!("{text}\n").as_bytes(), 0).numbers, [text.parse::<f64>().unwrap()]);
        }

        #[test]
        fn any_text_has_whole_lines_of_numbers(text in "[0-9.a\r\n]{0,40}", begin in 0usize..44) {
            let found = alike(text.as_bytes(), begin);
            prop_assert_eq!(found.numbers.len() % found.columns.max(1), 0);
            let taken = text.as_bytes().get(begin..found.end).unwrap_or_default();
            prop_assert!(taken.is_empty() || taken.ends_with(b"\n"));
            let rows = memchr::memchr_iter(b'\n', taken).count();
            prop_assert_eq!(found.numbers.len(), rows * found.columns);
        }
    }
}
