//! Splits received bytes into messages: a tag byte, a length that includes itself, a body.

use crate::{Malformed, Names};

/// Limit of a message in bytes. PostgreSQL's own limit is 1 GiB; rows of the workloads have some hundred
/// bytes, and waiting for an endless message would hide the real error. A buffer that grows to this size
/// takes less than 64 MiB.
pub const LONGEST: usize = 20 << 20;

const HEAD: usize = 5;

/// A complete message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub tag: u8,
    pub body: &'a [u8],
}

impl Frame<'_> {
    /// Bytes consumed of the input.
    #[inline]
    pub fn size(&self) -> usize {
        HEAD + self.body.len()
    }
}

/// Message at the start of `input`; `None` when more input is needed.
#[inline]
pub fn next(input: &[u8]) -> Result<Option<Frame<'_>>, Malformed> {
    let Some((head, input)) = input.split_first_chunk::<HEAD>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if !(4..=LONGEST).contains(&length) {
        return Err(wrong_length(head[0], length));
    }
    Ok(input.get(..length - 4).map(|body| Frame { tag: head[0], body }))
}

/// Bytes of the complete DataRow messages at the start of `input`. Rows are most of the input, and a load
/// that does not read them skips them here.
#[inline]
pub fn rows(input: &[u8]) -> usize {
    let mut end = 0;
    while let Some(&[b'D', a, b, c, d]) = input[end..].first_chunk::<HEAD>() {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let next = end + 1 + length;
        if next > input.len() || length < 4 {
            break;
        }
        end = next;
    }
    end
}

#[cold]
fn wrong_length(tag: u8, length: usize) -> Malformed {
    let shown = char::from(tag).escape_default();
    Malformed(format!(
        "a message of type '{shown}' that claims {length} bytes: this is not PostgreSQL's protocol"
    ))
}

/// Reader of a body; each method returns `None` when the body ends too early.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn byte(&mut self) -> Option<u8> {
        let (first, input) = self.0.split_first()?;
        self.0 = input;
        Some(*first)
    }

    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, input) = self.0.split_at_checked(count)?;
        self.0 = input;
        Some(taken)
    }

    pub fn i16(&mut self) -> Option<i16> {
        Some(i16::from_be_bytes(self.bytes(2)?.try_into().ok()?))
    }

    pub fn i32(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.bytes(4)?.try_into().ok()?))
    }

    /// Bytes up to a zero, which is consumed.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&b| b == 0)?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(text)
    }
}

/// Columns of a DataRow as text; `None` for NULL.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    input: Reader<'a>,
    remaining: i16,
    malformed: bool,
}

/// Columns of the DataRow with this body.
#[inline]
pub fn columns(body: &[u8]) -> Result<Columns<'_>, Malformed> {
    let mut input = Reader(body);
    let remaining = input.i16().filter(|&count| count >= 0).ok_or_else(malformed_row)?;
    Ok(Columns { input, remaining, malformed: false })
}

impl<'a> Columns<'a> {
    fn column(&mut self) -> Option<Option<&'a [u8]>> {
        match self.input.i32()? {
            -1 => Some(None),
            length => Some(Some(self.input.bytes(usize::try_from(length).ok()?)?)),
        }
    }
}

impl<'a> crate::Columns<'a> for Columns<'a> {
    #[inline]
    fn end(mut self) -> Result<(), Malformed> {
        self.by_ref().for_each(drop);
        if self.malformed || !self.input.0.is_empty() { Err(malformed_row()) } else { Ok(()) }
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = Option<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        let column = self.column();
        if column.is_none() {
            (self.remaining, self.malformed) = (0, true);
        }
        column
    }
}

#[cold]
fn malformed_row() -> Malformed {
    Malformed("a row whose columns do not fit into it".into())
}

/// Column names of the RowDescription with this body.
pub fn names(body: &[u8]) -> Result<Names<'_>, Malformed> {
    /// Table and column (4, 2), type and size (4, 2), modifier (4) and format (2).
    const AFTER_NAME: usize = 18;
    let mut input = Reader(body);
    let mut names = Vec::new();
    let malformed = || Malformed("a description of rows that is cut off".into());
    for _ in 0..input.i16().ok_or_else(malformed)? {
        let end = input.0.iter().position(|&byte| byte == 0).ok_or_else(malformed)?;
        names.push(input.bytes(end).ok_or_else(malformed)?);
        input.bytes(1 + AFTER_NAME).ok_or_else(malformed)?;
    }
    Ok(names.into_iter())
}

