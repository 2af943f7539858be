//! What the server's packets mean, one after the other.
//!
//! | phase | what the next packet is |
//! | --- | --- |
//! | `Head` | the first of an answer: OK, an error, how many columns rows have, or a request for rows to load |
//! | `Columns` | a column's definition |
//! | `ColumnsEnd` | the EOF behind them, of servers that still send one |
//! | `Rows` | a row, or the end of rows |
//! | `Prepared` | a definition that belongs to a statement just prepared |
//!
//! Commands may be sent before those ahead of them are answered: the server takes them one by one.

use std::collections::VecDeque;
use std::slice;
use std::sync::Arc;

use super::binary::{self, Type};
use super::encode::{self, EXECUTE, HEAD, PREPARE, QUERY};
use super::error::ServerError;
use super::handshake::Handshake;
use super::packet::{self, FULL, Reader};
use crate::protocol::{
    Cancel, Columns, Config, Dialect, Event, Malformed, Next, Progress, Said, SqlProtocol, StatementKind,
};
use crate::session::{Failure, Reconnect};

/// Status flags: a transaction is open; another answer follows.
const IN_TRANSACTION: u16 = 1;
const MORE_RESULTS: u16 = 1 << 3;
/// No table has more columns.
const MOST_COLUMNS: u64 = 4096;
/// An EOF is shorter than this; a row that begins as one is longer.
const EOF_LENGTH: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Query,
    Rollback,
    Execute,
    Prepare,
}

/// A command that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Command {
    kind: Kind,
    heard: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Head,
    Columns(u64),
    ColumnsEnd,
    Rows,
    Prepared(u32),
}

/// One connection to a MySQL or MariaDB.
pub struct Mysql {
    handshake: Handshake,
    commands: VecDeque<Command>,
    phase: Phase,
    /// Whether a transaction was open when the server last told.
    open: bool,
    /// The last answer is at its end, which was not told of yet.
    ready: bool,
    /// The server's numbers of the statements, in the order they were prepared.
    statements: Vec<u32>,
    /// Rows of the answer in progress.
    rows: u64,
    /// Columns of the rows in progress, where they are heard.
    names: Vec<Vec<u8>>,
    types: Vec<Type>,
    /// A row in binary, as text.
    text: Vec<u8>,
    ends: Vec<Option<usize>>,
    /// A body that came in several packets.
    joined: Vec<u8>,
    /// The number of the next packet of rows that the server asked for.
    number: u8,
}

/// A row's columns.
pub enum Row<'a> {
    Text { rest: Reader<'a>, left: usize, broken: bool },
    Decoded { text: &'a [u8], ends: slice::Iter<'a, Option<usize>>, start: usize },
}

impl<'a> Iterator for Row<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Text { left: 0, .. } => None,
            Self::Text { rest, left, broken } => {
                *left -= 1;
                if let Some((0xfb, after)) = rest.0.split_first() {
                    rest.0 = after;
                    return Some(None);
                }
                let column = rest.text();
                if column.is_none() {
                    (*left, *broken) = (0, true);
                }
                column.map(Some)
            }
            Self::Decoded { text, ends, start } => {
                ends.next().map(|end| end.map(|end| &text[std::mem::replace(start, end)..end]))
            }
        }
    }
}

impl<'a> Columns<'a> for Row<'a> {
    fn end(mut self) -> Result<(), Malformed> {
        self.by_ref().for_each(drop);
        match self {
            Self::Text { rest, broken, .. } if broken || !rest.0.is_empty() => Err(broken_row()),
            _ => Ok(()),
        }
    }
}

#[cold]
fn broken_row() -> Malformed {
    Malformed("a row whose columns do not fit into it".into())
}

#[cold]
fn unexpected(body: &[u8], phase: Phase) -> Failure {
    let first = body.first();
    Malformed(format!("a packet of {} bytes that begins with {first:?} in phase {phase:?}", body.len()))
        .into()
}

impl Mysql {
    /// Notes the commands in `request`, and puts the server's numbers of prepared statements into them.
    #[inline]
    fn note(&mut self, request: &mut [u8], heard: bool) {
        let mut rest = request;
        while let Some((&mut [a, b, c, _], behind)) = rest.split_first_chunk_mut::<HEAD>() {
            let length = (u32::from_le_bytes([a, b, c, 0]) as usize).min(behind.len());
            let (body, behind) = behind.split_at_mut(length);
            let kind = match body {
                [EXECUTE, a, b, c, d, ..] => {
                    let number = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                    let known = self.statements.get(number).copied().unwrap_or_default();
                    [*a, *b, *c, *d] = known.to_le_bytes();
                    Kind::Execute
                }
                [PREPARE, ..] => Kind::Prepare,
                [QUERY, text @ ..] if text.starts_with(b"ROLLBACK") => Kind::Rollback,
                _ => Kind::Query,
            };
            self.commands.push_back(Command { kind, heard });
            rest = behind;
        }
    }

