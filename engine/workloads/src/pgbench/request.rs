//! Encoded request of a statement, without the values of its variables.

use super::statement::{Mode, Statement};
use super::variables::Variables;
use loadcell_protocols::postgres::encode;

/// `Describe` of the unnamed portal: requests the column names.
const DESCRIBE: &[u8] = b"D\0\0\0\x06P\0";
/// Length that marks a NULL parameter.
const NULL: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub struct Request {
    mode: Mode,
    /// Bytes before the parameters; the complete request in simple mode without variables.
    head: Box<[u8]>,
    /// Position in `head` of the length that covers the parameters.
    length_at: usize,
    /// Bytes after the parameters.
    tail: Box<[u8]>,
    /// Request that prepares the statement, once per connection; empty unless prepared.
    pub parse: Box<[u8]>,
}

impl Request {
    /// `name` is used in prepared mode, and unique per connection.
    pub fn new(mode: Mode, name: &str, statement: &Statement) -> Self {
        let (mut head, mut tail, mut parse) = (Vec::new(), Vec::new(), Vec::new());
        let mut length_at = 1;
        match mode {
            Mode::Simple => head.extend_from_slice(b"Q\0\0\0\0"),
            Mode::Extended | Mode::Prepared => {
                let name = if mode == Mode::Prepared { name } else { "" };
                let parsed = if mode == Mode::Prepared { &mut parse } else { &mut head };
                encode::message(parsed, b'P', |out| {
                    encode::text(out, name.as_bytes());
                    encode::text(out, statement.text());
                    out.extend_from_slice(&[0; 2]); // types left to the server
                });
                length_at = head.len() + 1;
                head.extend_from_slice(b"B\0\0\0\0");
                encode::text(&mut head, b""); // the unnamed portal
                encode::text(&mut head, name.as_bytes());
                head.extend_from_slice(&[0; 2]); // all parameters as text
                head.extend_from_slice(&(statement.parameter_count() as u16).to_be_bytes());
                if statement.store.is_some() {
                    tail.extend_from_slice(DESCRIBE);
                }
                tail.extend_from_slice(encode::EXECUTE);
            }
        }
        Self { mode, head: head.into(), length_at, tail: tail.into(), parse: parse.into() }
    }

    /// Append the request; in the extended modes without a final `Sync`.
    #[inline]
    pub fn write(&self, statement: &Statement, variables: &Variables, out: &mut Vec<u8>) {
        let start = out.len() + self.length_at;
        out.extend_from_slice(&self.head);
        if self.mode == Mode::Simple {
            statement.write(variables, out);
            out.push(0);
            return encode::put_length(out, start);
        }
        for slot in statement.parameters() {
            let at = out.len();
            out.extend_from_slice(&NULL.to_be_bytes());
            if variables.write(slot, out) {
                let length = (out.len() - at - 4) as u32;
                out[at..at + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
        out.extend_from_slice(&[0; 2]); // all results as text
        encode::put_length(out, start);
        out.extend_from_slice(&self.tail);
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::Span;
    use super::super::value::Value;
    use super::super::variables::Names;
    use super::*;

    fn written(mode: Mode, text: &str) -> (Vec<u8>, Request) {
        let mut names = Names::default();
        let a = names.intern(b"a");
        let statement = Statement::new(text.into(), Span::default(), mode, &mut names).unwrap();
        let mut variables = Variables::new(&names);
        variables.set(a, Value::Integer(-5));
        let request = Request::new(mode, "P0_1", &statement);
        let mut out = b"before".to_vec();
        request.write(&statement, &variables, &mut out);
        (out.split_off(6), request)
    }

    #[test]
    fn simple_requests_are_text() {
        let mut expected = Vec::new();
        encode::query(&mut expected, "SELECT -5, :b");
        assert_eq!(written(Mode::Simple, "SELECT :a, :b").0, expected);
    }

    #[test]
    fn bound_requests_use_null_for_unset_variables() {
        let parameters = b"\0\0\0\x02\0\0\0\x02-5\xff\xff\xff\xff\0\0";
        for (mode, name) in [(Mode::Extended, ""), (Mode::Prepared, "P0_1")] {
            let (out, request) = written(mode, "SELECT :a, :b");
            let mut parse = Vec::new();
            encode::parse(&mut parse, name, "SELECT $1, $2");
            let mut bind = Vec::new();
            encode::message(&mut bind, b'B', |out| {
                encode::text(out, b"");
                encode::text(out, name.as_bytes());
                out.extend_from_slice(parameters);
            });
            bind.extend_from_slice(encode::EXECUTE);
            if mode == Mode::Extended {
                assert!(request.parse.is_empty());
                assert_eq!(out, [parse, bind].concat());
            } else {
                assert_eq!((&*request.parse, out), (&parse[..], bind));
            }
        }
    }
}
