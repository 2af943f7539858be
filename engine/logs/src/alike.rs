//! Lines that are the same but for their numbers, as tools print their intervals: thousands of them are one
//! table.

use super::digits;

/// Largest number of digits with which a number is exact as an integer, and as a quotient by a power of ten
/// rounded once.
const EXACT_DIGITS: usize = 15;
const POWERS: [f64; EXACT_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
const INTEGER_POWERS: [i64; EXACT_DIGITS + 1] = {
    let mut powers = [1; EXACT_DIGITS + 1];
    let mut index = 1;
    while index <= EXACT_DIGITS {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};
/// Readable bytes behind the end of the lines.
pub const PADDING: usize = 32;
/// Text before a number is compared eight bytes at a time up to this length.
const SHORT: usize = 16;

/// The lines, up to `end`, and their numbers, column by column; a number is digits, and perhaps a point and
/// more of them.
#[derive(Debug, PartialEq)]
pub struct NumberTable {
    pub end: usize,
    pub rows: usize,
    pub columns: Vec<Vec<f64>>,
}

/// The lines of `text` from `begin` up to at most `end` that are the same as the first of them but for their
/// numbers. Where the first has no number, or no end, there are none. Behind `end` there are `PADDING` bytes
/// more. Columns are taken from the `spare` ones, whatever is in them, as long as there are some.
pub fn table(text: &[u8], begin: usize, end: usize, spare: &mut Vec<Vec<f64>>) -> NumberTable {
    let mut table = NumberTable { end: begin, rows: 0, columns: Vec::new() };
    let Some(length) = memchr::memchr(b'\n', &text[begin..end]) else { return table };
    let first = &text[begin..begin + length];
    let shape = Shape::of(first.strip_suffix(b"\r").unwrap_or(first));
    if shape.before.is_empty() {
        return table;
    }
    let most = (end - begin) / (first.len() + 1) + 1; // most lines are about as long
    table.columns.resize_with(shape.before.len(), || {
        let mut column = spare.pop().unwrap_or_default();
        column.clear();
        column.reserve(most);
        column
    });
    while let Some(next) = shape.line(text, table.end, end, &mut table.columns) {
        table.end = next;
        table.rows += 1;
    }
    for column in &mut table.columns {
        column.truncate(table.rows); // of a line that was another after all
    }
    table
}

/// Text before each number of a line, and behind the last.
struct Shape<'a> {
    before: Vec<Words<'a>>,
    behind: &'a [u8],
}

impl<'a> Shape<'a> {
    fn of(line: &'a [u8]) -> Self {
        let (mut before, mut at) = (Vec::new(), 0);
        while let Some(next) = line[at..].iter().position(u8::is_ascii_digit) {
            before.push(Words::of(&line[at..at + next]));
            at = end_of_number(line, at + next);
        }
        Self { before, behind: &line[at..] }
    }

    /// Adds the numbers of the line at `at` to the columns. Returns the start of the next line; none if the
    /// line has another shape, though some of its numbers may have been added.
    #[inline(always)]
    fn line(&self, text: &[u8], mut at: usize, end: usize, columns: &mut [Vec<f64>]) -> Option<usize> {
        for (words, column) in self.before.iter().zip(columns) {
            if at >= end || !words.stand(text, at) {
                return None;
            }
            let (value, behind) = number(text, at + words.all.len(), end)?;
            column.push(value);
            at = behind;
        }
        let tail = text.get(at..end)?.strip_prefix(self.behind)?;
        let tail = tail.strip_prefix(b"\r").unwrap_or(tail).strip_prefix(b"\n")?;
        Some(end - tail.len())
    }
}

/// Text before a number: all of it, and its first and last eight bytes, as far as it is that long.
struct Words<'a> {
    all: &'a [u8],
    first: u64,
    mask: u64,
    last: u64,
}

impl<'a> Words<'a> {
    fn of(all: &'a [u8]) -> Self {
        let mut first = [0; 8];
        let short = all.len().min(8);
        first[..short].copy_from_slice(&all[..short]);
        let mask = if short == 8 { u64::MAX } else { (1 << (8 * short)) - 1 };
        let last = if all.len() > 8 { eight(all, all.len() - 8) } else { 0 };
        Self { all, first: u64::from_le_bytes(first), mask, last }
    }

