//! Session that runs operations of a key-value client on Redis and records them.
//!
//! | state | awaited |
//! | --- | --- |
//! | `Handshake` | replies of the handshake |
//! | `Idle` | nothing: the pacer starts the next batch |
//! | `Running` | the replies to a batch of commands, in order |
//! | `Loading` | the replies to the loading of scripts that the server had lost |
//!
//! Each command of a batch (`pipeline`) is one transaction, timed from the sending of the batch. A
//! read-modify-write consists of two commands, the second of which depends on the first reply: it is always
//! the last of its batch. User-defined commands may be several for one transaction, with a reply for each.

use std::sync::Arc;

use super::command::{Writer, load_script, template};
use super::handshake::Handshake;
use super::stray;
use crate::keyvalue::{Client, KvOperation, OpKind};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{Kind, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session, Step};
use loadcell_protocols::Malformed;
use loadcell_protocols::resp::{ReadToken, Reader, Shape, Token, refusal};

/// Code of a reply to the call of a script that the server does not have.
const NO_SCRIPT: &str = "NOSCRIPT";

/// Settings shared by all sessions of a load.
#[derive(Clone, Debug)]
pub struct Settings {
    pub writer: Writer,
    /// Number of commands per batch.
    pub pipeline: usize,
    /// Values up to this size in bytes are read rather than skipped.
    pub keep: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Handshake,
    Idle,
    Running,
    /// Number of replies awaited.
    Loading(usize),
}

/// State of the current reply, which belongs to the oldest operation.
#[derive(Default)]
struct Answer {
    /// Number of list elements received; of commands sent together, of replies.
    read: usize,
    /// The first command of a read-modify-write is complete, or the script of a call is being loaded again.
    modifying: bool,
    /// Failure of the operation.
    wrong: Option<Failure>,
}

pub struct RedisSession {
    handshake: Handshake,
    settings: Arc<Settings>,
    client: Client,
    reader: Reader,
    state: State,
    /// Intended and actual start of the pending operations.
    intended: Nanos,
    sent: Nanos,
    answer: Answer,
    /// Commands whose scripts the server has lost; loaded again after the batch.
    lost_scripts: Vec<usize>,
}

impl RedisSession {
    pub fn new(handshake: Handshake, settings: Arc<Settings>, client: Client) -> Self {
        Self {
            handshake,
            settings,
            client,
            reader: Reader::default(),
            state: State::Closed,
            intended: 0,
            sent: 0,
            answer: Answer::default(),
            lost_scripts: Vec::new(),
        }
    }

    /// Process a token of the oldest operation's reply.
    #[inline]
    fn on_token(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        read: ReadToken<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let Some(operation) = self.client.oldest() else { return Err(stray(read.token)) };
        let answer = &mut self.answer;
        match (operation.op_kind, read.token) {
            (_, Token::Nothing) => return Ok(()),
            (OpKind::Command(index), token) => {
                if let Token::Error(error) = token {
                    answer.wrong.get_or_insert_with(|| refusal(error));
                }
                if !read.ends || !self.command_ended(index, out) {
                    return Ok(());
                }
            }
            (OpKind::Get, Token::Bulk(_) | Token::Skipped(_) | Token::Null) => {
                if let Err(wrong) = self.client.check_answer(0, value(read.token)) {
                    answer.wrong = Some(wrong.into());
                }
            }
            (OpKind::ReadModifyWrite, Token::Bulk(_) | Token::Skipped(_) | Token::Null)
                if !answer.modifying =>
            {
                answer.modifying = true;
                match self.client.check_answer(0, value(read.token)) {
                    Ok(()) => {
                        self.client.modify();
                        self.settings.writer.set(&mut self.client, out);
                        return Ok(());
                    }
                    Err(wrong) => answer.wrong = Some(wrong.into()),
                }
            }
            (OpKind::Set | OpKind::Insert | OpKind::MultiSet, Token::Simple(_)) => {}
            (OpKind::ReadModifyWrite, Token::Simple(_)) if answer.modifying => {}
            (OpKind::Delete, Token::Integer(_)) => {}
            (OpKind::MultiGet, Token::Open(Shape::Array, Some(count)))
                if read.depth == 0 && count == operation.keys as u64 => {}
            (OpKind::MultiGet, Token::Bulk(_) | Token::Skipped(_) | Token::Null)
                if read.depth == 1 && answer.read < operation.keys =>
            {
                if let Err(wrong) = self.client.check_answer(answer.read, value(read.token)) {
                    answer.wrong.get_or_insert(wrong.into());
                }
                answer.read += 1;
            }
            (_, Token::Error(error)) => {
                answer.wrong.get_or_insert_with(|| refusal(error));
            }
            (_, token) => return Err(other(operation, token)),
        }
        if read.ends {
            self.ended(cx, at, operation, out);
        }
        Ok(())
    }

