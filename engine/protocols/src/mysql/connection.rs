//! Decoder of the server's packets.
//!
//! | phase | next packet |
//! | --- | --- |
//! | `Head` | the first of a response: OK, an error, the column count, or a request for rows to load |
//! | `Columns` | a column definition |
//! | `ColumnsEnd` | the EOF after the definitions, from servers that still send one |
//! | `Rows` | a row, or the end of rows |
//! | `Prepared` | a definition that belongs to a statement just prepared |
//!
//! Commands may be pipelined: the server processes them in order.

use std::collections::VecDeque;
use std::slice;
use std::sync::Arc;

use super::binary::{self, Type};
use super::encode::{self, EXECUTE, HEAD, PREPARE, QUERY};
use super::error::ServerError;
use super::handshake::Handshake;
use super::packet::{self, FULL, Reader};
use crate::{Cancel, Columns, Config, Event, Malformed, Message, Next, Progress, SqlProtocol, StatementKind};
use loadcell_core::error::Failure;
use loadcell_core::session::Reconnect;
use loadcell_core::target::Dialect;

/// Status flags: a transaction is open; another result set follows.
const IN_TRANSACTION: u16 = 1;
const MORE_RESULTS: u16 = 1 << 3;
/// Maximum of columns of a table.
const MOST_COLUMNS: u64 = 4096;
/// An EOF packet is shorter than this; a row with the same first byte is longer.
const EOF_LENGTH: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Query,
    Rollback,
    Execute,
    Prepare,
}

/// A command whose response is pending.
#[derive(Clone, Copy, Debug)]
struct Command {
    kind: Kind,
    wants_rows: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Head,
    Columns(u64),
    ColumnsEnd,
    Rows,
    Prepared(u32),
}

/// Protocol state of one connection to MySQL or MariaDB.
pub struct Mysql {
    handshake: Handshake,
    commands: VecDeque<Command>,
    phase: Phase,
    /// A transaction was open at the last status.
    open: bool,
    /// The last response is complete; `Ready` not yet returned.
    ready: bool,
    /// Statement ids assigned by the server, in order of preparation.
    statements: Vec<u32>,
    /// Rows of the current response.
    rows: u64,
    /// Names of the current columns, if rows are wanted.
    names: Vec<Vec<u8>>,
    types: Vec<Type>,
    /// Current binary row, decoded as text.
    text: Vec<u8>,
    ends: Vec<Option<usize>>,
    /// Payload reassembled from several packets.
    joined: Vec<u8>,
    /// Sequence number of the next packet of requested rows.
    number: u8,
}

/// Columns of a row.
pub enum Row<'a> {
    Text { input: Reader<'a>, remaining: usize, malformed: bool },
    Decoded { text: &'a [u8], ends: slice::Iter<'a, Option<usize>>, start: usize },
}

impl<'a> Iterator for Row<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Text { remaining: 0, .. } => None,
            Self::Text { input, remaining, malformed } => {
                *remaining -= 1;
                if let Some((0xfb, after)) = input.0.split_first() {
                    input.0 = after;
                    return Some(None);
                }
                let column = input.text();
                if column.is_none() {
                    (*remaining, *malformed) = (0, true);
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
            Self::Text { input, malformed, .. } if malformed || !input.0.is_empty() => Err(malformed_row()),
            _ => Ok(()),
        }
    }
}

#[cold]
fn malformed_row() -> Malformed {
    Malformed("a row whose columns do not fit into it".into())
}

#[cold]
fn unexpected(body: &[u8], phase: Phase) -> Failure {
    let first = body.first();
    Malformed(format!("a packet of {} bytes that begins with {first:?} in phase {phase:?}", body.len()))
        .into()
}

impl Mysql {
    /// Register the commands in `request`, and insert the server's ids of prepared statements.
    #[inline]
    fn note(&mut self, request: &mut [u8], wants_rows: bool) {
        let mut input = request;
        while let Some((&mut [a, b, c, _], after)) = input.split_first_chunk_mut::<HEAD>() {
            let length = (u32::from_le_bytes([a, b, c, 0]) as usize).min(after.len());
            let (body, after) = after.split_at_mut(length);
            let kind = match body {
                [EXECUTE, a, b, c, d, ..] => {
                    let number = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                    let id = self.statements.get(number).copied().unwrap_or_default();
                    [*a, *b, *c, *d] = id.to_le_bytes();
                    Kind::Execute
                }
                [PREPARE, ..] => Kind::Prepare,
                [QUERY, text @ ..] if text.starts_with(b"ROLLBACK") => Kind::Rollback,
                _ => Kind::Query,
            };
            self.commands.push_back(Command { kind, wants_rows });
            input = after;
        }
    }

    /// Complete a response, and its command unless more responses follow.
    fn answered(&mut self, status: u16) {
        self.open = status & IN_TRANSACTION != 0;
        self.phase = Phase::Head;
        self.rows = 0;
        if status & MORE_RESULTS == 0 {
            self.done();
        }
    }

    /// Complete the current command.
    fn done(&mut self) {
        self.phase = Phase::Head;
        self.rows = 0;
        self.commands.pop_front();
        self.ready = self.commands.is_empty();
    }

