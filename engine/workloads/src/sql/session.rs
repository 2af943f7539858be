//! One connection that runs transactions, statement by statement, and records them.
//!
//! Its life, one state after the other:
//!
//! | state | what is awaited |
//! | --- | --- |
//! | `Opening` | the handshake: encryption, proof of identity, the server's settings |
//! | `Parsing` | the answers to all prepared statements, asked for at once |
//! | `Idle` | nothing: the next transaction is the pacer's business |
//! | `Running` | the answer to the transaction's current statement |
//! | `Pausing` | nothing of the server: the transaction waits by its own choice, or for a command of the operating system |
//! | `RollingBack` | the answer to ROLLBACK, after a statement failed inside a transaction block |
//!
//! A statement that fails ends its transaction: rolled back if a block is open, then started again with the same random
//! numbers where its SQLSTATE is one to be retried and the retries are not used up, else counted as failed.
//! A statement that fails is a failure of its own operation, too, also when its transaction is retried with success.
//! A transaction that rolls itself back has succeeded like any other; that it left nothing behind is counted apart.

use std::sync::Arc;

use crate::sql::{Asked, Next, Transactions};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{Kind, OpId, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session, Step};
use loadcell_protocols::{Columns, Config, Event, Malformed, Message, Progress, SqlProtocol, StatementKind};

/// How failures are dealt with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// SQLSTATEs after which a transaction is tried again.
    pub retry: Vec<String>,
    pub max_retries: u32,
    /// Transactions that took longer are counted as this operation, too, and none is tried again after that time.
    pub late: Option<(Nanos, OpId)>,
    /// A transaction that is late by more than the limit before it is begun is not begun: it has failed, and is counted
    /// apart. In an open loop only: in a closed one nothing is due before its client is free.
    pub skip: bool,
}

/// The code of transactions that were not begun.
const SKIPPED: &str = "skipped";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Opening,
    Parsing,
    Idle,
    Running,
    Pausing,
    RollingBack,
}

/// The transaction in progress.
#[derive(Clone, Copy, Default)]
struct Transaction {
    /// What it counts as besides `TRANSACTION`.
    of_type: Option<OpId>,
    intended: Nanos,
    sent: Nanos,
    attempts: u32,
    /// Statements that succeeded in this attempt.
    reads: u64,
    writes: u64,
    others: u64,
    /// Rows that they changed and that are not committed yet.
    rows: u64,
    /// It rolled back by its own choice.
    rolled_back: bool,
}

/// A session of the client `T`, over the protocol `W`.
pub struct SqlSession<T, W> {
    wire: W,
    pub(super) retry_policy: Arc<RetryPolicy>,
    pub(super) client: T,
    state: State,
    transaction: Transaction,
    /// The statement in progress, and when it was sent: at once when its predecessor was done.
    asked: Asked,
    sent: Nanos,
    /// What a pause waits for, if that was not told of yet, and whether a transaction block is open meanwhile.
    pause: Option<NextAction>,
    open: bool,
    /// What is waited for outside of the conversation, and since when.
    outside: Option<(OpId, Nanos)>,
    /// What the server said against the statement in progress, or (rolling back) against the transaction.
    error: Option<Box<Failure>>,
}

impl<T: Transactions, W: SqlProtocol> SqlSession<T, W> {
    pub fn new(config: Arc<Config>, retry_policy: Arc<RetryPolicy>, client: T) -> Self {
        Self {
            wire: W::new(config),
            retry_policy,
            client,
            state: State::Closed,
            transaction: Transaction::default(),
            asked: Asked::new(TRANSACTION, Kind::Transaction),
            sent: 0,
            pause: None,
            open: false,
            outside: None,
            error: None,
        }
    }

    fn action(&mut self) -> NextAction {
        match self.state {
            State::Idle => NextAction::Idle,
            State::Pausing => self.pause.take().unwrap_or(NextAction::Reply),
            _ => NextAction::Reply,
        }
    }

