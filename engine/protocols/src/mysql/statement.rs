//! Requests encoded in advance: sending one copies bytes and writes its parameters.

use super::encode::{self, EXECUTE, HEAD, PREPARE, QUERY};
use crate::digits::{decimal, hundredths, signed_decimal};
use crate::{Mode, Part, Value};

/// Parameter types as transmitted.
const INTEGER: [u8; 2] = [0x08, 0]; // eight bytes
const DECIMAL: [u8; 2] = [0xf6, 0]; // digits
const TEXT: [u8; 2] = [0xfd, 0];

/// Encoded request with gaps for its parameters.
#[derive(Clone, Debug)]
pub struct Statement {
    /// `COM_STMT_PREPARE` packet, sent once per connection; empty unless prepared.
    parse: Box<[u8]>,
    /// Bytes before the first parameter.
    head: Box<[u8]>,
    /// Position of the parameter types in `head`; `None` in simple mode.
    types_at: Option<usize>,
    /// Bytes after each parameter: SQL in simple mode, otherwise empty.
    after: Box<[Box<[u8]>]>,
}

impl Statement {
    /// `number`: see `protocol::Statement::new`. Any mode but `Simple` is `Prepared`.
    pub fn new(mode: Mode, number: u32, parts: &[Part]) -> Self {
        if mode == Mode::Simple { Self::simple(parts) } else { Self::prepared(number, parts) }
    }

    fn simple(parts: &[Part]) -> Self {
        let (head, after) = Part::inlined(parts, &[0, 0, 0, 0, QUERY], &[]);
        Self { parse: Box::default(), head: head.into(), types_at: None, after: after.into() }
    }

    fn prepared(number: u32, parts: &[Part]) -> Self {
        let (mut sql, mut types) = (String::new(), Vec::new());
        for part in parts {
            match part {
                Part::Sql(text) => sql.push_str(text),
                Part::Int | Part::Text | Part::Value => {
                    sql.push('?');
                    types.extend_from_slice(if *part == Part::Text { &TEXT } else { &INTEGER });
                }
            }
        }
        let mut parse = Vec::new();
        encode::command(&mut parse, PREPARE, sql.as_bytes());
        let mut head = vec![0, 0, 0, 0, EXECUTE];
        head.extend_from_slice(&number.to_le_bytes()); // statement id, inserted by the connection
        head.push(0); // no cursor
        head.extend_from_slice(&1u32.to_le_bytes()); // iteration count
        let count = types.len() / 2;
        if count > 0 {
            head.resize(head.len() + count.div_ceil(8), 0); // no NULLs
            head.push(1); // types follow
        }
        let types_at = Some(head.len());
        head.extend_from_slice(&types);
        let after = vec![Box::default(); count].into_boxed_slice();
        Self { parse: parse.into(), head: head.into(), types_at, after }
    }

    /// The packet that prepares the statement; empty in simple mode.
    pub fn parse(&self) -> &[u8] {
        &self.parse
    }

    /// Start a request: write every parameter in order, then call `end`.
    #[inline]
    pub fn request<'a>(&'a self, out: &'a mut Vec<u8>) -> Request<'a> {
        let start = out.len();
        out.extend_from_slice(&self.head);
        Request { statement: self, out, start, at: start, written: 0 }
    }

    /// Start a request that is combined with those at the end of `out`, the first of which starts at `first`.
    /// Simple requests become one text; prepared ones are pipelined, and those after a failed one are
    /// executed as well.
    pub fn joined<'a>(&'a self, out: &'a mut Vec<u8>, first: usize) -> Request<'a> {
        if self.types_at.is_some() {
            return self.request(out);
        }
        out.push(b';');
        let at = out.len() - HEAD - 1;
        out.extend_from_slice(&self.head[HEAD + 1..]);
        Request { statement: self, out, start: first, at, written: 0 }
    }
}

/// A request under construction.
#[must_use = "a request without its end is garbage to the server"]
pub struct Request<'a> {
    statement: &'a Statement,
    out: &'a mut Vec<u8>,
    /// Start of its packet, and of this header.
    start: usize,
    at: usize,
    written: usize,
}

