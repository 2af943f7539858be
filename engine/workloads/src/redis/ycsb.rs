//! Session that runs YCSB operations on Redis like YCSB's own binding: a record is a hash, and a sorted set
//! of all keys (`_indices`) serves scans.
//!
//! | operation | commands, each sent after the previous reply |
//! | --- | --- |
//! | READ | HGETALL, or HMGET of one field |
//! | UPDATE | HSET |
//! | INSERT | HSET, ZADD |
//! | SCAN | ZRANGEBYSCORE, then the reads of all resulting keys at once |
//! | READ-MODIFY-WRITE | READ, then UPDATE |

use std::sync::Arc;

use super::handshake::{Access, Handshake};
use super::stray;
use crate::ycsb::{Act, Client, Clients, Options, Records, Request};
use loadcell_core::clock::Nanos;
use loadcell_core::error::{Failure, SpecError};
use loadcell_core::record::{OpId, Operation, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session, SessionFactory, Step};
use loadcell_core::spec::Spec;
use loadcell_protocols::Malformed;
use loadcell_protocols::resp::{ReadToken, Reader, Token, encode, refusal};

/// Name of the sorted set of all keys.
pub const INDEX: &[u8] = b"_indices";
/// Limit of the keys that a scan returns, in bytes; values are always skipped.
const LONGEST_KEY: usize = 1_024;

/// Shared state of a load's sessions.
pub struct YcsbSessions {
    access: Arc<Access>,
    clients: Clients,
}

/// Sessions of a YCSB load; `section`: the `ycsb` section of the specification.
pub fn ycsb(spec: &Spec, section: &serde_json::Value) -> Result<YcsbSessions, SpecError> {
    let options = Options::read(section)?;
    let access = Arc::new(Access::of(&spec.target)?);
    Ok(YcsbSessions { access, clients: Clients::new(&options, spec.seed, spec.load.clients) })
}

impl SessionFactory for YcsbSessions {
    type Session = YcsbSession;

    fn operations(&self) -> &[Operation] {
        self.clients.operations()
    }

    fn session(&self, client: u32) -> YcsbSession {
        YcsbSession::new(self.access.clone(), self.clients.client(client))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Handshake,
    Idle,
    /// Awaiting a read.
    Reading,
    /// Awaiting the write of a record's fields.
    Writing,
    /// Awaiting the insertion of its key into the index.
    Indexing,
    /// Awaiting the keys of a scan.
    Searching,
    /// Awaiting this many records of a scan.
    Fetching(u64),
}

pub struct YcsbSession {
    handshake: Handshake,
    client: Client,
    reader: Reader,
    state: State,
    request: Request,
    intended: Nanos,
    /// Start of the operation, and of its current part (the second of a read-modify-write).
    sent: Nanos,
    part: (Nanos, Nanos),
    /// A record or field was missing.
    missed: bool,
    wrong: Option<Failure>,
    /// Commands for the keys returned so far by a scan.
    fetch_commands: Vec<u8>,
    fetch_count: u64,
    word: Vec<u8>,
}

impl YcsbSession {
    pub fn new(access: Arc<Access>, client: Client) -> Self {
        Self {
            handshake: Handshake::new(access),
            client,
            reader: Reader::default(),
            state: State::Closed,
            request: Request { act: Act::Read, record: 0, read: None, written: None, rows: 0 },
            intended: 0,
            sent: 0,
            part: (0, 0),
            missed: false,
            wrong: None,
            fetch_commands: Vec::new(),
            fetch_count: 0,
            word: Vec::new(),
        }
    }

    /// Operation kind of the current part.
    fn act(&self) -> Act {
        match (self.request.act, self.state) {
            (Act::ReadModifyWrite, State::Reading) => Act::Read,
            (Act::ReadModifyWrite, _) => Act::Update,
            (act, _) => act,
        }
    }

    /// Append the read of the key in `word`.
    fn read(&self, out: &mut Vec<u8>) {
        read(self.request.read, &self.word, out);
    }

    /// Append the write of the request's fields.
    fn write(&mut self, out: &mut Vec<u8>) {
        let Self { client, request, word, .. } = self;
        let fields = match (request.act, request.written) {
            (Act::Insert, _) | (_, None) => 0..client.fields(),
            (_, Some(field)) => field..field + 1,
        };
        encode::begin(out, 2 + 2 * fields.len());
        out.extend_from_slice(b"$4\r\nHSET\r\n");
        encode::word(out, word);
        for field in fields {
            name(field, word);
            encode::word(out, word);
            word.clear();
            client.value(word);
            encode::word(out, word);
        }
        self.key();
    }