    /// An answer is at its end, and with it its command unless more follow.
    fn answered(&mut self, status: u16) {
        self.open = status & IN_TRANSACTION != 0;
        self.phase = Phase::Head;
        self.rows = 0;
        if status & MORE_RESULTS == 0 {
            self.done();
        }
    }

    /// The command is at its end.
    fn done(&mut self) {
        self.phase = Phase::Head;
        self.rows = 0;
        self.commands.pop_front();
        self.ready = self.commands.is_empty();
    }

    /// The first packet of an answer.
    #[inline]
    fn head(&mut self, command: Command, body: &[u8], number: u8) -> Result<Option<Event>, Failure> {
        match body {
            [0, ..] if command.kind == Kind::Prepare => self.prepared(body),
            [0, rest @ ..] => {
                let mut reader = Reader(rest);
                let rows = reader.integer();
                reader.integer(); // the last id it made
                let (Some(rows), Some(status)) = (rows, reader.u16()) else {
                    return Err(unexpected(body, self.phase));
                };
                let changed = packet::changed(reader).unwrap_or(rows);
                self.answered(status);
                let what = if command.kind == Kind::Rollback {
                    StatementKind::Rollback
                } else {
                    StatementKind::Change
                };
                Ok(Some(Event::Completed { rows, changed, what }))
            }
            [0xfb, ..] if command.kind == Kind::Query => {
                self.number = number.wrapping_add(1);
                Ok(Some(Event::Send))
            }
            [0xfe | 0xff | 0xfb, ..] | [] => Err(unexpected(body, self.phase)),
            _ => match Reader(body).integer() {
                Some(columns @ 1..=MOST_COLUMNS) if command.kind != Kind::Prepare => {
                    self.names.clear();
                    self.types.clear();
                    self.phase = Phase::Columns(columns);
                    Ok(None)
                }
                _ => Err(unexpected(body, self.phase)),
            },
        }
    }

    /// A statement is prepared; the definitions of its parameters and columns follow, and are of no interest.
    fn prepared(&mut self, body: &[u8]) -> Result<Option<Event>, Failure> {
        let mut reader = Reader(&body[1..]);
        let (Some(number), Some(columns), Some(parameters)) = (reader.u32(), reader.u16(), reader.u16())
        else {
            return Err(unexpected(body, self.phase));
        };
        self.statements.push(number);
        let end = u32::from(!self.handshake.deprecates_eof());
        let packets = |count: u16| if count > 0 { u32::from(count) + end } else { 0 };
        match packets(columns) + packets(parameters) {
            0 => self.done(),
            left => self.phase = Phase::Prepared(left),
        }
        Ok(None)
    }

    /// The definition of a column, kept where rows are heard.
    fn define(&mut self, body: &[u8], heard: bool, left: u64) -> Result<(), Failure> {
        if heard {
            let (name, of_type) = binary::definition(body)
                .ok_or_else(|| Malformed("a column whose definition is cut off".into()))?;
            self.names.push(name.to_vec());
            self.types.push(of_type);
        }
        self.phase = match left {
            1 if self.handshake.deprecates_eof() => Phase::Rows,
            1 => Phase::ColumnsEnd,
            _ => Phase::Columns(left - 1),
        };
        Ok(())
    }

    /// The end of rows: an EOF, or an OK in its place.
    fn rows_done(&mut self, body: &[u8]) -> Result<Option<Event>, Failure> {
        let mut reader = Reader(&body[1..]);
        let status = if self.handshake.deprecates_eof() {
            reader.integer();
            reader.integer();
            reader.u16()
        } else {
            reader.u16(); // warnings
            reader.u16()
        };
        let rows = self.rows;
        self.answered(status.ok_or_else(|| unexpected(body, Phase::Rows))?);
        Ok(Some(Event::Completed { rows, changed: 0, what: StatementKind::Other }))
    }

    /// Whether this is a row, and neither the end of rows nor an error.
    fn is_row(&self, body: &[u8]) -> Result<bool, Malformed> {
        let longest_end = if self.handshake.deprecates_eof() { FULL } else { EOF_LENGTH };
        match body.first() {
            Some(0xfe) => Ok(body.len() >= longest_end),
            Some(first) => Ok(*first != 0xff),
            None => Err(broken_row()),
        }
    }

    /// The columns of a row: of `body`, or of the one that was joined.
    fn row<'a>(&'a mut self, body: Option<&'a [u8]>) -> Result<Row<'a>, Failure> {
        let binary = self.commands.front().is_some_and(|command| command.kind == Kind::Execute);
        let Self { types, text, ends, joined, .. } = self;
        let body = body.unwrap_or(joined);
        if !binary {
            return Ok(Row::Text { rest: Reader(body), left: types.len(), broken: false });
        }
        text.clear();
        ends.clear();
        binary::decode(body, types, text, ends).ok_or_else(broken_row)?;
        Ok(Row::Decoded { text, ends: ends.iter(), start: 0 })
    }

