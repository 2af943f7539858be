//! Decoder of PostgreSQL's messages.

use std::sync::Arc;

use super::encode;
use super::error::ServerError;
use super::frame;
use super::handshake::Handshake;
use crate::{Cancel, Config, Event, Malformed, Message, Next, Progress, SqlProtocol, StatementKind};
use loadcell_core::error::Failure;
use loadcell_core::session::Reconnect;
use loadcell_core::target::Dialect;

/// Protocol state of one connection to PostgreSQL.
pub struct Postgres {
    handshake: Handshake,
    /// A request is pending.
    busy: bool,
    /// Names and rows of the response are wanted.
    wants_rows: bool,
}

impl SqlProtocol for Postgres {
    type Columns<'a> = frame::Columns<'a>;

    const DIALECT: Dialect = Dialect::Postgres;
    const GOODBYE: &'static [u8] = encode::TERMINATE;

    fn new(config: Arc<Config>) -> Self {
        Self { handshake: Handshake::new(config), busy: false, wants_rows: false }
    }

    fn opened(&mut self, out: &mut Vec<u8>) {
        self.busy = false;
        self.handshake.opened(out);
    }

    fn secured(&mut self, server_end_point: &[u8], out: &mut Vec<u8>) {
        self.handshake.secured(server_end_point, out);
    }

    fn open(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress), Failure> {
        self.handshake.received(input, out)
    }

    fn lost(&mut self, why: &Failure) -> Reconnect {
        self.handshake.lost(why)
    }

    fn prepare(&mut self, parse: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(parse);
        out.extend_from_slice(encode::SYNC);
        (self.busy, self.wants_rows) = (true, false);
    }

    fn query(out: &mut Vec<u8>, sql: &str) {
        encode::query(out, sql);
    }

    #[inline]
    fn announce(&mut self, _: &mut [u8], wants_rows: bool) {
        (self.busy, self.wants_rows) = (true, wants_rows);
    }

    #[inline]
    fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<Next<'a, frame::Columns<'a>>, Failure> {
        if self.busy && !self.wants_rows {
            let rows = frame::rows(input);
            if rows > 0 {
                return Ok(Some((rows, Message::Nothing)));
            }
        }
        let Some(frame) = frame::next(input)? else { return Ok(None) };
        let message = match frame.tag {
            b'D' if self.wants_rows && self.busy => Message::Row(frame::columns(frame.body)?),
            b'T' if self.wants_rows && self.busy => Message::Names(frame::names(frame.body)?),
            b'D' | b'T' | b'1' | b'2' | b'n' | b'I' | b's' | b'3' if self.busy => Message::Nothing,
            b'C' if self.busy => Message::Event(completed(frame.body)),
            b'G' if self.busy => Message::Event(Event::Send),
            b'Z' if self.busy => match frame.body {
                [status] => {
                    self.busy = false;
                    Message::Event(Event::Ready { open: *status != b'I' })
                }
                _ => return Err(Malformed("a ReadyForQuery without its status".into()).into()),
            },
            b'E' => Message::Event(refused(frame.body)),
            // Notice, changed setting, notification: allowed at any time.
            b'N' | b'S' | b'A' => Message::Nothing,
            other => return Err(unexpected(other, self.busy)),
        };
        Ok(Some((frame.size(), message)))
    }

    fn rows(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
        encode::copy_data(out, fill);
    }

    fn rows_end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(encode::COPY_DONE);
    }

    fn cancel(&self) -> Cancel {
        let (process, key) = self.handshake.cancel_key();
        let mut message = Vec::new();
        encode::cancel(&mut message, process, key);
        Cancel::Message(message)
    }
}

#[inline]
fn completed(tag: &[u8]) -> Event {
    let kind = match tag.first() {
        // INSERT, UPDATE, DELETE, MERGE
        Some(b'I' | b'U' | b'D' | b'M') => StatementKind::Change,
        Some(b'R') if tag.starts_with(b"ROLLBACK") => StatementKind::Rollback,
        _ => StatementKind::Other,
    };
    let rows = frame::rows_of(tag);
    Event::Completed { rows, changed: rows, kind }
}

#[cold]
fn refused(body: &[u8]) -> Event {
    let error = ServerError::parse(body);
    let fatal = error.is_fatal();
    Event::Refused { why: error.into(), fatal }
}

#[cold]
fn unexpected(tag: u8, busy: bool) -> Failure {
    let tag = char::from(tag).escape_default();
    let when = if busy { "in answer to a query" } else { "when nothing was asked" };
    Malformed(format!("a message of type '{tag}' {when}")).into()
}
