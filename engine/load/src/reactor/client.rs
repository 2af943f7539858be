//! A client: its session, and the state machine of its connection.

use std::io;
use std::os::fd::RawFd;

use super::Settings;
use super::shared::Shared;
use super::timers::Timer;
use loadcell_core::clock::Nanos;
use loadcell_core::error::Failure;
use loadcell_core::pace::Pacer;
use loadcell_core::session::{Context, NextAction, Session};
use loadcell_transport::Transport;
use loadcell_transport::epoll::Token;

/// Limit of output in bytes that a server does not read while it asks for more: for such output that is added
/// to output that already waits.
const MOST_UNSENT: usize = 32 << 20;

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Without a connection, until a timer or its place in the queue makes one.
    Waiting,
    /// The operating system connects.
    Connecting,
    /// TLS handshake.
    Securing,
    /// Handshake of the session's protocol.
    Opening,
    /// Ready for a transaction: none is due, or the window is not open.
    Idle,
    /// Resting by its own choice before its next transaction (think time).
    Pausing,
    /// A transaction is in progress.
    Busy,
    /// Out of quota.
    Exhausted,
    /// Without a connection for good.
    Closed,
}

impl State {
    pub fn is_connecting(self) -> bool {
        matches!(self, Self::Connecting | Self::Securing | Self::Opening)
    }
}

/// Failure of a connection that could not be made, or is lost.
#[derive(Clone, Debug)]
pub struct Loss {
    pub why: Failure,
    /// Error number of the operating system, where a system call failed. Sessions and the retries of a first
    /// connection distinguish more of them than failure codes do.
    pub errno: Option<i32>,
}