/// Number at the end of a CommandComplete tag: rows inserted, updated, deleted or selected (`INSERT 0 1`: 1).
#[inline]
pub fn rows_of(tag: &[u8]) -> u64 {
    let mut rows = 0u64;
    let mut factor = 1u64;
    for &byte in tag.strip_suffix(b"\0").unwrap_or(tag).iter().rev() {
        match byte {
            b'0'..=b'9' => {
                rows = rows.wrapping_add(u64::from(byte - b'0').wrapping_mul(factor));
                factor = factor.wrapping_mul(10);
            }
            _ => break,
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Columns as _;

    #[test]
    fn messages_are_split_however_received() {
        let stream = b"Z\0\0\0\x05ID\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0";
        for cut in 0..stream.len() {
            let mut at = 0;
            let mut tags = Vec::new();
            for end in [cut, stream.len()] {
                while let Some(frame) = next(&stream[at..end]).unwrap() {
                    tags.push(frame.tag);
                    at += frame.size();
                }
            }
            assert_eq!(tags, b"ZDC", "cut at {cut}");
            assert_eq!(at, stream.len());
        }
    }

    #[test]
    fn empty_body_is_a_message() {
        assert_eq!(next(b"1\0\0\0\x04rest").unwrap(), Some(Frame { tag: b'1', body: b"" }));
    }

    #[test]
    fn only_complete_rows_are_skipped() {
        let stream = b"D\0\0\0\x06\0\0D\0\0\0\x07\0\0xC\0\0\0\x05\0";
        for cut in 0..stream.len() {
            let expected = if cut < 7 { 0 } else { 7 + 8 * usize::from(cut >= 15) };
            assert_eq!(rows(&stream[..cut]), expected, "cut at {cut}");
        }
        assert_eq!(rows(b"D\0\0\0\x03\0\0\0"), 0, "an impossible length is left for `next` to refuse");
        assert_eq!(rows(b"D\xff\xff\xff\xff\0\0\0"), 0);
    }

    #[test]
    fn impossible_lengths_are_rejected() {
        for head in [
            &b"Z\0\0\0\x03"[..],
            b"Z\0\0\0\0",
            b"HTTP/1.1 400",
            b"D\x7f\xff\xff\xff",
            b"\xff\xff\xff\xff\xff",
        ] {
            let error = next(head).unwrap_err();
            assert!(error.0.contains("not PostgreSQL's protocol"), "{error:?}");
        }
    }

    #[test]
    fn rows_split_into_columns_or_fail() {
        let row = b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0";
        let unsplit: Vec<_> = columns(row).unwrap().collect();
        assert_eq!(unsplit, [Some(&b"ab"[..]), None, Some(b"")]);
        assert!(columns(row).unwrap().end().is_ok(), "looked at or not");
        for cut in 0..row.len() {
            assert!(columns(&row[..cut]).and_then(Columns::end).is_err(), "cut at {cut}");
        }
        assert!(columns(&[&row[..], b"x"].concat()).unwrap().end().is_err());
        for malformed in [&b"\xff\xff"[..], b"\0\x01\xff\xff\xff\xfe", b"\0\x01\x7f\xff\xff\xff"] {
            assert!(columns(malformed).and_then(Columns::end).is_err(), "{malformed:?}");
        }
    }

    #[test]
    fn row_description_has_column_names() {
        let body = [&b"\0\x02one\0"[..], &[7; 18], b"\0", &[7; 18]].concat();
        assert_eq!(names(&body).unwrap().collect::<Vec<_>>(), [&b"one"[..], b""]);
        for cut in 0..body.len() {
            assert!(names(&body[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn row_count_comes_from_the_tag() {
        let cases: [(&[u8], u64); 7] = [
            (b"INSERT 0 1\0", 1),
            (b"UPDATE 17\0", 17),
            (b"DELETE 0\0", 0),
            (b"COPY 1234567\0", 1_234_567),
            (b"BEGIN\0", 0),
            (b"\0", 0),
            (b"", 0),
        ];
        for (tag, rows) in cases {
            assert_eq!(rows_of(tag), rows, "{tag:?}");
        }
        rows_of(&[b'9'; 100]); // Nonsense does not panic.
    }

    /// Valid messages and arbitrary bytes.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let message = |tag: u8, body: &[u8]| {
            [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat() //
        };
        let body = || prop::collection::vec(any::<u8>(), 0..20);
        prop_oneof![
            4 => (prop::sample::select(b"DDDTCZEN1".to_vec()), body()).prop_map(move |(tag,
                body)| message(tag, &body)),
            2 => Just(b"D\0\0\0\x0b\0\x01\0\0\0\x01x".to_vec()),
            1 => (any::<u8>(), body()).prop_map(move |(tag, body)| message(tag, &body)),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ]
    }

    /// Messages of `stream` when it arrives in pieces that end at `cuts`, up to the first malformed one; with
    /// `pass_rows` without the rows.
    fn cut_up(stream: &[u8], cuts: &[usize], pass_rows: bool) -> (Vec<(u8, Vec<u8>)>, Option<Malformed>) {
        let (mut at, mut messages) = (0, Vec::new());
        for &end in cuts.iter().chain([&stream.len()]) {
            loop {
                if pass_rows {
                    at += rows(&stream[at..end]);
                }
                match next(&stream[at..end]) {
                    Ok(None) => break,
                    Err(malformed) => return (messages, Some(malformed)),
                    Ok(Some(frame)) => {
                        at += frame.size();
                        assert!(at <= end);
                        messages.push((frame.tag, frame.body.to_vec()));
                    }
                }
            }
        }
        (messages, None)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn messages_do_not_depend_on_splitting(
            pieces in prop::collection::vec(piece(), 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let stream = pieces.concat();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.sort_unstable();
            let all: Vec<_> = (0..stream.len()).collect();
            let unsplit = cut_up(&stream, &[], false);
            prop_assert_eq!(&cut_up(&stream, &cuts, false), &unsplit);
            prop_assert_eq!(&cut_up(&stream, &all, false), &unsplit, "byte by byte");
            let without_rows = (unsplit.0.into_iter().filter(|(tag, _)| *tag != b'D').collect::<Vec<_>>(),
                unsplit.1);
            prop_assert_eq!(&cut_up(&stream, &cuts, true), &without_rows, "rows that are passed over are \
                rows");
        }

        #[test]
        fn arbitrary_bodies_never_panic(body in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(row) = columns(&body) {
                let unsplit = row.end().is_ok();
                let read: usize = 2 + row.map(|column| 4 + column.map_or(0, <[u8]>::len)).sum::<usize>();
                prop_assert!(read <= body.len() && (!unsplit || read == body.len()));
            }
            let _ = names(&body);
            rows_of(&body);
        }
    }
}
