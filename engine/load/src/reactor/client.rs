//! One client: its session, and the connection that it has, is making, or waits for.

use std::io;
use std::os::fd::RawFd;

use super::epoll::Token;
use super::thread_state::ThreadState;
use super::timers::Timer;
use super::{Settings, ThreadEvent};
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::pace::Pacer;
use loadcell_core::session::{Context, NextAction, Session};
use loadcell_transport::Transport;

/// Where a client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has no connection; an alarm or its place in the queue will make one.
    Waiting,
    /// The operating system connects.
    Connecting,
    /// TLS shakes hands.
    Securing,
    /// The session shakes hands.
    Opening,
    /// It could do a transaction, but none is due, or the load has not begun, or is over.
    Idle,
    /// It rests by its own choice before its next transaction.
    Pausing,
    /// A transaction is in progress.
    Busy,
    /// It has made all that it was to make.
    Spent,
    /// It will not connect again.
    Closed,
}

impl State {
    pub fn is_opening(self) -> bool {
        matches!(self, Self::Connecting | Self::Securing | Self::Opening)
    }
}

/// Why a connection is of no more use.
pub struct Loss {
    pub why: Failure,
    pub errno: Option<i32>,
}

impl Loss {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { why: Failure { code: code.into(), message: message.into() }, errno: None }
    }

    pub fn closed() -> Self {
        Self::new("connection", "the server closed the connection")
    }

    /// A transaction took longer than it may.
    pub fn unanswered(timeout_ns: Nanos) -> Self {
        Self::new("timeout", format!("no answer within {} s", timeout_ns as f64 / 1e9))
    }

    pub fn overdue(settings: &Settings) -> Self {
        let seconds = settings.connect_timeout_ns as f64 / 1e9;
        Self::new("timeout", format!("the connection was not ready after {seconds} s"))
    }
}

impl From<io::Error> for Loss {
    fn from(error: io::Error) -> Self {
        Self { errno: error.raw_os_error(), why: error.into() }
    }
}

impl From<Failure> for Loss {
    fn from(why: Failure) -> Self {
        Self { why, errno: None }
    }
}

/// One client.
pub struct Client<S> {
    pub session: S,
    /// Its number in this reactor, and in the load.
    pub index: usize,
    pub client: u32,
    pub state: State,
    pub transport: Option<Transport>,
    /// Grows with every connection that is made or lost: events and alarms of an earlier one are not meant.
    pub generation: u32,
    /// Bytes of a message that is not whole yet.
    unread: Vec<u8>,
    /// The transport did not take all that was to be sent.
    pub blocked: bool,
    /// Since when the client could do its next transaction, had it a connection; and since when with one.
    pub free: Nanos,
    pub ready: Nanos,
    /// When it has rested.
    pub due: Nanos,
    /// When the transaction in progress was begun, and whether a connection is being made for it: its state is then that of
    /// the connection.
    pub begun: Nanos,
    pub within: bool,
    /// It had a connection before.
    pub made: bool,
    /// Its time with nothing left to make is being counted.
    spent: bool,
    /// Of the attempts to connect since the last connection: when the first was made, how many failed, how many were
    /// followed by another way at once, and which of the target's addresses is being tried.
    pub tried_since: Nanos,
    pub failed_attempts: u32,
    pub detours: u32,
    pub address: usize,
}

impl<S: Session> Client<S> {
    pub fn new(session: S, index: usize, client: u32) -> Self {
        Self {
            session,
            index,
            client,
            state: State::Waiting,
            transport: None,
            generation: 0,
            unread: Vec::new(),
            blocked: false,
            free: 0,
            ready: 0,
            due: 0,
            begun: 0,
            within: false,
            made: false,
            spent: false,
            tried_since: 0,
            failed_attempts: 0,
            detours: 0,
            address: 0,
        }
    }

    pub fn token(&self) -> Token {
        Token { index: self.index as u32, generation: self.generation }
    }

    /// Bytes arrived at `now`.
    #[inline]
    pub fn take<P: Pacer>(
        &mut self,
        thread: &mut ThreadState<P>,
        bytes: &[u8],
        now: Nanos,
    ) -> Result<(), Loss> {
        let cx = &mut Context { recorder: &mut thread.recorder };
        let action = if self.unread.is_empty() {
            let step = self.session.received(cx, now, bytes, &mut thread.output)?;
            if step.consumed < bytes.len() {
                self.unread.extend_from_slice(&bytes[step.consumed..]);
            }
            step.action
        } else {
            self.unread.extend_from_slice(bytes);
            let step = self.session.received(cx, now, &self.unread, &mut thread.output)?;
            self.unread.drain(..step.consumed);
            step.action
        };
        self.follow(thread, action, now)
    }