    fn open(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        let (consumed, progress) = self.wire.open(input, out)?;
        let action = match progress {
            Progress::More => NextAction::Reply,
            Progress::Secure => NextAction::StartTls,
            Progress::Ready if self.client.parse().is_empty() => {
                self.state = State::Idle;
                NextAction::Idle
            }
            Progress::Ready => {
                self.wire.prepare(self.client.parse(), out);
                self.state = State::Parsing;
                NextAction::Reply
            }
        };
        Ok(Step { consumed, action })
    }

    /// Sends the next statement, or ends the transaction when it has no more. `open`: within a transaction block.
    #[inline]
    fn send_next(&mut self, cx: &mut Context<'_>, at: Nanos, open: bool, out: &mut Vec<u8>) {
        let start = out.len();
        match self.client.next(out) {
            Next::Ask(asked) => {
                self.wire.announce(&mut out[start..], asked.heard);
                cx.recorder.start(asked.op, at);
                self.asked = asked;
                self.sent = at;
            }
            Next::Done(outcome) if !open => self.done(cx, at, outcome),
            Next::Done(_) => {
                self.error = Some(Box::new(Failure {
                    code: "open-block".into(),
                    message: "the transaction's statements end within a transaction block: COMMIT is missing"
                        .into(),
                }));
                self.roll_back(cx, at, open, out);
            }
            Next::Pause(span) => {
                (self.pause, self.open) = (Some(NextAction::Pause(at.saturating_add(span))), open);
                self.state = State::Pausing;
            }
            Next::Until(descriptor, op) => {
                cx.recorder.start(op, at);
                self.outside = Some((op, at));
                (self.pause, self.open) = (Some(NextAction::AwaitReadable(descriptor)), open);
                self.state = State::Pausing;
            }
            Next::Fail(why) => {
                self.error = Some(why);
                self.roll_back(cx, at, open, out);
            }
        }
    }

    #[inline]
    fn done(&mut self, cx: &mut Context<'_>, at: Nanos, outcome: Option<OpId>) {
        let done = &self.transaction;
        cx.recorder.succeed(TRANSACTION, done.intended, done.sent, at);
        if let Some(op) = done.of_type {
            cx.recorder.succeed(op, done.intended, done.sent, at);
        }
        let late = self.retry_policy.late.filter(|(limit, _)| at - done.intended > *limit).map(|(_, op)| op);
        for op in outcome.into_iter().chain(late) {
            cx.recorder.start(op, done.intended);
            cx.recorder.succeed(op, done.intended, done.sent, at);
        }
        cx.recorder.queries(at, done.reads, done.writes, done.others);
        if done.rolled_back || done.reads + done.writes + done.others == 0 {
            cx.recorder.rolled_back();
        }
        self.state = State::Idle;
    }

