//! One connection to a Redis that runs YCSB's operations as YCSB's own binding does: a record is a hash, and a sorted set of all
//! keys (`_indices`) is what scans go by.
//!
//! | operation | commands, each sent when the one before it is answered |
//! | --- | --- |
//! | READ | HGETALL, or HMGET of one field |
//! | UPDATE | HSET |
//! | INSERT | HSET, ZADD |
//! | SCAN | ZRANGEBYSCORE, then the reads of all keys it gave, at once |
//! | READ-MODIFY-WRITE | READ, then UPDATE |

use std::sync::Arc;

use super::handshake::{Access, Handshake};
use crate::ycsb::{Act, Client, Clients, Options, Records, Request};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::error::Problem;
use loadcell_core::record::{OpId, Operation, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session, SessionFactory, Step};
use loadcell_core::spec::Spec;
use loadcell_protocols::Malformed;
use loadcell_protocols::resp::{ReadToken, Reader, Token, encode, refusal};

/// The sorted set of all keys.
pub const INDEX: &[u8] = b"_indices";
/// Keys that a scan gives are looked at; values never are.
const LONGEST_KEY: usize = 1_024;

/// What the sessions of a load share.
pub struct YcsbSessions {
    access: Arc<Access>,
    clients: Clients,
}

/// The sessions of a YCSB load; `section` is what stands under `ycsb` in the specification.
pub fn ycsb(spec: &Spec, section: &serde_json::Value) -> Result<YcsbSessions, Problem> {
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
    /// A read is awaited.
    Reading,
    /// The fields of a record are written.
    Writing,
    /// Its key is put into the index.
    Indexing,
    /// The keys of a scan are awaited.
    Searching,
    /// So many of its records are.
    Fetching(u64),
}

pub struct YcsbSession {
    handshake: Handshake,
    client: Client,
    reader: Reader,
    state: State,
    request: Request,
    intended: Nanos,
    /// When the operation was sent, and its part that is in progress (the second of a read-modify-write).
    sent: Nanos,
    part: (Nanos, Nanos),
    /// A record, or its field, was not there.
    missed: bool,
    wrong: Option<Failure>,
    /// Commands for the records that a scan has found so far.
    found: Vec<u8>,
    found_count: u64,
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
            found: Vec::new(),
            found_count: 0,
            word: Vec::new(),
        }
    }

    /// What the commands in progress count as.
    fn act(&self) -> Act {
        match (self.request.act, self.state) {
            (Act::ReadModifyWrite, State::Reading) => Act::Read,
            (Act::ReadModifyWrite, _) => Act::Update,
            (act, _) => act,
        }
    }

    /// Appends the reading of the key in `word`.
    fn read(&self, out: &mut Vec<u8>) {
        read(self.request.read, &self.word, out);
    }

    /// Appends the writing of the request's fields.
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

    /// The key of the request's record becomes the `word`.
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

    /// A token of the answer that is awaited.
    #[inline]
    fn hear(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        heard: ReadToken<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match (self.state, heard.token) {
            (_, Token::Nothing) => return Ok(()),
            (_, Token::Error(error)) => {
                self.wrong.get_or_insert_with(|| refusal(error));
            }
            // No field at all, or not the one that is wanted.
            (State::Reading, Token::Open(_, Some(0)) | Token::Null) => self.missed = true,
            (State::Reading | State::Fetching(_), Token::Open(..) | Token::Close) => {}
            (State::Reading | State::Fetching(_), Token::Bulk(_) | Token::Skipped(_) | Token::Null) => {}
            // Fields that were new: of an update, none is.
            (State::Writing, Token::Integer(new)) => {
                self.missed |= new > 0 && self.request.act != Act::Insert
            }
            (State::Indexing, Token::Integer(_)) => {}
            (State::Searching, Token::Open(..) | Token::Close) => {}
            (State::Searching, Token::Bulk(key)) if heard.depth == 1 => {
                read(self.request.read, key, &mut self.found);
                self.found_count += 1;
            }
            (_, token) => return Err(other(self.act(), token)),
        }
        if heard.ends {
            self.answered(cx, at, out);
        }
        Ok(())
    }

    /// A reply has ended.
    #[inline]
    fn answered(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) {
        let act = self.request.act;
        match self.state {
            State::Fetching(left) if left > 1 => self.state = State::Fetching(left - 1),
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
            State::Searching if self.found_count > 0 => {
                out.extend_from_slice(&self.found);
                self.state = State::Fetching(self.found_count);
            }
            _ => self.over(cx, at),
        }
    }

    /// The part in progress has succeeded.
    fn part_done(&self, cx: &mut Context<'_>, at: Nanos) {
        let (intended, sent) = self.part;
        cx.recorder.succeed(self.client.op(self.act()), intended, sent, at);
    }

    /// The operation is over.
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

    /// What a read-modify-write counts as besides its parts.
    fn both(&self) -> Option<OpId> {
        (self.request.act == Act::ReadModifyWrite).then(|| self.client.op(Act::ReadModifyWrite))
    }

    /// Nothing is in progress any more.
    fn end(&mut self) {
        if self.request.act == Act::Insert {
            self.client.inserted(self.request.record);
        }
        self.state = State::Idle;
    }
}