    /// Write the key of the request's record to `word`.
    fn key(&mut self) {
        self.word.clear();
        self.client.key(self.request.record, &mut self.word);
    }

    fn index(&mut self, out: &mut Vec<u8>) {
        encode::command(out, &[b"ZADD", INDEX, score(&self.word).to_string().as_bytes(), &self.word]);
    }

    fn search(&mut self, out: &mut Vec<u8>) {
        let (from, rows) = (score(&self.word).to_string(), self.request.rows.to_string());
        let words = [&b"ZRANGEBYSCORE"[..], INDEX, from.as_bytes(), b"+inf", b"LIMIT", b"0", rows.as_bytes()];
        encode::command(out, &words);
    }

    /// Process a token of the reply.
    #[inline]
    fn on_token(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        reply: ReadToken<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match (self.state, reply.token) {
            (_, Token::Nothing) => return Ok(()),
            (_, Token::Error(error)) => {
                self.wrong.get_or_insert_with(|| refusal(error));
            }
            // No fields, or not the requested one.
            (State::Reading, Token::Open(_, Some(0)) | Token::Null) => self.missed = true,
            (State::Reading | State::Fetching(_), Token::Open(..) | Token::Close) => {}
            (State::Reading | State::Fetching(_), Token::Bulk(_) | Token::Skipped(_) | Token::Null) => {}
            // Number of new fields: zero for an update.
            (State::Writing, Token::Integer(new)) => {
                self.missed |= new > 0 && self.request.act != Act::Insert
            }
            (State::Indexing, Token::Integer(_)) => {}
            (State::Searching, Token::Open(..) | Token::Close) => {}
            (State::Searching, Token::Bulk(key)) if reply.depth == 1 => {
                read(self.request.read, key, &mut self.fetch_commands);
                self.fetch_count += 1;
            }
            (_, token) => return Err(other(self.act(), token)),
        }
        if reply.ends {
            self.answered(cx, at, out);
        }
        Ok(())
    }

    /// A reply is complete.
    #[inline]
    fn answered(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) {
        let act = self.request.act;
        match self.state {
            State::Fetching(remaining) if remaining > 1 => self.state = State::Fetching(remaining - 1),
            _ if self.wrong.is_some() => self.over(cx, at),
            State::Reading if act == Act::ReadModifyWrite => {
                self.part_done(cx, at);
                self.part = (at, at);
                self.state = State::Writing;
                cx.recorder.start(self.client.op(Act::Update), at);
                self.write(out);
            }
            State::Writing if act == Act::Insert => {
                self.index(out);
                self.state = State::Indexing;
            }
            State::Searching if self.fetch_count > 0 => {
                out.extend_from_slice(&self.fetch_commands);
                self.state = State::Fetching(self.fetch_count);
            }
            _ => self.over(cx, at),
        }
    }

    /// Record the success of the current part.
    fn part_done(&self, cx: &mut Context<'_>, at: Nanos) {
        let (intended, sent) = self.part;
        cx.recorder.succeed(self.client.op(self.act()), intended, sent, at);
    }

    /// The operation is complete.
    #[inline]
    fn over(&mut self, cx: &mut Context<'_>, at: Nanos) {
        let (intended, sent) = (self.intended, self.sent);
        if let Some(why) = self.wrong.take() {
            self.fail(cx, at, &why);
        } else {
            self.part_done(cx, at);
            cx.recorder.succeed(TRANSACTION, intended, sent, at);
            if let Some(op) = self.both() {
                cx.recorder.succeed(op, intended, sent, at);
            }
            if let (true, Some(op)) = (self.missed, self.client.missed()) {
                cx.recorder.start(op, intended);
                cx.recorder.succeed(op, intended, sent, at);
            }
            let (reads, writes) = match self.request.act {
                Act::Read | Act::Scan => (1, 0),
                Act::Update | Act::Insert => (0, 1),
                Act::ReadModifyWrite => (1, 1),
            };
            cx.recorder.queries(at, reads, writes, 0);
        }
        self.end();
    }

    #[cold]
    fn fail(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) {
        let (intended, sent) = self.part;
        cx.recorder.fail(self.client.op(self.act()), intended, sent, at, why);
        cx.recorder.fail(TRANSACTION, self.intended, self.sent, at, why);
        if let Some(op) = self.both() {
            cx.recorder.fail_without_error(op, self.intended, at);
        }
    }

