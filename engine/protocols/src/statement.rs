//! Requests encoded in advance: sending one copies bytes and writes its parameters.

use serde::{Deserialize, Serialize};

use super::{mysql, postgres};
use loadcell_core::target::Dialect;

/// Query protocol of the statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Text with inlined values; parsed and planned each time.
    Simple,
    /// Parsed and planned each time, with separate values. PostgreSQL only.
    Extended,
    /// Parsed once per connection, with separate values.
    Prepared,
}

/// A segment of SQL with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Sql(String),
    Int,
    Text,
    /// A [`Value`], whose type is known only when it is written.
    Value,
}

/// A parameter with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Integer(i64),
    /// A number or keyword that is written without quotes.
    Number(Box<[u8]>),
    Text(Box<[u8]>),
}

impl Part {
    /// Split text at its placeholders: `?` for a number, `$` for text.
    pub fn cut(text: &str) -> Vec<Self> {
        let mut parts = Vec::new();
        for piece in text.split_inclusive(['?', '$']) {
            let (sql, hole) = match piece.as_bytes().last() {
                Some(b'?') => (&piece[..piece.len() - 1], Some(Self::Int)),
                Some(b'$') => (&piece[..piece.len() - 1], Some(Self::Text)),
                _ => (piece, None),
            };
            parts.push(Self::Sql(sql.into()));
            parts.extend(hole);
        }
        parts
    }

    /// Request with inlined values: `start` with the text before the first value, and the text after each
    /// value; the last one with `end`.
    pub(crate) fn inlined(parts: &[Self], start: &[u8], end: &[u8]) -> (Vec<u8>, Vec<Box<[u8]>>) {
        let (mut head, mut after): (_, Vec<Vec<u8>>) = (start.to_vec(), Vec::new());
        for part in parts {
            let last = after.last_mut().unwrap_or(&mut head);
            match part {
                Self::Sql(sql) => last.extend_from_slice(sql.as_bytes()),
                Self::Int | Self::Value => after.push(Vec::new()),
                Self::Text => {
                    last.push(b'\'');
                    after.push(b"'".to_vec());
                }
            }
        }
        after.last_mut().unwrap_or(&mut head).extend_from_slice(end);
        (head, after.into_iter().map(Vec::into_boxed_slice).collect())
    }
}

/// Encoded request with gaps for its parameters. The protocol is dispatched once per parameter, at negligible
/// cost.
#[derive(Clone, Debug)]
pub enum Statement {
    Postgres(postgres::Statement),
    Mysql(mysql::Statement),
}

impl Statement {
    /// `number` is used in prepared mode: prepared statements are numbered from 0 per connection, in the
    /// order of their `parse` messages.
    pub fn new(dialect: Dialect, mode: Mode, number: u32, parts: &[Part]) -> Self {
        match dialect {
            Dialect::Postgres => Self::Postgres(postgres::Statement::new(mode, &format!("s{number}"), parts)),
            Dialect::Mysql => Self::Mysql(mysql::Statement::new(mode, number, parts)),
        }
    }

    /// The message that prepares the statement; empty in other modes.
    pub fn parse(&self) -> &[u8] {
        match self {
            Self::Postgres(statement) => statement.parse(),
            Self::Mysql(statement) => statement.parse(),
        }
    }

    /// Start a request: write every parameter in order, then call `end`.
    #[inline]
    pub fn request<'a>(&'a self, out: &'a mut Vec<u8>) -> Request<'a> {
        match self {
            Self::Postgres(statement) => Request::Postgres(statement.request(out)),
            Self::Mysql(statement) => Request::Mysql(statement.request(out)),
        }
    }

    /// Start a request that is combined with those of the same mode at the end of `out`, the first of which
    /// starts at `first`. The server answers each, and reports ready once, after the last.
    pub fn joined<'a>(&'a self, out: &'a mut Vec<u8>, first: usize) -> Request<'a> {
        match self {
            Self::Postgres(statement) => Request::Postgres(statement.joined(out, first)),
            Self::Mysql(statement) => Request::Mysql(statement.joined(out, first)),
        }
    }
}

/// A request under construction.
#[must_use = "a request without its end is garbage to the server"]
pub enum Request<'a> {
    Postgres(postgres::Request<'a>),
    Mysql(mysql::Request<'a>),
}

impl Request<'_> {
    /// Write the next parameter: a non-negative integer.
    #[inline]
    pub fn int(self, value: u64) -> Self {
        match self {
            Self::Postgres(request) => Self::Postgres(request.int(value)),
            Self::Mysql(request) => Self::Mysql(request.int(value)),
        }
    }

    /// Write the next parameter: an amount in hundredths.
    #[inline]
    pub fn hundredths(self, value: u64) -> Self {
        match self {
            Self::Postgres(request) => Self::Postgres(request.hundredths(value)),
            Self::Mysql(request) => Self::Mysql(request.hundredths(value)),
        }
    }

    /// Write the next parameter: text.
    #[inline]
    pub fn text(self, value: &[u8]) -> Self {
        match self {
            Self::Postgres(request) => Self::Postgres(request.text(value)),
            Self::Mysql(request) => Self::Mysql(request.text(value)),
        }
    }

    /// Write the next parameter, which the statement declares as [`Part::Value`].
    #[inline]
    pub fn value(self, value: &Value) -> Self {
        match self {
            Self::Postgres(request) => Self::Postgres(request.value(value)),
            Self::Mysql(request) => Self::Mysql(request.value(value)),
        }
    }

    /// Finish the request.
    #[inline]
    pub fn end(self) {
        match self {
            Self::Postgres(request) => request.end(),
            Self::Mysql(request) => request.end(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_at_placeholders() {
        let update =
            [Part::Sql("UPDATE t SET c=".into()), Part::Text, Part::Sql(" WHERE id=".into()), Part::Int];
        assert_eq!(Part::cut("UPDATE t SET c=$ WHERE id=?"), update);
        assert_eq!(Part::cut("COMMIT"), [Part::Sql("COMMIT".into())]);
    }
}
