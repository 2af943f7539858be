//! Session that runs transactions statement by statement and records them.
//!
//! States:
//!
//! | state | awaited |
//! | --- | --- |
//! | `Opening` | the handshake: encryption, authentication, server settings |
//! | `Parsing` | the responses to all prepared statements, sent at once |
//! | `Idle` | nothing: the pacer starts the next transaction |
//! | `Running` | the response to the current statement |
//! | `Pausing` | nothing from the server: a sleep within the transaction, or an external command |
//! | `RollingBack` | the response to ROLLBACK, after a statement failed in a transaction block |
//!
//! A failed statement ends its transaction: an open block is rolled back. If the SQLSTATE is retryable and
//! retries remain, the transaction restarts with the same random numbers; otherwise it counts as failed. The
//! failed statement also counts as a failure of its operation, even if a retry of its transaction
//! succeeds. A transaction that rolls itself back succeeds; that it changed nothing is counted separately.

use std::sync::Arc;

use crate::sql::{Next, SentRequest, Transactions};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::record::{Kind, OpId, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session, Step};
use loadcell_protocols::{Columns, Config, Event, Malformed, Message, Progress, SqlProtocol, StatementKind};

/// Treatment of failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// SQLSTATEs after which a transaction is retried.
    pub retry: Vec<String>,
    pub max_retries: u32,
    /// Time limit, and the operation that counts transactions beyond it; they are not retried after that
    /// time.
    pub late: Option<(Nanos, OpId)>,
    /// Skip a transaction that is late by more than the limit before it starts; it counts as failed. For open
    /// loops only: in a closed loop nothing is due before its client is idle.
    pub skip: bool,
}

/// Failure code of skipped transactions.
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

/// The current transaction.
#[derive(Clone, Copy, Default)]
struct Transaction {
    /// Its operation besides `TRANSACTION`.
    of_type: Option<OpId>,
    intended: Nanos,
    sent: Nanos,
    attempts: u32,
    /// Succeeded statements of this attempt.
    reads: u64,
    writes: u64,
    others: u64,
    /// Rows changed and not yet committed.
    rows: u64,
    /// It rolled back voluntarily.
    rolled_back: bool,
}

/// Session of client `T` over protocol `P`.
pub struct SqlSession<T, W> {
    wire: W,
    pub(super) retry_policy: Arc<RetryPolicy>,
    pub(super) client: T,
    state: State,
    transaction: Transaction,
    /// The current statement, and when it was sent: directly after its predecessor completed.
    request: SentRequest,
    sent: Nanos,
    /// Pause not yet returned as an action, and whether a transaction block is open during it.
    pause: Option<NextAction>,
    open: bool,
    /// External wait in progress, and its start.
    outside: Option<(OpId, Nanos)>,
    /// Error of the current statement, or (when rolling back) of the transaction.
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
            request: SentRequest::new(TRANSACTION, Kind::Transaction),
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

    /// Send the next statement, or end the transaction if there is none. `open`: a transaction block is open.
    #[inline]
    fn send_next(&mut self, cx: &mut Context<'_>, at: Nanos, open: bool, out: &mut Vec<u8>) {
        let start = out.len();
        match self.client.next(out) {
            Next::Ask(request) => {
                self.wire.announce(&mut out[start..], request.wants_rows);
                cx.recorder.start(request.op, at);
                self.request = request;
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

    /// Process the next message. Returns the bytes consumed; `None` when more input is needed.
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
        if self.request.wants_rows {
            self.client.completed(rows);
        }
        match kind {
            StatementKind::Change if self.request.kind == Kind::Write => self.transaction.rows += changed,
            StatementKind::Rollback => {
                self.transaction.rows = 0;
                self.transaction.rolled_back = true;
            }
            _ => {}
        }
    }

    /// The response to the last request is complete.
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
                cx.recorder.succeed(self.request.op, self.sent, self.sent, at);
                let statements = u64::from(self.request.statements);
                match self.request.kind {
                    Kind::Read => self.transaction.reads += statements,
                    Kind::Write => self.transaction.writes += statements,
                    _ => self.transaction.others += statements,
                }
                if !open && self.transaction.rows > 0 {
                    // In autocommit mode the change is final.
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

    /// The server reported an error. A fatal one ends the connection; for others the response continues.
    #[cold]
    fn refused(&mut self, why: Failure, fatal: bool) -> Result<(), Failure> {
        if fatal || matches!(self.state, State::Idle | State::Pausing | State::RollingBack) {
            return Err(why);
        }
        self.error.get_or_insert_with(|| Box::new(why)); // The first is the cause of any others.
        Ok(())
    }

    /// The current statement failed.
    #[cold]
    fn failed(&mut self, cx: &mut Context<'_>, at: Nanos, open: bool, out: &mut Vec<u8>) {
        if let Some(why) = &self.error {
            cx.recorder.fail(self.request.op, self.sent, self.sent, at, why);
        }
        self.roll_back(cx, at, open, out);
    }

    /// Undo the attempt.
    #[cold]
    fn roll_back(&mut self, cx: &mut Context<'_>, at: Nanos, open: bool, out: &mut Vec<u8>) {
        if open {
            let start = out.len();
            W::query(out, "ROLLBACK");
            self.wire.announce(&mut out[start..], false);
            self.state = State::RollingBack;
        } else {
            self.rolled_back(cx, at, out); // No block is open, or the server has closed it.
        }
    }

    /// The failed attempt is undone: retry or fail the transaction.
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

    /// Record the final failure of the current transaction.
    #[cold]
    fn fail(&self, cx: &mut Context<'_>, at: Nanos, why: &Failure) {
        let Transaction { of_type, intended, sent, .. } = self.transaction;
        cx.recorder.fail(TRANSACTION, intended, sent, at, why);
        if let Some(op) = of_type {
            cx.recorder.fail_without_error(op, intended, at);
        }
    }
}

/// Skip an overdue transaction.
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
            cx.recorder.fail(self.request.op, self.sent, self.sent, at, why);
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