    /// Operation of a complete read-modify-write.
    fn both(&self) -> Option<OpId> {
        (self.request.act == Act::ReadModifyWrite).then(|| self.client.op(Act::ReadModifyWrite))
    }

    /// Reset to idle.
    fn end(&mut self) {
        if self.request.act == Act::Insert {
            self.client.inserted(self.request.record);
        }
        self.state = State::Idle;
    }
}

/// Append the command that writes a record.
pub fn record(records: &Records, index: u64, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    encode::begin(out, 2 + 2 * records.field_count);
    encode::word(out, b"HSET");
    word.clear();
    records.key(index, word);
    encode::word(out, word);
    let mut field = 0;
    records.fields(index, |value| {
        name(field, word);
        encode::word(out, word);
        encode::word(out, value);
        field += 1;
    });
}

/// Append the command that inserts the keys of records into the index.
pub fn index(records: &Records, from: u64, to: u64, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    encode::begin(out, 2 + 2 * (to - from) as usize);
    encode::word(out, b"ZADD");
    encode::word(out, INDEX);
    for index in from..to {
        word.clear();
        records.key(index, word);
        encode::word(out, score(word).to_string().as_bytes());
        encode::word(out, word);
    }
}

/// Append the read of one field of a record, or of all.
fn read(field: Option<usize>, key: &[u8], out: &mut Vec<u8>) {
    match field {
        None => encode::command(out, &[b"HGETALL", key]),
        Some(field) => {
            let mut of = Vec::new();
            name(field, &mut of);
            encode::command(out, &[b"HMGET", key, &of]);
        }
    }
}

/// Write the name of a field to `word`.
fn name(field: usize, word: &mut Vec<u8>) {
    word.clear();
    word.extend_from_slice(b"field");
    loadcell_protocols::digits::decimal(word, field as u64);
}

/// Score of a key in the index: Java's string hash, as in YCSB's binding.
pub fn score(key: &[u8]) -> i32 {
    key.iter().fold(0i32, |hash, octet| hash.wrapping_mul(31).wrapping_add(i32::from(*octet)))
}

#[cold]
fn other(act: Act, token: Token<'_>) -> Failure {
    let kind = match token {
        Token::Integer(_) => "an integer",
        Token::Simple(_) => "a simple string",
        Token::Open(..) | Token::Close => "a list",
        _ => "of another type",
    };
    Malformed(format!("the answer to {act:?} is {kind}")).into()
}

impl Session for YcsbSession {
    fn opened(&mut self, out: &mut Vec<u8>) -> NextAction {
        self.state = State::Handshake;
        self.reader = Reader::default();
        self.handshake.opened(out)
    }

    fn secured(&mut self, _: &[u8], out: &mut Vec<u8>) -> NextAction {
        self.handshake.secured(out)
    }

    #[inline]
    fn received(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, Failure> {
        let mut consumed = 0;
        loop {
            let keep = if self.state == State::Searching { LONGEST_KEY } else { 0 };
            let Some(reply) = self.reader.next(&input[consumed..], keep)? else { break };
            consumed += reply.size;
            match self.state {
                State::Handshake => {
                    if reply.token != Token::Nothing
                        && self.handshake.on_token(reply.token, reply.ends, out)?
                    {
                        self.state = State::Idle;
                    }
                }
                State::Idle | State::Closed if reply.token == Token::Nothing => {}
                State::Idle | State::Closed => return Err(stray(reply.token)),
                _ => self.on_token(cx, at, reply, out)?,
            }
        }
        let action = if self.state == State::Idle { NextAction::Idle } else { NextAction::Reply };
        Ok(Step { consumed, action })
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        debug_assert_eq!(self.state, State::Idle, "one operation at a time");
        (self.intended, self.sent, self.part) = (intended, at, (intended, at));
        (self.missed, self.fetch_count) = (false, 0);
        self.fetch_commands.clear();
        self.request = self.client.next();
        self.key();
        self.state = match self.request.act {
            Act::Read | Act::ReadModifyWrite => {
                self.read(out);
                State::Reading
            }
            Act::Update | Act::Insert => {
                self.write(out);
                State::Writing
            }
            Act::Scan => {
                self.search(out);
                State::Searching
            }
        };
        cx.recorder.start_single(self.client.op(self.act()), intended);
        if let Some(op) = self.both() {
            cx.recorder.start(op, intended);
        }
        NextAction::Reply
    }

    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Reconnect {
        if !matches!(self.state, State::Closed | State::Handshake | State::Idle) {
            self.fail(cx, at, why);
            self.end();
        }
        self.wrong = None;
        self.state = State::Closed;
        Reconnect::Later
    }
}