    /// Takes the next thing that the server says; how many bytes that took, none when it is not whole yet.
    #[inline]
    fn on_message(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Failure> {
        let (size, event) = match self.wire.next(input)? {
            None => return Ok(None),
            Some((size, Message::Event(event))) => (size, event),
            Some((size, Message::Nothing)) => return Ok(Some(size)),
            Some((size, Message::Row(mut columns))) => {
                self.client.row(&mut columns);
                columns.end()?;
                return Ok(Some(size));
            }
            Some((size, Message::Names(mut names))) => {
                self.client.columns(&mut names);
                return Ok(Some(size));
            }
        };
        match event {
            Event::Completed { rows, changed, kind } => self.completed(rows, changed, kind),
            Event::Ready { open } => self.ready(cx, at, open, out)?,
            Event::Refused { why, fatal } => self.refused(why, fatal)?,
            Event::Send => return Err(Malformed("it waits for rows that no statement loads".into()).into()),
        }
        Ok(Some(size))
    }

    #[inline]
    fn completed(&mut self, rows: u64, changed: u64, kind: StatementKind) {
        if self.state != State::Running {
            return;
        }
        if self.asked.heard {
            self.client.completed(rows);
        }
        match kind {
            StatementKind::Change if self.asked.kind == Kind::Write => self.transaction.rows += changed,
            StatementKind::Rollback => {
                self.transaction.rows = 0;
                self.transaction.rolled_back = true;
            }
            _ => {}
        }
    }

    /// The server is done with what it was last asked.
    #[inline]
    fn ready(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        open: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match self.state {
            State::Running if self.error.is_none() => {
                cx.recorder.succeed(self.asked.op, self.sent, self.sent, at);
                let statements = u64::from(self.asked.statements);
                match self.asked.kind {
                    Kind::Read => self.transaction.reads += statements,
                    Kind::Write => self.transaction.writes += statements,
                    _ => self.transaction.others += statements,
                }
                if !open && self.transaction.rows > 0 {
                    // Outside a block: whatever changed has changed for good.
                    cx.recorder.rows_changed(std::mem::take(&mut self.transaction.rows));
                }
                self.send_next(cx, at, open, out);
                Ok(())
            }
            State::Running => {
                self.failed(cx, at, open, out);
                Ok(())
            }
            State::RollingBack if self.error.is_some() && !open => {
                self.rolled_back(cx, at, out);
                Ok(())
            }
            State::Parsing => match self.error.take() {
                Some(error) => Err(*error),
                None => {
                    self.state = State::Idle;
                    Ok(())
                }
            },
            _ => Err(Malformed(format!("an answer's end while the session was {:?}", self.state)).into()),
        }
    }

    /// The server said no. A fatal no ends the connection; any other waits for the answer's end.
    #[cold]
    fn refused(&mut self, why: Failure, fatal: bool) -> Result<(), Failure> {
        if fatal || matches!(self.state, State::Idle | State::Pausing | State::RollingBack) {
            return Err(why);
        }
        self.error.get_or_insert_with(|| Box::new(why)); // The first is the cause of any others.
        Ok(())
    }

    /// The statement in progress failed.
    #[cold]
    fn failed(&mut self, cx: &mut Context<'_>, at: Nanos, open: bool, out: &mut Vec<u8>) {
        if let Some(why) = &self.error {
            cx.recorder.fail(self.asked.op, self.sent, self.sent, at, why);
        }
        self.roll_back(cx, at, open, out);
    }

    /// Leaves no trace of the attempt.
    #[cold]
    fn roll_back(&mut self, cx: &mut Context<'_>, at: Nanos, open: bool, out: &mut Vec<u8>) {
        if open {
            let start = out.len();
            W::query(out, "ROLLBACK");
            self.wire.announce(&mut out[start..], false);
            self.state = State::RollingBack;
        } else {
            self.rolled_back(cx, at, out); // No block was open, or the server has closed it.
        }
    }

    /// The failed attempt has left no trace: try again, or give up.
    #[cold]
    fn rolled_back(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) {
        let Some(why) = self.error.take() else { return };
        let Transaction { of_type, intended, sent, attempts, .. } = self.transaction;
        let in_time = self.retry_policy.late.is_none_or(|(limit, _)| at - intended <= limit);
        if in_time && attempts < self.retry_policy.max_retries && self.retry_policy.retry.contains(&why.code)
        {
            cx.recorder.retry(TRANSACTION);
            if let Some(op) = of_type {
                cx.recorder.retry(op);
            }
            self.transaction =
                Transaction { of_type, intended, sent, attempts: attempts + 1, ..Transaction::default() };
            self.client.again();
            self.state = State::Running;
            self.send_next(cx, at, false, out);
        } else {
            self.fail(cx, at, &why);
            self.state = State::Idle;
        }
    }

    /// The transaction in progress has failed for good.
    #[cold]
    fn fail(&self, cx: &mut Context<'_>, at: Nanos, why: &Failure) {
        let Transaction { of_type, intended, sent, .. } = self.transaction;
        cx.recorder.fail(TRANSACTION, intended, sent, at, why);
        if let Some(op) = of_type {
            cx.recorder.fail_without_error(op, intended, at);
        }
    }
}

/// It is too late to begin a transaction.
#[cold]
fn skip(cx: &mut Context<'_>, intended: Nanos, at: Nanos) {
    let message = "it was not begun: it was late by more than the latency limit already".into();
    cx.recorder.start(TRANSACTION, intended);
    cx.recorder.fail(TRANSACTION, intended, at, at, &Failure { code: SKIPPED.into(), message });
}

impl<T: Transactions, W: SqlProtocol> Session for SqlSession<T, W> {
    fn opened(&mut self, out: &mut Vec<u8>) -> NextAction {
        self.state = State::Opening;
        self.error = None;
        self.wire.opened(out);
        NextAction::Reply
    }