impl Loss {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { why: Failure { code: code.into(), message: message.into() }, errno: None }
    }

    pub fn closed() -> Self {
        Self::new("connection", "the server closed the connection")
    }

    /// A transaction exceeded its timeout.
    pub fn unanswered(timeout_ns: Nanos) -> Self {
        Self::new("timeout", format!("no answer within {} s", timeout_ns as f64 / 1e9))
    }

    /// The server does not read the replies that it asks for.
    pub fn unread() -> Self {
        let unread = MOST_UNSENT >> 20;
        Self::new(
            "protocol",
            format!("the server asks for replies and does not read them: {unread} MiB wait"),
        )
    }

    pub fn connect_timeout(settings: &Settings) -> Self {
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

/// A client of the load.
pub struct Client<S> {
    pub session: S,
    /// Number within this reactor.
    pub index: usize,
    /// Number within the load.
    pub number: u32,
    pub state: State,
    pub transport: Option<Transport>,
    /// Counts connections made and lost: events and timers of an earlier one are ignored.
    pub generation: u32,
    /// Bytes of an incomplete message.
    unread: Vec<u8>,
    /// The transport has not taken all output.
    pub blocked: bool,
    /// When the client could have started its next transaction, without and with the need of a connection.
    pub idle_since: Nanos,
    pub connected_since: Nanos,
    /// End of its think time.
    pub due: Nanos,
    /// Start of the transaction in progress.
    pub started_at: Nanos,
    /// A connection is being made for the transaction in progress; `state` is then that of the connection.
    pub reconnecting: bool,
    /// The client has had a connection before.
    pub was_connected: bool,
    /// The time after its quota is being counted as rest.
    exhausted: bool,
    /// Attempts since the last connection: time of the first, number of failed ones, number of those followed
    /// at once by another kind of connection, and index of the target's address.
    pub tried_since: Nanos,
    pub failed_attempts: u32,
    pub detours: u32,
    pub address: usize,
}

impl<S: Session> Client<S> {
    pub fn new(session: S, index: usize, number: u32) -> Self {
        Self {
            session,
            index,
            number,
            state: State::Waiting,
            transport: None,
            generation: 0,
            unread: Vec::new(),
            blocked: false,
            idle_since: 0,
            connected_since: 0,
            due: 0,
            started_at: 0,
            reconnecting: false,
            was_connected: false,
            exhausted: false,
            tried_since: 0,
            failed_attempts: 0,
            detours: 0,
            address: 0,
        }
    }

    pub fn token(&self) -> Token {
        Token { index: self.index as u32, generation: self.generation }
    }

    /// Passes bytes that arrived at `now` to the session, and applies its next action.
    #[inline]
    pub fn on_bytes<P: Pacer>(
        &mut self,
        shared: &mut Shared<P>,
        bytes: &[u8],
        now: Nanos,
    ) -> Result<(), Loss> {
        let recorder = &mut shared.thread.recorder;
        recorder.set_client(self.number);
        let cx = &mut Context { recorder };
        let action = if self.unread.is_empty() {
            let step = self.session.received(cx, now, bytes, &mut shared.output)?;
            if step.consumed < bytes.len() {
                self.unread.extend_from_slice(&bytes[step.consumed..]);
            }
            step.action
        } else {
            self.unread.extend_from_slice(bytes);
            let step = self.session.received(cx, now, &self.unread, &mut shared.output)?;
            self.unread.drain(..step.consumed);
            step.action
        };
        self.apply(shared, action, now)
    }

    /// Applies the session's next action, and sends its output.
    #[inline]
    pub fn apply<P: Pacer>(
        &mut self,
        shared: &mut Shared<P>,
        action: NextAction,
        now: Nanos,
    ) -> Result<(), Loss> {
        match action {
            NextAction::Reply => {}
            NextAction::Idle => {
                if self.state == State::Busy {
                    shared.in_progress -= 1;
                    (self.idle_since, self.connected_since) = (now, now);
                    self.schedule_next(shared, now);
                } else if self.state == State::Opening && self.reconnecting {
                    return self.on_reconnected(shared, now);
                } else if self.state == State::Opening {
                    self.on_opened(shared, now)?;
                    self.schedule_next(shared, now);
                }
            }
            NextAction::CanStartMore => self.start_stream(shared, now),
            NextAction::Connect => self.request_connection(shared),
            NextAction::Pause(until) => shared.timers.set(until, Timer::Resume, self.token()),
            NextAction::AwaitReadable(descriptor) => self.await_readable(shared, descriptor, now),
            NextAction::StartTls => {
                // Bytes sent before TLS must not be taken for bytes under its protection.
                if !self.unread.is_empty() {
                    return Err(Loss::new("protocol", "the server sent more than its agreement to TLS"));
                }
                self.state = State::Securing;
            }
        }
        self.send(shared)
    }

    /// The session is ready for transactions.
    #[cold]
    fn on_opened<P: Pacer>(&mut self, shared: &mut Shared<P>, now: Nanos) -> Result<(), Loss> {
        self.state = State::Idle;
        self.connected_since = now;
        (self.failed_attempts, self.detours) = (0, 0);
        shared.connecting -= 1;
        shared.thread.on_connected(now, std::mem::replace(&mut self.was_connected, true));
        // From here on writability matters only when output is blocked: see `send`.
        self.watch(shared, self.blocked)
    }

    /// Queues the client for a new connection, which its transaction in progress needs.
    fn request_connection<P>(&mut self, shared: &mut Shared<P>) {
        (self.state, self.reconnecting) = (State::Connecting, true);
        shared.reconnect_queue.push_back(self.index);
    }

    /// The connection that the transaction in progress needs is ready. Its socket stays registered for
    /// writability, too, which causes no events while it is writable.
    fn on_reconnected<P: Pacer>(&mut self, shared: &mut Shared<P>, now: Nanos) -> Result<(), Loss> {
        (self.state, self.reconnecting) = (State::Busy, false);
        (self.failed_attempts, self.detours) = (0, 0);
        shared.thread.recorder.count_connect();
        self.resume(shared, now)
    }

    /// Starts the next transaction if one is due; otherwise sets a timer for it, or joins the idle clients.
    #[inline]
    pub fn schedule_next<P: Pacer>(&mut self, shared: &mut Shared<P>, now: Nanos) {
        self.state = State::Idle;
        let thread = &mut shared.thread;
        if now < thread.admit_from || now >= thread.admit_until {
            return;
        }
        if P::SCHEDULED {
            thread.pacer.mark_due_until(now + 1, &mut thread.recorder);
            // Clients that are idle already have precedence.
            let due = thread.pacer.due(now);
            if shared.idle.is_empty() && due <= now {
                self.start(shared, due, now);
            } else {
                shared.idle.push_back(self.index);
            }
            return;
        }
        if !self.reserve_or_finish(shared, now) {
            return;
        }
        let thread = &mut shared.thread;
        let idle_since = self.idle_since.max(thread.admit_from);
        let due = thread.pacer.due(idle_since.saturating_add(self.session.think_time(idle_since)));
        if due > now {
            self.state = State::Pausing;
            self.due = due;
            thread.recorder.begin_think_time(idle_since);
            shared.timers.set(due, Timer::Start, self.token());
        } else {
            self.start(shared, due, now);
        }
    }

    /// Reserves one transaction of a closed loop's quota. Returns false when there is none: the client is
    /// done.
    #[inline]
    pub fn reserve_or_finish<P>(&mut self, shared: &mut Shared<P>, now: Nanos) -> bool {
        let recorder = &mut shared.thread.recorder;
        recorder.set_client(self.number);
        if recorder.reserve(1) > 0 {
            return true;
        }
        self.state = State::Exhausted;
        if !std::mem::replace(&mut self.exhausted, true) {
            recorder.begin_think_time(now);
        }
        false
    }

    /// Starts the transaction that is due at `intended`, which the pacer has marked.
    #[inline]
    pub fn start<P: Pacer>(&mut self, shared: &mut Shared<P>, intended: Nanos, now: Nanos) {
        let thread = &mut shared.thread;
        thread.recorder.set_client(self.number);
        if self.connected_since > intended {
            thread.recorder.record_backlog_wait(now - intended);
        } else {
            // The thread learns that a client is idle when it wakes up: it is not late before then.
            let on_completion = intended == self.idle_since.max(thread.admit_from);
            let possible =
                if on_completion { shared.woken_at.min(now).max(thread.admit_from) } else { intended };
            thread.recorder.record_lateness(now - possible);
        }
        thread.pacer.start_next(&mut thread.recorder);
        self.state = State::Busy;
        self.started_at = now;
        shared.in_progress += 1;
        let cx = &mut Context { recorder: &mut thread.recorder };
        match self.session.begin(cx, intended, now, &mut shared.output) {
            NextAction::Pause(until) => shared.timers.set(until, Timer::Resume, self.token()),
            NextAction::AwaitReadable(descriptor) => self.await_readable(shared, descriptor, now),
            NextAction::Idle => self.on_completed_immediately(shared, now),
            NextAction::Connect => self.request_connection(shared),
            action => debug_assert_eq!(action, NextAction::Reply, "`begin` asks for no other action"),
        }
    }

    /// Starts one more request beside those in progress, if the window and the quota allow.
    #[inline]
    fn start_stream<P: Pacer>(&mut self, shared: &mut Shared<P>, now: Nanos) {
        debug_assert!(!P::SCHEDULED, "a scheduled request has its own connection");
        let thread = &mut shared.thread;
        thread.recorder.set_client(self.number);
        if self.state != State::Busy
            || now < thread.admit_from
            || now >= thread.admit_until
            || thread.recorder.reserve(1) == 0
        {
            return;
        }
        thread.recorder.record_lateness(now - shared.woken_at.min(now).max(thread.admit_from));
        let cx = &mut Context { recorder: &mut thread.recorder };
        let action = self.session.begin(cx, now, now, &mut shared.output);
        debug_assert_eq!(action, NextAction::Reply, "the client is connected");
    }

    /// A transaction completed without I/O. Other clients come first before its next one.
    #[cold]
    fn on_completed_immediately<P: Pacer>(&mut self, shared: &mut Shared<P>, now: Nanos) {
        shared.in_progress -= 1;
        (self.idle_since, self.connected_since, self.due) = (now, now, now);
        if P::SCHEDULED {
            self.state = State::Idle;
            shared.idle.push_back(self.index);
            return;
        }
        self.state = State::Pausing;
        shared.thread.recorder.begin_think_time(now);
        shared.timers.set(now, Timer::Start, self.token());
    }

    /// Resumes the session when `descriptor` is readable. A descriptor that epoll refuses is taken for
    /// readable.
    #[cold]
    fn await_readable<P: Pacer>(&mut self, shared: &mut Shared<P>, descriptor: RawFd, now: Nanos) {
        if shared.thread.epoll.add(descriptor, self.token().auxiliary(), false).is_err() {
            shared.timers.set(now, Timer::Resume, self.token());
        }
    }

    /// Resumes the session after a pause within its transaction.
    pub fn resume<P: Pacer>(&mut self, shared: &mut Shared<P>, now: Nanos) -> Result<(), Loss> {
        let recorder = &mut shared.thread.recorder;
        recorder.set_client(self.number);
        let action = self.session.resume(&mut Context { recorder }, now, &mut shared.output);
        self.apply(shared, action, now)
    }

    /// Sends the session's output.
    #[inline]
    pub fn send<P>(&mut self, shared: &mut Shared<P>) -> Result<(), Loss> {
        if shared.output.is_empty() {
            return Ok(());
        }
        let Some(transport) = &mut self.transport else {
            shared.output.clear();
            return Ok(());
        };
        let sent = transport.send(&shared.output);
        shared.output.clear();
        let complete = sent?;
        if self.blocked && !complete && transport.unsent() > MOST_UNSENT {
            return Err(Loss::unread());
        }
        if complete == self.blocked { self.set_blocked(shared, !complete) } else { Ok(()) }
    }

    /// Sends blocked output, as the transport takes bytes again.
    #[cold]
    pub fn flush<P>(&mut self, shared: &mut Shared<P>) -> Result<(), Loss> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        if transport.flush()? { self.set_blocked(shared, false) } else { Ok(()) }
    }

    #[cold]
    fn set_blocked<P>(&mut self, shared: &mut Shared<P>, blocked: bool) -> Result<(), Loss> {
        self.blocked = blocked;
        self.watch(shared, blocked || self.state.is_connecting())
    }

    fn watch<P>(&self, shared: &Shared<P>, writable: bool) -> Result<(), Loss> {
        let Some(transport) = &self.transport else { return Ok(()) };
        Ok(shared.thread.epoll.change(transport.socket().fd(), self.token(), writable)?)
    }

    /// Drops the connection, with its unread input.
    pub fn drop_connection(&mut self) {
        self.transport = None;
        self.unread.clear();
        self.blocked = false;
        self.generation += 1;
    }
}