    /// A reply to the oldest operation, user-defined commands, is complete. Returns whether it is the last.
    ///
    /// A server that has lost a script gets it again, and the call is repeated within the operation. Where
    /// later replies of a batch are on their way, the call fails, and the script is loaded after the batch.
    fn command_ended(&mut self, index: usize, out: &mut Vec<u8>) -> bool {
        let answer = &mut self.answer;
        answer.read += 1;
        let command = self.client.command(index);
        if let (Some(script), Some(why)) = (&command.script, &answer.wrong)
            && why.code == NO_SCRIPT
            && !answer.modifying
        {
            if self.client.pending() == 1 {
                load_script(script, out);
                *answer = Answer { modifying: true, ..Answer::default() };
                template(&mut self.client, index, out);
                return false;
            }
            if !self.lost_scripts.contains(&index) {
                self.lost_scripts.push(index);
            }
        }
        answer.read == command.requests.len() + usize::from(answer.modifying)
    }

    /// The oldest operation is complete.
    #[inline]
    fn ended(&mut self, cx: &mut Context<'_>, at: Nanos, operation: KvOperation, out: &mut Vec<u8>) {
        let (intended, sent) = (self.intended, self.sent);
        (self.answer.read, self.answer.modifying) = (0, false);
        if let Some(why) = self.answer.wrong.take() {
            self.client.failed();
            failed(cx, operation, intended, sent, at, &why);
        } else {
            cx.recorder.succeed_single(operation.op, intended, sent, at);
            if let Some(outcome) = self.client.done() {
                cx.recorder.start(outcome, intended);
                cx.recorder.succeed(outcome, intended, sent, at);
            }
            match operation.kind {
                Kind::Read => cx.recorder.queries(at, 1, 0, 0),
                _ => cx.recorder.queries(at, 0, 1, 0),
            }
        }
        if self.client.pending() == 0 {
            self.state = if self.lost_scripts.is_empty() { State::Idle } else { self.load_lost(out) };
        }
    }

    /// Load the scripts again that the server has lost.
    #[cold]
    fn load_lost(&mut self, out: &mut Vec<u8>) -> State {
        let commands = std::mem::take(&mut self.lost_scripts);
        commands
            .iter()
            .filter_map(|&at| self.client.command(at).script.as_ref())
            .for_each(|script| load_script(script, out));
        State::Loading(commands.len())
    }
}

/// Value of a key in a reply.
#[inline]
fn value<'a>(token: Token<'a>) -> Option<&'a [u8]> {
    match token {
        Token::Bulk(value) => Some(value),
        Token::Skipped(_) => Some(&[]), // Larger than any written value, if values are read.
        _ => None,
    }
}

#[cold]
fn failed(
    cx: &mut Context<'_>,
    operation: KvOperation,
    intended: Nanos,
    sent: Nanos,
    at: Nanos,
    why: &Failure,
) {
    cx.recorder.fail(operation.op, intended, sent, at, why);
    cx.recorder.fail(TRANSACTION, intended, sent, at, why);
}

#[cold]
fn other(operation: KvOperation, token: Token<'_>) -> Failure {
    let description = match token {
        Token::Simple(_) => "a simple string",
        Token::Integer(_) => "an integer",
        Token::Bulk(_) | Token::Skipped(_) | Token::Verbatim(..) => "a string",
        Token::Null => "null",
        Token::Open(..) | Token::Close => "a list of another length or shape",
        _ => "another type",
    };
    Malformed(format!("the answer to {:?} is {description}", operation.op_kind)).into()
}

impl Session for RedisSession {
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
        let (mut consumed, keep) = (0, self.settings.keep);
        while let Some(read) = self.reader.next(&input[consumed..], keep)? {
            consumed += read.size;
            match self.state {
                State::Running => self.on_token(cx, at, read, out)?,
                State::Handshake => {
                    if read.token != Token::Nothing && self.handshake.on_token(read.token, read.ends, out)? {
                        self.state = State::Idle;
                    }
                }
                _ if read.token == Token::Nothing => {}
                // A refusal is the failure of the next call.
                State::Loading(awaited) if read.ends => {
                    self.state = if awaited == 1 { State::Idle } else { State::Loading(awaited - 1) };
                }
                State::Loading(_) => {}
                _ => return Err(stray(read.token)),
            }
        }
        let action = if self.state == State::Idle { NextAction::Idle } else { NextAction::Reply };
        Ok(Step { consumed, action })
    }

    #[inline]
    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        debug_assert_eq!(self.state, State::Idle, "one batch at a time");
        (self.intended, self.sent) = (intended, at);
        let most = match self.settings.pipeline {
            1 => 1,
            depth => cx.recorder.reserve(depth as u64),
        };
        for _ in 0..most {
            let operation = self.client.next();
            self.settings.writer.write(&mut self.client, &operation, out);
            cx.recorder.start_single(operation.op, intended);
            if operation.op_kind == OpKind::ReadModifyWrite {
                break;
            }
        }
        self.state = State::Running;
        NextAction::Reply
    }

    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Reconnect {
        self.state = State::Closed;
        self.answer = Answer::default();
        self.lost_scripts.clear();
        while let Some(operation) = self.client.oldest() {
            self.client.failed();
            failed(cx, operation, self.intended, self.sent, at, why);
        }
        Reconnect::Later
    }
}