    fn secured(&mut self, server_end_point: &[u8], out: &mut Vec<u8>) -> NextAction {
        self.wire.secured(server_end_point, out);
        NextAction::Reply
    }

    fn received(
        &mut self,
        cx: &mut Context<'_>,
        at: Nanos,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, Failure> {
        let mut consumed = 0;
        if self.state == State::Opening {
            let step = self.open(input, out)?;
            if self.state == State::Opening {
                return Ok(step);
            }
            consumed = step.consumed;
        }
        while let Some(size) = self.on_message(cx, at, &input[consumed..], out)? {
            consumed += size;
        }
        Ok(Step { consumed, action: self.action() })
    }

    fn begin(&mut self, cx: &mut Context<'_>, intended: Nanos, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        debug_assert_eq!(self.state, State::Idle, "one transaction at a time");
        if self.retry_policy.skip && self.retry_policy.late.is_some_and(|(limit, _)| at - intended > limit) {
            skip(cx, intended, at);
            return NextAction::Idle;
        }
        let of_type = self.client.begin();
        self.transaction = Transaction { of_type, intended, sent: at, ..Transaction::default() };
        cx.recorder.start(TRANSACTION, intended);
        if let Some(op) = of_type {
            cx.recorder.start(op, intended);
        }
        self.state = State::Running;
        self.send_next(cx, at, false, out);
        self.action()
    }

    fn resume(&mut self, cx: &mut Context<'_>, at: Nanos, out: &mut Vec<u8>) -> NextAction {
        debug_assert_eq!(self.state, State::Pausing, "what pauses resumes");
        self.state = State::Running;
        if let Some((op, since)) = self.outside.take() {
            match self.client.returned() {
                Ok(()) => cx.recorder.succeed(op, since, since, at),
                Err(why) => {
                    cx.recorder.fail(op, since, since, at, &why);
                    self.error = Some(why);
                    self.roll_back(cx, at, self.open, out);
                    return self.action();
                }
            }
        }
        self.send_next(cx, at, self.open, out);
        self.action()
    }

    fn think_time(&mut self, free: Nanos) -> Nanos {
        let last = self.transaction.sent;
        self.client.think_time((last > 0).then(|| free.saturating_sub(last)))
    }

    fn lost(&mut self, cx: &mut Context<'_>, at: Nanos, why: &Failure) -> Reconnect {
        let state = std::mem::replace(&mut self.state, State::Closed);
        self.error = None;
        if state == State::Running {
            cx.recorder.fail(self.asked.op, self.sent, self.sent, at, why);
        }
        if let Some((op, since)) = self.outside.take() {
            cx.recorder.fail(op, since, since, at, why);
        }
        if matches!(state, State::Running | State::Pausing | State::RollingBack) {
            self.fail(cx, at, why);
        }
        self.wire.lost(why)
    }

    fn goodbye(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(W::GOODBYE);
    }
}