impl Request<'_> {
    /// Write the next parameter: a non-negative integer.
    #[inline]
    pub fn int(self, value: u64) -> Self {
        if self.statement.types_at.is_some() {
            self.out.extend_from_slice(&value.to_le_bytes());
        } else {
            decimal(self.out, value);
        }
        self.written()
    }

    /// Write the next parameter: an amount in hundredths.
    #[inline]
    pub fn hundredths(mut self, value: u64) -> Self {
        if self.statement.types_at.is_some() {
            self.typed(DECIMAL);
            let length_at = self.out.len();
            self.out.push(0);
            hundredths(self.out, value);
            self.out[length_at] = (self.out.len() - length_at - 1) as u8; // at most 21 digits
        } else {
            hundredths(self.out, value);
        }
        self.written()
    }

    /// Write the next parameter: text.
    #[inline]
    pub fn text(self, value: &[u8]) -> Self {
        if self.statement.types_at.is_some() {
            encode::text(self.out, value);
        } else {
            quoted(self.out, value);
        }
        self.written()
    }

    /// Write the next parameter, declared as [`Part::Value`].
    #[inline]
    pub fn value(mut self, value: &Value) -> Self {
        let Some(types_at) = self.statement.types_at else {
            match value {
                Value::Null => self.out.extend_from_slice(b"NULL"),
                Value::Integer(value) => signed_decimal(self.out, *value),
                Value::Number(digits) => {
                    self.out.push(b' '); // `--` begins a comment
                    self.out.extend_from_slice(digits);
                }
                Value::Text(text) => {
                    self.out.push(b'\'');
                    quoted(self.out, text);
                    self.out.push(b'\'');
                }
            }
            return self.written();
        };
        match value {
            Value::Integer(value) => self.out.extend_from_slice(&value.to_le_bytes()),
            Value::Number(digits) => {
                self.typed(DECIMAL);
                encode::text(self.out, digits);
            }
            Value::Text(text) => {
                self.typed(TEXT);
                encode::text(self.out, text);
            }
            Value::Null => {
                let bitmap = self.at + types_at - 1 - self.statement.after.len().div_ceil(8);
                self.out[bitmap + self.written / 8] |= 1 << (self.written % 8);
            }
        }
        self.written()
    }

    /// Set the type of the next parameter.
    #[inline]
    fn typed(&mut self, kind: [u8; 2]) {
        if let Some(types_at) = self.statement.types_at {
            let of_type = self.at + types_at + 2 * self.written;
            self.out[of_type..of_type + 2].copy_from_slice(&kind);
        }
    }

    #[inline]
    fn written(mut self) -> Self {
        if self.statement.types_at.is_none() {
            self.out.extend_from_slice(&self.statement.after[self.written]);
        }
        self.written += 1;
        self
    }

    /// Finish the request.
    #[inline]
    pub fn end(self) {
        debug_assert_eq!(self.written, self.statement.after.len(), "parameters given");
        encode::put_length(self.out, self.start);
    }
}

/// Quoted string: quotes and backslashes are doubled, as the server treats the latter as escapes.
fn quoted(out: &mut Vec<u8>, value: &[u8]) {
    for piece in value.split_inclusive(|&byte| byte == b'\'' || byte == b'\\') {
        out.extend_from_slice(piece);
        if let Some(&last @ (b'\'' | b'\\')) = piece.last() {
            out.push(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPDATE: &str = "UPDATE t SET c=$ WHERE id=?";

    fn statement(mode: Mode, text: &str) -> Statement {
        Statement::new(mode, 7, &Part::cut(text))
    }

    fn query(sql: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode::command(&mut out, QUERY, sql.as_bytes());
        out
    }

    #[test]
    fn simple_mode_inlines_values() {
        let update = statement(Mode::Simple, UPDATE);
        assert!(update.parse().is_empty());
        let mut out = b"before".to_vec();
        update.request(&mut out).text(b"it's \\x").int(4711).end();
        assert_eq!(&out[6..], query("UPDATE t SET c='it''s \\\\x' WHERE id=4711"));
    }

    #[test]
    fn joined_simple_statements_are_one_text() {
        let update = statement(Mode::Simple, UPDATE);
        let mut out = b"before".to_vec();
        update.request(&mut out).text(b"a").int(1).end();
        update.joined(&mut out, 6).text(b"b").int(2).end();
        assert_eq!(&out[6..], query("UPDATE t SET c='a' WHERE id=1;UPDATE t SET c='b' WHERE id=2"));
    }

    #[test]
    fn prepared_values_are_binary() {
        let update = statement(Mode::Prepared, UPDATE);
        assert_eq!(update.parse(), b"\x1c\0\0\0\x16UPDATE t SET c=? WHERE id=?");
        let mut out = b"before".to_vec();
        update.request(&mut out).text(b"1-2").int(258).end();
        let expected = b"\x1c\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x08\0\x031-2\x02\x01\0\0\0\0\0\0";
        assert_eq!(&out[6..], expected);
        let separate = out.split_off(6);
        out.clear();
        update.request(&mut out).text(b"1-2").int(258).end();
        update.joined(&mut out, 0).text(b"1-2").int(258).end();
        assert_eq!(out, [&separate[..], &separate].concat(), "joined, they follow each other");
    }

    #[test]
    fn amounts_are_decimals() {
        let mut out = Vec::new();
        statement(Mode::Prepared, "SELECT ?, ?").request(&mut out).int(3).hundredths(123_456).end();
        let values = b"\0\x01\x08\0\xf6\0\x03\0\0\0\0\0\0\0\x071234.56";
        assert_eq!(&out[HEAD + 10..], values);
        out.clear();
        statement(Mode::Simple, "SELECT ?").request(&mut out).hundredths(5).end();
        assert_eq!(out, query("SELECT 0.05"));
    }

    #[test]
    fn values_differ_in_type() {
        let values = [
            Value::Integer(-5),
            Value::Number((*b"-1.5").into()),
            Value::Text((*b"it's").into()),
            Value::Null,
        ];
        let parts: Vec<_> = values.iter().flat_map(|_| [Part::Sql(" - ".into()), Part::Value]).collect();
        let request = |mode| {
            let statement = Statement::new(mode, 7, &parts);
            let mut out = Vec::new();
            values.iter().fold(statement.request(&mut out), |request, value| request.value(value)).end();
            out
        };
        assert_eq!(request(Mode::Simple), query(" -  -5 -  -1.5 - 'it''s' - NULL"));
        let expected = b"\x08\x01\x08\0\xf6\0\xfd\0\x08\0\xfb\xff\xff\xff\xff\xff\xff\xff\x04-1.5\x04it's";
        assert_eq!(&request(Mode::Prepared)[HEAD + 10..], expected);
    }

    #[test]
    fn no_parameters_means_no_types() {
        let mut out = Vec::new();
        statement(Mode::Prepared, "COMMIT").request(&mut out).end();
        assert_eq!(out, b"\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0");
    }
}