/// Appends the command that makes a record.
pub fn record(records: &Records, place: u64, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    encode::begin(out, 2 + 2 * records.field_count);
    encode::word(out, b"HSET");
    word.clear();
    records.key(place, word);
    encode::word(out, word);
    let mut field = 0;
    records.fields(place, |value| {
        name(field, word);
        encode::word(out, word);
        encode::word(out, value);
        field += 1;
    });
}

/// Appends the command that puts the keys of some records into the index.
pub fn index(records: &Records, from: u64, to: u64, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    encode::begin(out, 2 + 2 * (to - from) as usize);
    encode::word(out, b"ZADD");
    encode::word(out, INDEX);
    for place in from..to {
        word.clear();
        records.key(place, word);
        encode::word(out, score(word).to_string().as_bytes());
        encode::word(out, word);
    }
}

/// Appends the reading of one field of a record, or of all.
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

/// `word` becomes the name of a field.
fn name(field: usize, word: &mut Vec<u8>) {
    word.clear();
    word.extend_from_slice(b"field");
    loadcell_protocols::digits::decimal(word, field as u64);
}

/// Where a key lies in the index: by Java's hash of a string, as in YCSB's binding.
pub fn score(key: &[u8]) -> i32 {
    key.iter().fold(0i32, |hash, octet| hash.wrapping_mul(31).wrapping_add(i32::from(*octet)))
}

#[cold]
fn stray(token: Token<'_>) -> Failure {
    match token {
        Token::Error(error) => refusal(error),
        _ => Malformed("an answer that nobody waits for".into()).into(),
    }
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
        if self.handshake.access().tls {
            return NextAction::StartTls;
        }
        self.handshake.begin(out);
        NextAction::Reply
    }

    fn secured(&mut self, _: &[u8], out: &mut Vec<u8>) -> NextAction {
        self.handshake.begin(out);
        NextAction::Reply
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
            let Some(heard) = self.reader.next(&input[consumed..], keep)? else { break };
            consumed += heard.size;
            match self.state {
                State::Handshake => {
                    if heard.token != Token::Nothing && self.handshake.hear(heard.token, heard.ends, out)? {
                        self.state = State::Idle;
                    }
                }
                State::Idle | State::Closed if heard.token == Token::Nothing => {}
                State::Idle | State::Closed => return Err(stray(heard.token)),
                _ => self.hear(cx, at, heard, out)?,
            }
        }
        let action = if self.state == State::Idle { NextAction::Idle } else { NextAction::Reply };
        Ok(Step { consumed, action })
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        debug_assert_eq!(self.state, State::Idle, "one operation at a time");
        (self.intended, self.sent, self.part) = (intended, at, (intended, at));
        (self.missed, self.found_count) = (false, 0);
        self.found.clear();
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

    fn goodbye(&mut self, _: &mut Vec<u8>) {} // To hang up is the polite way: QUIT is deprecated.
}