    /// True if the text at `at` is equal.
    #[inline(always)]
    fn stand(&self, text: &[u8], at: usize) -> bool {
        match self.all.len() {
            ..=8 => (eight(text, at) ^ self.first) & self.mask == 0,
            length @ ..=SHORT => eight(text, at) == self.first && eight(text, at + length - 8) == self.last,
            _ => text[at..].starts_with(self.all),
        }
    }
}

#[inline(always)]
fn eight(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

/// Where the number ends whose first digit is at `at`.
fn end_of_number(line: &[u8], at: usize) -> usize {
    let digits = |from: usize| from + line[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let integer = digits(at);
    if line.get(integer) == Some(&b'.') && line.get(integer + 1).is_some_and(u8::is_ascii_digit) {
        return digits(integer + 1);
    }
    integer
}

/// The number whose first digit is at `begin`, and where it ends. None if there is no digit.
#[inline(always)]
fn number(text: &[u8], begin: usize, end: usize) -> Option<(f64, usize)> {
    if begin >= end {
        return None;
    }
    let Some((integer, at)) = digits::number(text, begin) else { return long(text, begin) };
    if text[at] != b'.' || !text[at + 1].is_ascii_digit() {
        return if at - begin <= EXACT_DIGITS { Some((integer as f64, at)) } else { long(text, begin) };
    }
    let Some((part, behind)) = digits::number(text, at + 1) else { return long(text, begin) };
    let decimals = behind - at - 1;
    if behind - begin - 1 > EXACT_DIGITS {
        return long(text, begin);
    }
    Some(((integer * INTEGER_POWERS[decimals] + part) as f64 / POWERS[decimals], behind))
}

/// One of more digits than are exact as an integer.
#[cold]
fn long(text: &[u8], begin: usize) -> Option<(f64, usize)> {
    let end = end_of_number(text, begin);
    let value = std::str::from_utf8(&text[begin..end]).ok()?.parse().ok()?;
    Some((value, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Table of `text`, followed by bytes that must not matter.
    fn of(text: &[u8], begin: usize) -> NumberTable {
        let padded = [text, &[b'7'; PADDING]].concat();
        table(&padded, begin, text.len(), &mut vec![vec![7.0; 3]])
    }

    #[test]
    fn lines_that_differ_in_numbers_alone_are_a_table() {
        let text = b"head\n[ 1s ] tps: 5.25 (95%)\n[ 20s ] tps: 17 (95%)\r\n\
              [ 3s ] tps: nan (95%)\n[ 4s ] tps: 1.00 (95%)\n";
        let table = of(text, 5);
        assert_eq!(
            (table.rows, table.columns),
            (2, vec![vec![1.0, 20.0], vec![5.25, 17.0], vec![95.0, 95.0]])
        );
        assert!(text[table.end..].starts_with(b"[ 3s ]"));
    }

    #[test]
    fn words_of_any_length_are_compared_whole() {
        for length in 0..24 {
            let words: String = ('a'..='z').take(length).collect();
            let line = format!("{words}1\n");
            assert_eq!(of(line.repeat(2).as_bytes(), 0).rows, 2, "{words}");
            for index in 0..length {
                let mut other = line.clone().into_bytes();
                other[index] = b'_';
                assert_eq!(of(&[line.as_bytes(), &other].concat(), 0).rows, 1, "{words} {index}");
            }
        }
    }

    #[test]
    fn what_has_no_number_or_no_end_is_no_table() {
        for text in ["", "word\n", "12", "\n"] {
            assert_eq!(of(text.as_bytes(), 0).end, 0, "{text:?}");
        }
        assert_eq!(of(b"1\n", 2).end, 2);
        assert_eq!(of(b"1\n2\n3", 0).columns, [[1.0, 2.0]]);
        assert_eq!(of(b"1 a\n2 b\n", 0).columns, [[1.0]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 512, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn numbers_are_what_the_standard_library_reads(text in "[0-9]{1,24}(\\.[0-9]{1,24})?") {
            prop_assert_eq!(of(format!("{text}\n").as_bytes(), 0).columns, [[text.parse::<f64>().unwrap()]]);
        }

        #[test]
        fn any_text_has_whole_lines_of_numbers(text in "[0-9.a\r\n]{0,40}", begin in 0usize..44) {
            let begin = begin.min(text.len());
            let table = of(text.as_bytes(), begin);
            prop_assert!(table.columns.iter().all(|column| column.len() == table.rows));
            let taken = &text.as_bytes()[begin..table.end];
            prop_assert!(taken.is_empty() || taken.ends_with(b"\n"));
            prop_assert_eq!(table.rows, memchr::memchr_iter(b'\n', taken).count());
        }
    }
}