    #[cold]
    fn refused(&mut self, body: &[u8]) -> Event {
        let error = ServerError::parse(body);
        let fatal = error.is_fatal() || self.commands.is_empty();
        self.done();
        Event::Refused { why: error.into(), fatal }
    }

    /// Says what a body other than a row means.
    #[inline]
    fn body(&mut self, body: &[u8], number: u8) -> Result<Option<Event>, Failure> {
        if body.first() == Some(&0xff) {
            return Ok(Some(self.refused(body)));
        }
        let Some(&command) = self.commands.front() else { return Err(unexpected(body, self.phase)) };
        match self.phase {
            Phase::Head => self.head(command, body, number),
            Phase::Columns(left) => {
                self.define(body, command.heard, left)?;
                Ok(None)
            }
            Phase::ColumnsEnd => {
                self.phase = Phase::Rows;
                Ok(None)
            }
            Phase::Rows => self.rows_done(body),
            Phase::Prepared(1) => {
                self.done();
                Ok(None)
            }
            Phase::Prepared(left) => {
                self.phase = Phase::Prepared(left - 1);
                Ok(None)
            }
        }
    }
}

impl SqlProtocol for Mysql {
    type Columns<'a> = Row<'a>;

    const DIALECT: Dialect = Dialect::Mysql;
    const GOODBYE: &'static [u8] = encode::QUIT;

    fn new(config: Arc<Config>) -> Self {
        Self {
            handshake: Handshake::new(config),
            commands: VecDeque::new(),
            phase: Phase::Head,
            open: false,
            ready: false,
            statements: Vec::new(),
            rows: 0,
            names: Vec::new(),
            types: Vec::new(),
            text: Vec::new(),
            ends: Vec::new(),
            joined: Vec::new(),
            number: 0,
        }
    }

    fn opened(&mut self, _: &mut Vec<u8>) {
        self.handshake.opened();
        self.commands.clear();
        self.statements.clear();
        (self.phase, self.open, self.ready, self.rows) = (Phase::Head, false, false, 0);
    }

    fn secured(&mut self, _: &[u8], out: &mut Vec<u8>) {
        self.handshake.secured(out);
    }

    fn open(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress), Failure> {
        self.handshake.received(input, out)
    }

    fn lost(&mut self, why: &Failure) -> Reconnect {
        self.handshake.lost(why)
    }

    fn prepare(&mut self, parse: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(parse);
        self.note(&mut out[start..], false);
    }

    fn query(out: &mut Vec<u8>, sql: &str) {
        encode::command(out, QUERY, sql.as_bytes());
    }

    #[inline]
    fn asked(&mut self, request: &mut [u8], heard: bool) {
        self.note(request, heard);
    }

    #[inline]
    fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<Next<'a, Row<'a>>, Failure> {
        if std::mem::take(&mut self.ready) {
            return Ok(Some((0, Said::Event(Event::Ready { open: self.open }))));
        }
        let heard = self.commands.front().is_some_and(|command| command.heard);
        if self.phase == Phase::Rows && !heard {
            let (size, rows) = packet::rows(input);
            if size > 0 {
                self.rows += rows;
                return Ok(Some((size, Said::Nothing)));
            }
        }
        let mut joined = std::mem::take(&mut self.joined);
        let Some(packet) = packet::next(input, &mut joined)? else { return Ok(None) };
        let (size, number, body) = (packet.size, packet.number, packet.body);
        if self.phase == Phase::Rows && self.is_row(body)? {
            self.rows += 1;
            if !heard {
                return Ok(Some((size, Said::Nothing)));
            }
            let body = (!packet.joined).then(|| &input[HEAD..size]);
            self.joined = joined;
            return Ok(Some((size, Said::Row(self.row(body)?))));
        }
        let said = match self.body(body, number)? {
            Some(event) => Said::Event(event),
            None if heard && self.phase == Phase::Rows => {
                let names: Vec<&[u8]> = self.names.iter().map(Vec::as_slice).collect();
                Said::Names(names.into_iter())
            }
            None => Said::Nothing,
        };
        Ok(Some((size, said)))
    }

    fn rows(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        encode::packet(out, self.number, fill);
        if out.len() == start + HEAD {
            out.truncate(start); // An empty packet would be the end.
        } else {
            self.number = self.number.wrapping_add(1);
        }
    }

    fn rows_end(&mut self, out: &mut Vec<u8>) {
        encode::packet(out, self.number, |_| {});
    }

    fn cancel(&self) -> Cancel {
        Cancel::Query(format!("KILL QUERY {}", self.handshake.connection()))
    }
}