    /// Process the first packet of a response.
    #[inline]
    fn head(&mut self, command: Command, body: &[u8], number: u8) -> Result<Option<Event>, Failure> {
        match body {
            [0, ..] if command.kind == Kind::Prepare => self.prepared(body),
            [0, input @ ..] => {
                let mut reader = Reader(input);
                let rows = reader.integer();
                reader.integer(); // last insert id
                let (Some(rows), Some(status)) = (rows, reader.u16()) else {
                    return Err(unexpected(body, self.phase));
                };
                let changed = packet::changed(reader).unwrap_or(rows);
                self.answered(status);
                let kind = if command.kind == Kind::Rollback {
                    StatementKind::Rollback
                } else {
                    StatementKind::Change
                };
                Ok(Some(Event::Completed { rows, changed, kind }))
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

    /// A statement is prepared. The definitions of its parameters and columns follow and are skipped.
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
            remaining => self.phase = Phase::Prepared(remaining),
        }
        Ok(None)
    }

    /// Process a column definition; stored only if rows are wanted.
    fn define(&mut self, body: &[u8], wants_rows: bool, remaining: u64) -> Result<(), Failure> {
        if wants_rows {
            let (name, of_type) = binary::definition(body)
                .ok_or_else(|| Malformed("a column whose definition is cut off".into()))?;
            self.names.push(name.to_vec());
            self.types.push(of_type);
        }
        self.phase = match remaining {
            1 if self.handshake.deprecates_eof() => Phase::Rows,
            1 => Phase::ColumnsEnd,
            _ => Phase::Columns(remaining - 1),
        };
        Ok(())
    }

    /// The end of rows: EOF, or OK in its place.
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
        Ok(Some(Event::Completed { rows, changed: 0, kind: StatementKind::Other }))
    }

    /// True if the packet is a row rather than the end of rows or an error.
    fn is_row(&self, body: &[u8]) -> Result<bool, Malformed> {
        let longest_end = if self.handshake.deprecates_eof() { FULL } else { EOF_LENGTH };
        match body.first() {
            Some(0xfe) => Ok(body.len() >= longest_end),
            Some(first) => Ok(*first != 0xff),
            None => Err(malformed_row()),
        }
    }

    /// Columns of a row: of `body`, or of the reassembled payload.
    fn row<'a>(&'a mut self, body: Option<&'a [u8]>) -> Result<Row<'a>, Failure> {
        let binary = self.commands.front().is_some_and(|command| command.kind == Kind::Execute);
        let Self { types, text, ends, joined, .. } = self;
        let body = body.unwrap_or(joined);
        if !binary {
            return Ok(Row::Text { input: Reader(body), remaining: types.len(), malformed: false });
        }
        text.clear();
        ends.clear();
        binary::decode(body, types, text, ends).ok_or_else(malformed_row)?;
        Ok(Row::Decoded { text, ends: ends.iter(), start: 0 })
    }

    #[cold]
    fn refused(&mut self, body: &[u8]) -> Event {
        let error = ServerError::parse(body);
        let fatal = error.is_fatal() || self.commands.is_empty();
        self.done();
        Event::Refused { why: error.into(), fatal }
    }

    /// Process a payload that is not a row.
    #[inline]
    fn body(&mut self, body: &[u8], number: u8) -> Result<Option<Event>, Failure> {
        if body.first() == Some(&0xff) {
            return Ok(Some(self.refused(body)));
        }
        let Some(&command) = self.commands.front() else { return Err(unexpected(body, self.phase)) };
        match self.phase {
            Phase::Head => self.head(command, body, number),
            Phase::Columns(remaining) => {
                self.define(body, command.wants_rows, remaining)?;
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
            Phase::Prepared(remaining) => {
                self.phase = Phase::Prepared(remaining - 1);
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
    fn announce(&mut self, request: &mut [u8], wants_rows: bool) {
        self.note(request, wants_rows);
    }

    #[inline]
    fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<Next<'a, Row<'a>>, Failure> {
        if std::mem::take(&mut self.ready) {
            return Ok(Some((0, Message::Event(Event::Ready { open: self.open }))));
        }
        let wants_rows = self.commands.front().is_some_and(|command| command.wants_rows);
        if self.phase == Phase::Rows && !wants_rows {
            let (size, rows) = packet::rows(input);
            if size > 0 {
                self.rows += rows;
                return Ok(Some((size, Message::Nothing)));
            }
        }
        let mut joined = std::mem::take(&mut self.joined);
        let Some(packet) = packet::next(input, &mut joined)? else { return Ok(None) };
        let (size, number, body) = (packet.size, packet.number, packet.body);
        if self.phase == Phase::Rows && self.is_row(body)? {
            self.rows += 1;
            if !wants_rows {
                return Ok(Some((size, Message::Nothing)));
            }
            let body = (!packet.joined).then(|| &input[HEAD..size]);
            self.joined = joined;
            return Ok(Some((size, Message::Row(self.row(body)?))));
        }
        let message = match self.body(body, number)? {
            Some(event) => Message::Event(event),
            None if wants_rows && self.phase == Phase::Rows => {
                let names: Vec<&[u8]> = self.names.iter().map(Vec::as_slice).collect();
                Message::Names(names.into_iter())
            }
            None => Message::Nothing,
        };
        Ok(Some((size, message)))
    }

    fn rows(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        encode::packet(out, self.number, fill);
        if out.len() == start + HEAD {
            out.truncate(start); // An empty packet would mean the end.
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