    /// Does what the session wants, and sends what it says.
    #[inline]
    pub fn follow<P: Pacer>(
        &mut self,
        thread: &mut ThreadState<P>,
        action: NextAction,
        now: Nanos,
    ) -> Result<(), Loss> {
        match action {
            NextAction::Reply => {}
            NextAction::Idle => {
                if self.state == State::Busy {
                    thread.busy -= 1;
                    (self.free, self.ready) = (now, now);
                    self.turn(thread, now);
                } else if self.state == State::Opening && self.within {
                    return self.renewed(thread, now);
                } else if self.state == State::Opening {
                    self.opened(thread, now)?;
                    self.turn(thread, now);
                }
            }
            NextAction::CanStartMore => self.another(thread, now),
            NextAction::Connect => self.want_connection(thread),
            NextAction::Pause(until) => thread.timers.set(until, Timer::Resume, self.token()),
            NextAction::AwaitReadable(descriptor) => self.await_outside(thread, descriptor, now),
            NextAction::StartTls => {
                // What came before TLS must not be taken for what came under its protection.
                if !self.unread.is_empty() {
                    return Err(Loss::new("protocol", "the server sent more than its agreement to TLS"));
                }
                self.state = State::Securing;
            }
            NextAction::Close => return Err(Loss::new("connection", "the conversation is over")),
        }
        self.send(thread)
    }

    /// The session is ready for transactions.
    #[cold]
    fn opened<P: Pacer>(&mut self, thread: &mut ThreadState<P>, now: Nanos) -> Result<(), Loss> {
        self.state = State::Idle;
        self.ready = now;
        (self.failed_attempts, self.detours) = (0, 0);
        thread.opening -= 1;
        thread.recorder.connected(now, self.made);
        thread.count_connections();
        if !std::mem::replace(&mut self.made, true) {
            thread.events.send(ThreadEvent::Connected);
        }
        // From here on it matters only now and then when the socket takes bytes: see `send`.
        self.watch(thread, self.blocked)
    }

    /// The transaction in progress needs a connection: the reactor makes it next.
    fn want_connection<P>(&mut self, thread: &mut ThreadState<P>) {
        (self.state, self.within) = (State::Connecting, true);
        thread.renewing.push_back(self.index);
    }

    /// The connection that the transaction in progress wanted is ready for it. That its socket is still watched for taking
    /// bytes, too, wakes nobody up: it takes them.
    fn renewed<P: Pacer>(&mut self, thread: &mut ThreadState<P>, now: Nanos) -> Result<(), Loss> {
        (self.state, self.within) = (State::Busy, false);
        (self.failed_attempts, self.detours) = (0, 0);
        thread.recorder.count_connect();
        self.resume(thread, now)
    }

    /// The client's next transaction: now if one is due, when it has rested, or it joins those that wait for one.
    #[inline]
    pub fn turn<P: Pacer>(&mut self, thread: &mut ThreadState<P>, now: Nanos) {
        self.state = State::Idle;
        if now < thread.opens || now >= thread.closes {
            return;
        }
        if P::SCHEDULED {
            thread.pacer.mark_due_until(now + 1, &mut thread.recorder);
            // Whoever waits already goes first.
            let due = thread.pacer.due(now);
            if thread.idle.is_empty() && due <= now {
                self.begin(thread, due, now);
            } else {
                thread.idle.push_back(self.index);
            }
            return;
        }
        if !self.may_begin(thread, now) {
            return;
        }
        let free = self.free.max(thread.opens);
        let due = thread.pacer.due(free.saturating_add(self.session.think_time(free)));
        if due > now {
            self.state = State::Pausing;
            self.due = due;
            thread.recorder.begin_rest(free);
            thread.timers.set(due, Timer::Due, self.token());
        } else {
            self.begin(thread, due, now);
        }
    }

    /// Whether there is a transaction left for the client of a closed loop; if not, it is done with the load.
    #[inline]
    pub fn may_begin<P>(&mut self, thread: &mut ThreadState<P>, now: Nanos) -> bool {
        thread.recorder.set_client(self.client);
        if thread.recorder.reserve(1) > 0 {
            return true;
        }
        self.state = State::Spent;
        if !std::mem::replace(&mut self.spent, true) {
            thread.recorder.begin_rest(now);
        }
        false
    }

