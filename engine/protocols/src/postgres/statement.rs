//! Requests encoded in advance: sending one copies bytes and writes its parameters.

use super::encode;
use crate::digits::{decimal, hundredths, signed_decimal};
use crate::{Mode, Part, Value};

/// Encoded request with gaps for its parameters.
#[derive(Clone, Debug)]
pub struct Statement {
    mode: Mode,
    /// `Parse` message, sent once per connection; empty unless prepared.
    parse: Box<[u8]>,
    /// Bytes before the first parameter.
    head: Box<[u8]>,
    /// Position in `head` of the length that covers the parameters.
    length_at: usize,
    /// Bytes after each parameter: SQL in simple mode, otherwise empty.
    after: Box<[Box<[u8]>]>,
}

impl Statement {
    /// `name` is used in prepared mode, and unique per connection.
    pub fn new(mode: Mode, name: &str, parts: &[Part]) -> Self {
        match mode {
            Mode::Simple => Self::simple(parts),
            Mode::Extended => Self::bound(mode, "", parts),
            Mode::Prepared => Self::bound(mode, name, parts),
        }
    }

    fn simple(parts: &[Part]) -> Self {
        let (head, after) = Part::inlined(parts, b"Q\0\0\0\0", &[0]);
        let (head, after) = (head.into(), after.into());
        Self { mode: Mode::Simple, parse: Box::default(), head, length_at: 1, after }
    }

    fn bound(mode: Mode, name: &str, parts: &[Part]) -> Self {
        let mut sql = String::new();
        let mut count: u16 = 0;
        for part in parts {
            match part {
                Part::Sql(text) => sql.push_str(text),
                Part::Int | Part::Text | Part::Value => {
                    count += 1;
                    sql.push_str(&format!("${count}"));
                }
            }
        }
        let mut parse = Vec::new();
        encode::parse(&mut parse, name, &sql);
        let mut head = if mode == Mode::Extended { std::mem::take(&mut parse) } else { Vec::new() };
        let length_at = head.len() + 1;
        head.extend_from_slice(b"B\0\0\0\0"); // Bind, its length to be filled in
        encode::text(&mut head, b""); // the unnamed portal
        encode::text(&mut head, name.as_bytes());
        head.extend_from_slice(&0u16.to_be_bytes()); // all parameters as text
        head.extend_from_slice(&count.to_be_bytes());
        let after = vec![Box::default(); usize::from(count)].into_boxed_slice();
        Self { mode, parse: parse.into(), head: head.into(), length_at, after }
    }

    /// The message that prepares the statement; empty in other modes.
    pub fn parse(&self) -> &[u8] {
        &self.parse
    }

    /// Start a request: write every parameter in order, then call `end`.
    #[inline]
    pub fn request<'a>(&'a self, out: &'a mut Vec<u8>) -> Request<'a> {
        let start = out.len() + self.length_at;
        out.extend_from_slice(&self.head);
        Request { statement: self, out, start, param_count: 0 }
    }

    /// Start a request that is combined with those of the same mode at the end of `out`, the first of which
    /// starts at `first`. The server answers each, and reports ready once, after the last.
    pub fn joined<'a>(&'a self, out: &'a mut Vec<u8>, first: usize) -> Request<'a> {
        if self.mode == Mode::Simple {
            out.pop(); // terminating zero of the text
            out.push(b';');
            out.extend_from_slice(&self.head[SIMPLE_HEAD..]);
            return Request { statement: self, out, start: first + 1, param_count: 0 };
        }
        out.truncate(out.len() - encode::SYNC.len());
        self.request(out)
    }
}

/// Tag and length before the text of a simple query.
const SIMPLE_HEAD: usize = 5;

/// A request under construction.
#[must_use = "a request without its end is garbage to the server"]
pub struct Request<'a> {
    statement: &'a Statement,
    out: &'a mut Vec<u8>,
    start: usize,
    param_count: usize,
}

