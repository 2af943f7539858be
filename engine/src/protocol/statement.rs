//! A statement's request, built once: sending it is copying bytes and writing its parameters between them.

use serde::{Deserialize, Serialize};

use super::{Dialect, mysql, postgres};

/// How statements travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// As text with its values inside; parsed and planned each time.
    Simple,
    /// Parsed and planned each time, values apart. PostgreSQL only.
    Extended,
    /// Parsed once a connection, values apart.
    #[default]
    Prepared,
}

/// SQL with holes for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Sql(String),
    Int,
    Text,
}

impl Part {
    /// Cuts text at its holes: `?` for a number, `$` for text.
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
}

/// Request bytes with holes. Its protocol is looked at once a parameter, which costs next to nothing.
#[derive(Clone, Debug)]
pub enum Statement {
    Postgres(postgres::Statement),
    Mysql(mysql::Statement),
}

impl Statement {
    /// `number` is used in prepared mode: on a connection, prepared statements are numbered from 0 in the order of their
    /// `parse` messages.
    pub fn new(dialect: Dialect, mode: Mode, number: u32, parts: &[Part]) -> Self {
        match dialect {
            Dialect::Postgres => Self::Postgres(postgres::Statement::new(mode, &format!("s{number}"), parts)),
            Dialect::Mysql => Self::Mysql(mysql::Statement::new(mode, number, parts)),
        }
    }

    /// The message that makes a prepared statement known; empty in other modes.
    pub fn parse(&self) -> &[u8] {
        match self {
            Self::Postgres(statement) => statement.parse(),
            Self::Mysql(statement) => statement.parse(),
        }
    }

    /// Begins a request: every parameter must be given, in order, then `end` called.
    #[inline]
    pub fn request<'a>(&'a self, out: &'a mut Vec<u8>) -> Request<'a> {
        match self {
            Self::Postgres(statement) => Request::Postgres(statement.request(out)),
            Self::Mysql(statement) => Request::Mysql(statement.request(out)),
        }
    }

    /// Begins a request that travels together with those at the end of `out`, the first of which starts at `first` and
    /// which are of the same mode: the server answers each, and is ready again only after the last.
    pub fn joined<'a>(&'a self, out: &'a mut Vec<u8>, first: usize) -> Request<'a> {
        match self {
            Self::Postgres(statement) => Request::Postgres(statement.joined(out, first)),
            Self::Mysql(statement) => Request::Mysql(statement.joined(out, first)),
        }
    }
}

/// A request that is being written.
#[must_use = "a request without its end is garbage to the server"]
pub enum Request<'a> {
    Postgres(postgres::Request<'a>),
    Mysql(mysql::Request<'a>),
}

impl Request<'_> {
    /// The next parameter, a number that is not negative.
    #[inline]
    pub fn int(self, value: u64) -> Self {
        match self {
            Self::Postgres(request) => Self::Postgres(request.int(value)),
            Self::Mysql(request) => Self::Mysql(request.int(value)),
        }
    }

    /// The next parameter, an amount of so many hundredths.
    #[inline]
    pub fn hundredths(self, value: u64) -> Self {
        match self {
            Self::Postgres(request) => Self::Postgres(request.hundredths(value)),
            Self::Mysql(request) => Self::Mysql(request.hundredths(value)),
        }
    }

    /// The next parameter, text.
    #[inline]
    pub fn text(self, value: &[u8]) -> Self {
        match self {
            Self::Postgres(request) => Self::Postgres(request.text(value)),
            Self::Mysql(request) => Self::Mysql(request.text(value)),
        }
    }

    /// All parameters are given.
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
    fn text_is_cut_at_its_holes() {
        let update =
            [Part::Sql("UPDATE t SET c=".into()), Part::Text, Part::Sql(" WHERE id=".into()), Part::Int];
        assert_eq!(Part::cut("UPDATE t SET c=$ WHERE id=?"), update);
        assert_eq!(Part::cut("COMMIT"), [Part::Sql("COMMIT".into())]);
    }
}