    /// The transaction that is due since `intended`, and has been told of.
    #[inline]
    pub fn begin<P: Pacer>(&mut self, thread: &mut ThreadState<P>, intended: Nanos, now: Nanos) {
        thread.recorder.set_client(self.client);
        if self.ready > intended {
            thread.recorder.record_backlog_wait(now - intended);
        } else {
            // A client that is free has been so, as far as the thread could know, since the thread woke up.
            let at_once = intended == self.free.max(thread.opens);
            let could = if at_once { thread.woken.min(now).max(thread.opens) } else { intended };
            thread.recorder.record_lateness(now - could);
        }
        thread.pacer.start_next(&mut thread.recorder);
        self.state = State::Busy;
        self.begun = now;
        thread.busy += 1;
        let cx = &mut Context { recorder: &mut thread.recorder };
        match self.session.begin(cx, intended, now, &mut thread.output) {
            NextAction::Pause(until) => thread.timers.set(until, Timer::Resume, self.token()),
            NextAction::AwaitReadable(descriptor) => self.await_outside(thread, descriptor, now),
            NextAction::Idle => self.done_at_once(thread, now),
            NextAction::Connect => self.want_connection(thread),
            action => debug_assert_eq!(action, NextAction::Reply, "nothing else comes of beginning"),
        }
    }

    /// More transactions beside those in progress, if any may be begun.
    #[inline]
    fn another<P: Pacer>(&mut self, thread: &mut ThreadState<P>, now: Nanos) {
        debug_assert!(!P::SCHEDULED, "what is due by a schedule has a connection of its own");
        thread.recorder.set_client(self.client);
        if self.state != State::Busy
            || now < thread.opens
            || now >= thread.closes
            || thread.recorder.reserve(1) == 0
        {
            return;
        }
        thread.recorder.record_lateness(now - thread.woken.min(now).max(thread.opens));
        let cx = &mut Context { recorder: &mut thread.recorder };
        let action = self.session.begin(cx, now, now, &mut thread.output);
        debug_assert_eq!(action, NextAction::Reply, "they have a connection");
    }

    /// A transaction was over without asking anything. Others have their turn before the next one.
    #[cold]
    fn done_at_once<P: Pacer>(&mut self, thread: &mut ThreadState<P>, now: Nanos) {
        thread.busy -= 1;
        (self.free, self.ready, self.due) = (now, now, now);
        if P::SCHEDULED {
            self.state = State::Idle;
            thread.idle.push_back(self.index);
            return;
        }
        self.state = State::Pausing;
        thread.recorder.begin_rest(now);
        thread.timers.set(now, Timer::Due, self.token());
    }

    /// The session goes on when `descriptor` can be read; or at once, and finds it is not over, if nobody can tell when.
    #[cold]
    fn await_outside<P: Pacer>(&mut self, thread: &mut ThreadState<P>, descriptor: RawFd, now: Nanos) {
        if thread.epoll.add(descriptor, self.token().outside(), false).is_err() {
            thread.timers.set(now, Timer::Resume, self.token());
        }
    }

    /// The pause within its transaction is over.
    pub fn resume<P: Pacer>(&mut self, thread: &mut ThreadState<P>, now: Nanos) -> Result<(), Loss> {
        thread.recorder.set_client(self.client);
        let cx = &mut Context { recorder: &mut thread.recorder };
        let action = self.session.resume(cx, now, &mut thread.output);
        self.follow(thread, action, now)
    }

    /// Sends what is in the desk's output.
    #[inline]
    pub fn send<P>(&mut self, thread: &mut ThreadState<P>) -> Result<(), Loss> {
        if thread.output.is_empty() {
            return Ok(());
        }
        let Some(transport) = &mut self.transport else {
            thread.output.clear();
            return Ok(());
        };
        let sent = transport.send(&thread.output);
        thread.output.clear();
        let all = sent?;
        if all == self.blocked { self.block(thread, !all) } else { Ok(()) }
    }

    /// The transport takes bytes again.
    #[cold]
    pub fn flush<P>(&mut self, thread: &mut ThreadState<P>) -> Result<(), Loss> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        if transport.flush()? { self.block(thread, false) } else { Ok(()) }
    }

    #[cold]
    fn block<P>(&mut self, thread: &mut ThreadState<P>, blocked: bool) -> Result<(), Loss> {
        self.blocked = blocked;
        self.watch(thread, blocked || self.state.is_opening())
    }

    fn watch<P>(&self, thread: &ThreadState<P>, writable: bool) -> Result<(), Loss> {
        let Some(transport) = &self.transport else { return Ok(()) };
        Ok(thread.epoll.change(transport.socket().fd(), self.token(), writable)?)
    }

    /// Forgets everything of the connection that it had.
    pub fn drop_connection(&mut self) {
        self.transport = None;
        self.unread.clear();
        self.blocked = false;
        self.generation += 1;
    }
}