impl Request<'_> {
    /// Write the next parameter: a non-negative integer.
    #[inline]
    pub fn int(self, value: u64) -> Self {
        self.written(|out| decimal(out, value))
    }

    /// Write the next parameter: an amount in hundredths.
    #[inline]
    pub fn hundredths(self, value: u64) -> Self {
        self.written(|out| hundredths(out, value))
    }

    #[inline]
    fn written(self, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        if self.statement.mode == Mode::Simple {
            write(self.out);
        } else {
            let at = self.out.len();
            self.out.extend_from_slice(&[0; 4]);
            write(self.out);
            let length = (self.out.len() - at - 4) as u32;
            self.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
        self.next_parameter()
    }

    /// Write the next parameter: text.
    #[inline]
    pub fn text(self, value: &[u8]) -> Self {
        if self.statement.mode == Mode::Simple {
            self.quoted(value)
        } else {
            self.out.extend_from_slice(&(value.len() as u32).to_be_bytes());
            self.out.extend_from_slice(value);
            self.next_parameter()
        }
    }

    fn quoted(self, value: &[u8]) -> Self {
        for (index, piece) in value.split(|&byte| byte == b'\'').enumerate() {
            if index > 0 {
                self.out.extend_from_slice(b"''");
            }
            self.out.extend_from_slice(piece);
        }
        self.next_parameter()
    }

    /// Write the next parameter, declared as [`Part::Value`].
    #[inline]
    pub fn value(self, value: &Value) -> Self {
        let simple = self.statement.mode == Mode::Simple;
        match value {
            // Bound, a blank before the sign would be part of the value.
            Value::Integer(value @ ..0) if !simple => self.written(|out| {
                out.push(b'-');
                decimal(out, value.unsigned_abs());
            }),
            Value::Integer(value) => self.written(|out| signed_decimal(out, *value)),
            Value::Number(digits) => self.written(|out| out.extend_from_slice(digits)),
            Value::Text(text) if simple => {
                self.out.push(b'\'');
                for piece in text.split_inclusive(|&byte| byte == b'\'') {
                    self.out.extend_from_slice(piece);
                    if piece.last() == Some(&b'\'') {
                        self.out.push(b'\'');
                    }
                }
                self.out.push(b'\'');
                self.next_parameter()
            }
            Value::Text(text) => self.text(text),
            Value::Null => {
                self.out.extend_from_slice(if simple { b"NULL" } else { &[0xff; 4] });
                self.next_parameter()
            }
        }
    }

    #[inline]
    fn next_parameter(mut self) -> Self {
        if self.statement.mode == Mode::Simple {
            self.out.extend_from_slice(&self.statement.after[self.param_count]);
        }
        self.param_count += 1;
        self
    }

    /// Finish the request.
    #[inline]
    pub fn end(self) {
        debug_assert_eq!(self.param_count, self.statement.after.len(), "parameters given");
        if self.statement.mode == Mode::Simple {
            encode::put_length(self.out, self.start);
        } else {
            self.out.extend_from_slice(&[0; 2]); // all results as text
            encode::put_length(self.out, self.start);
            self.out.extend_from_slice(encode::EXECUTE);
            self.out.extend_from_slice(encode::SYNC);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::frontend;

    fn update() -> [Part; 4] {
        [Part::Sql("UPDATE t SET c=".into()), Part::Text, Part::Sql(" WHERE id=".into()), Part::Int]
    }

    fn encoded(statement: &Statement) -> Vec<u8> {
        let mut out = b"before".to_vec();
        statement.request(&mut out).text(b"1-2").int(4711).end();
        out.split_off(6)
    }

    /// Bind, Execute and Sync as sent by an independent implementation.
    fn bind(name: &str, values: &[&[u8]]) -> Vec<u8> {
        let mut out = BytesMut::new();
        frontend::bind(
            "",
            name,
            [],
            values,
            |value, out| {
                out.extend_from_slice(value);
                Ok(IsNull::No)
            },
            [],
            &mut out,
        )
        .unwrap_or_else(|_| panic!("cannot bind"));
        frontend::execute("", 0, &mut out).unwrap();
        frontend::sync(&mut out);
        out.to_vec()
    }

    #[test]
    fn simple_mode_inlines_values() {
        let statement = Statement::new(Mode::Simple, "s", &update());
        assert!(statement.parse().is_empty());
        let mut expected = Vec::new();
        encode::query(&mut expected, "UPDATE t SET c='1-2' WHERE id=4711");
        assert_eq!(encoded(&statement), expected);
    }

    #[test]
    fn values_differ_in_type() {
        let values = [
            Value::Integer(-5),
            Value::Number((*b"1.5").into()),
            Value::Text((*b"it's").into()),
            Value::Text((*b"").into()),
            Value::Null,
        ];
        let mut parts = vec![Part::Sql("SELECT 1 -".into())];
        values.iter().for_each(|_| parts.extend([Part::Value, Part::Sql(",".into())]));
        let request = |mode| {
            let statement = Statement::new(mode, "s", &parts);
            let mut out = Vec::new();
            values.iter().fold(statement.request(&mut out), |request, value| request.value(value)).end();
            out
        };
        let mut expected = Vec::new();
        encode::query(&mut expected, "SELECT 1 - -5,1.5,'it''s','',NULL,");
        assert_eq!(request(Mode::Simple), expected);
        let bound = b"\0\0\0\x02-5\0\0\0\x031.5\0\0\0\x04it's\0\0\0\0\xff\xff\xff\xff";
        let prepared = request(Mode::Prepared);
        assert!(prepared.windows(bound.len()).any(|window| window == bound), "{prepared:?}");
    }

    #[test]
    fn simple_mode_doubles_quotes() {
        let statement = Statement::new(Mode::Simple, "s", &[Part::Sql("SELECT ".into()), Part::Text]);
        let mut out = Vec::new();
        statement.request(&mut out).text(b"it's 'x'").end();
        let mut expected = Vec::new();
        encode::query(&mut expected, "SELECT 'it''s ''x'''");
        assert_eq!(out, expected);
    }

    #[test]
    fn prepared_is_parsed_once_and_bound_each_time() {
        let statement = Statement::new(Mode::Prepared, "s1", &update());
        let mut parse = Vec::new();
        encode::parse(&mut parse, "s1", "UPDATE t SET c=$1 WHERE id=$2");
        assert_eq!(statement.parse(), parse);
        assert_eq!(encoded(&statement), bind("s1", &[b"1-2", b"4711"]));
    }

    #[test]
    fn extended_is_parsed_and_bound_each_time() {
        let statement = Statement::new(Mode::Extended, "s1", &update());
        assert!(statement.parse().is_empty());
        let mut expected = Vec::new();
        encode::parse(&mut expected, "", "UPDATE t SET c=$1 WHERE id=$2");
        expected.extend(bind("", &[b"1-2", b"4711"]));
        assert_eq!(encoded(&statement), expected);
    }

    #[test]
    fn amounts_are_numbers() {
        let statement = Statement::new(Mode::Simple, "s", &Part::cut("SELECT ?, ?, ?"));
        let mut out = Vec::new();
        statement.request(&mut out).hundredths(5).hundredths(123_456).hundredths(300).end();
        let mut expected = Vec::new();
        encode::query(&mut expected, "SELECT 0.05, 1234.56, 3.00");
        assert_eq!(out, expected);
    }

    #[test]
    fn joined_simple_statements_are_one_text() {
        let statement = Statement::new(Mode::Simple, "s", &update());
        let mut out = b"before".to_vec();
        statement.request(&mut out).text(b"a").int(1).end();
        statement.joined(&mut out, 6).text(b"b").int(2).end();
        statement.joined(&mut out, 6).text(b"c").int(3).end();
        let mut expected = Vec::new();
        let all = "UPDATE t SET c='a' WHERE id=1;UPDATE t SET c='b' WHERE id=2;UPDATE t SET c='c' WHERE id=3";
        encode::query(&mut expected, all);
        assert_eq!(out.split_off(6), expected);
    }

    #[test]
    fn joined_bound_statements_share_one_sync() {
        for mode in [Mode::Extended, Mode::Prepared] {
            let statement = Statement::new(mode, "s1", &update());
            let mut out = Vec::new();
            statement.request(&mut out).text(b"1-2").int(4711).end();
            statement.joined(&mut out, 0).text(b"1-2").int(4711).end();
            let separate = encoded(&statement);
            let (messages, sync) = separate.split_at(separate.len() - encode::SYNC.len());
            assert_eq!(out, [messages, messages, sync].concat());
        }
    }

    #[test]
    fn statement_without_parameters_is_complete() {
        for mode in [Mode::Simple, Mode::Extended, Mode::Prepared] {
            let statement = Statement::new(mode, "b", &[Part::Sql("SELECT 1".into())]);
            let mut out = Vec::new();
            statement.request(&mut out).end();
            let length = u32::from_be_bytes(out[statement.length_at..][..4].try_into().unwrap()) as usize;
            assert!(statement.length_at + length <= out.len());
        }
    }
}
