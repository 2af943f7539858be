//! Clients of one thread: their connections, and the order in which they start transactions.
//!
//! Request and reply cost one write and one read, besides a share of the wait for events: bytes go to the
//! session as soon as they are read, and its output is written at once. Nothing is shared with other threads,
//! and nothing is allocated for a request.

mod client;
mod connect;
mod control;
mod precise_wait;
mod shared;
mod thread_state;
mod timers;

pub use client::Loss;
pub use control::{Bounds, Control, EventSender, ThreadEvent};
pub use loadcell_transport::epoll::Waker;
pub use shared::Settings;
pub use thread_state::{ThreadContext, ThreadState};

use std::io;

use loadcell_core::clock::{self, MILLISECOND, Nanos};
use loadcell_core::error::Failure;
use loadcell_core::pace::Pacer;
use loadcell_core::record::{LifetimeCounts, UNFINISHED};
use loadcell_core::session::{Context, Session, SessionFactory};

use client::{Client, State};
use loadcell_transport::epoll::{Readiness, Token};
use shared::Shared;
use timers::Timer;

/// Minimum period between timeout sweeps; a transaction may exceed its timeout by this much.
const MIN_SWEEP_PERIOD: Nanos = MILLISECOND;

/// Size of the read buffer: more than a server's send buffer, so that one read takes all that has arrived.
const READ_SIZE: usize = 64 * 1024;

/// Reads of one socket before other clients, timers and decisions have their turn: more than the longest
/// answers take, so that only a server that sends without end is interrupted.
const READS_AT_ONCE: usize = 16;

/// Event loop of one thread's clients.
pub struct Reactor<S: Session, P: Pacer> {
    clients: Vec<Client<S>>,
    shared: Shared<P>,
    input: Box<[u8]>,
}

impl<S: Session, P: Pacer> Reactor<S, P> {
    /// Creates a reactor for the given client numbers. To be created and run on its own thread.
    pub fn new<F: SessionFactory<Session = S>>(
        factory: &F,
        clients: impl Iterator<Item = u32>,
        settings: Settings,
        pacer: P,
        context: ThreadContext,
    ) -> io::Result<Self> {
        let clients: Vec<_> = clients
            .enumerate()
            .map(|(index, client)| Client::new(factory.session(client), index, client))
            .collect();
        let shared = Shared::new(clients.len(), settings, context, pacer)?;
        Ok(Self { clients, shared, input: vec![0; READ_SIZE].into_boxed_slice() })
    }

    /// Connects the clients and runs the load as the control says. Returns all that was counted.
    pub fn run(mut self) -> io::Result<LifetimeCounts> {
        for index in 0..self.clients.len() {
            self.connect(index, clock::now());
        }
        loop {
            let count = self.shared.wait()?;
            let now = clock::now();
            self.shared.woken_at = now;
            self.shared.thread.advance(now);
            self.apply_control(now);
            self.start_due();
            self.reconnect_pending();
            while let Some((timer, token)) = self.shared.timers.pop(now) {
                self.fire_timer(timer, token, now);
                self.reconnect_pending();
            }
            for number in 0..count {
                if let Some((token, readiness)) = self.shared.thread.epoll.event(number) {
                    self.handle_event(token, readiness);
                    self.start_due();
                    self.reconnect_pending();
                }
            }
            if now >= self.shared.next_sweep {
                self.expire_timeouts();
                self.reconnect_pending();
            }
            self.admit_queued();
            self.shared.thread.report_bounds(now);
            if self.shared.is_over(now) {
                return Ok(self.finish());
            }
        }
    }

    /// Applies the coordinator's decisions, and starts the idle clients once the window has begun.
    fn apply_control(&mut self, now: Nanos) {
        let shared = &mut self.shared;
        if shared.thread.apply_control() {
            shared.on_window_opened();
        }
        shared.thread.advance(now);
        if !shared.started && now >= shared.thread.admit_from {
            shared.started = true;
            for index in 0..self.clients.len() {
                if self.clients[index].state == State::Idle {
                    self.start_first(index);
                }
            }
        }
    }

    /// Starts due transactions on idle clients.
    #[inline]
    fn start_due(&mut self) {
        // Each client at most once: one that completes without I/O must not keep events from being handled.
        for _ in 0..self.shared.idle.len() {
            let now = clock::now();
            let shared = &mut self.shared;
            let thread = &mut shared.thread;
            let due = thread.pacer.due(now);
            if due > now || now >= thread.admit_until {
                return;
            }
            thread.advance(now);
            thread.pacer.mark_due_until(now + 1, &mut thread.recorder);
            if thread.pacer.due(now) > now {
                return; // The quota is exhausted.
            }
            let Some(index) = shared.idle.pop_front() else { return };
            let client = &mut self.clients[index];
            client.start(shared, due, now);
            if let Err(loss) = client.send(shared) {
                self.on_loss(index, now, loss);
            }
        }
    }

    /// Makes the connections that transactions wait for. At once: later events of the old connection must not
    /// be taken for events of the new one.
    #[inline]
    fn reconnect_pending(&mut self) {
        while let Some(index) = self.shared.reconnect_queue.pop_front() {
            self.clients[index].drop_connection();
            self.dial(index, clock::now());
        }
    }

    /// Fails transactions that exceed their timeout, and closes their connections.
    #[cold]
    fn expire_timeouts(&mut self) {
        let Some(timeout) = self.shared.settings.timeout_ns else { return };
        let now = clock::now();
        let mut next = now.saturating_add(timeout);
        for index in 0..self.clients.len() {
            let client = &self.clients[index];
            if client.state != State::Busy && !client.reconnecting {
                continue;
            }
            if S::MULTIPLEXED && !client.reconnecting {
                next = next.min(self.expire_requests(index, now, timeout));
                continue;
            }
            let since = client.session.timed_since().unwrap_or(client.started_at);
            let limit = since.saturating_add(timeout);
            if limit <= now {
                self.on_loss(index, now, Loss::unanswered(timeout));
            } else {
                next = next.min(limit);
            }
        }
        self.shared.next_sweep = next.max(now + MIN_SWEEP_PERIOD);
    }

    /// Fails the expired requests of a client that has several in progress. Returns when the next one
    /// expires.
    #[cold]
    fn expire_requests(&mut self, index: usize, now: Nanos, timeout: Nanos) -> Nanos {
        let (client, shared) = (&mut self.clients[index], &mut self.shared);
        let thread = &mut shared.thread;
        thread.advance(now);
        thread.recorder.set_client(client.number);
        let why = Loss::unanswered(timeout).why;
        let cx = &mut Context { recorder: &mut thread.recorder };
        let limit = now.saturating_sub(timeout);
        let (action, oldest) = client.session.expire_requests(cx, now, limit, &why, &mut shared.output);
        if let Err(loss) = client.apply(shared, action, now) {
            self.on_loss(index, now, loss);
        }
        oldest.map_or(Nanos::MAX, |started_at| started_at.saturating_add(timeout))
    }

    /// Schedules a client's first transaction in the window that has just begun.
    fn start_first(&mut self, index: usize) {
        let now = clock::now();
        self.shared.thread.advance(now);
        let client = &mut self.clients[index];
        client.schedule_next(&mut self.shared, now);
        if let Err(loss) = client.send(&mut self.shared) {
            self.on_loss(index, now, loss);
        }
    }

    fn fire_timer(&mut self, timer: Timer, token: Token, now: Nanos) {
        let index = token.index as usize;
        let client = &mut self.clients[index];
        if client.generation != token.generation {
            return;
        }
        match timer {
            Timer::Start if client.state == State::Pausing => {
                let now = clock::now();
                let shared = &mut self.shared;
                shared.thread.advance(now);
                let due = client.due;
                shared.thread.recorder.end_think_time(due);
                if now >= shared.thread.admit_until || now < shared.thread.admit_from {
                    client.state = State::Idle;
                    return;
                }
                if !client.reserve_or_finish(shared, now) {
                    return;
                }
                client.start(shared, due, now);
                if let Err(loss) = client.send(shared) {
                    self.on_loss(index, now, loss);
                }
            }
            Timer::Resume if client.state == State::Busy => {
                let now = clock::now();
                self.shared.thread.advance(now);
                if let Err(loss) = client.resume(&mut self.shared, now) {
                    self.on_loss(index, now, loss);
                }
            }
            Timer::Receive => self.receive(index, true),
            Timer::Connect if client.state == State::Waiting => self.connect(index, now),
            Timer::ConnectTimeout if client.state.is_connecting() => {
                self.on_loss(index, now, Loss::connect_timeout(&self.shared.settings))
            }
            _ => {}
        }
    }

    /// Handles an event of a client's socket, or of the descriptor that its session waits for.
    #[inline]
    fn handle_event(&mut self, token: Token, readiness: Readiness) {
        if let Some(token) = token.auxiliary_owner() {
            return self.fire_timer(Timer::Resume, token, self.shared.woken_at);
        }
        let index = token.index as usize;
        let client = &self.clients[index];
        if client.generation != token.generation {
            return;
        }
        match client.state {
            State::Connecting => {
                self.on_connected(index);
                // The peer may have sent first, and the edge is reported only once.
                if readiness.readable() && self.clients[index].generation == token.generation {
                    self.receive(index, readiness.hung_up());
                }
            }
            State::Securing => self.continue_tls(index),
            _ => {
                if readiness.writable() && client.blocked {
                    self.flush(index);
                }
                if readiness.readable() {
                    self.receive(index, readiness.hung_up());
                }
            }
        }
    }

    /// Reads what has arrived, passes it to the session, and sends the session's output.
    fn receive(&mut self, index: usize, hung_up: bool) {
        let client = &mut self.clients[index];
        for _ in 0..READS_AT_ONCE {
            let Some(transport) = &mut client.transport else { return };
            let count = match transport.read(&mut self.input) {
                Ok(0) => return self.on_peer_closed(index),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.on_loss(index, clock::now(), error.into()),
            };
            let drained = transport.drained(count, self.input.len());
            let now = clock::now();
            let thread = &mut self.shared.thread;
            thread.advance(now);
            thread.recorder.set_client(client.number);
            thread.recorder.received(count);
            match client.on_bytes(&mut self.shared, &self.input[..count], now) {
                Ok(()) => {}
                Err(loss) => return self.on_loss(index, now, loss),
            }
            if client.state == State::Securing {
                return self.continue_tls(index);
            }
            if client.reconnecting && client.state == State::Connecting {
                return; // This connection is done.
            }
            if drained && !hung_up {
                return;
            }
        }
        // Its socket reports no further event for what has arrived already.
        self.shared.timers.set(clock::now(), Timer::Receive, client.token());
    }

    #[cold]
    fn on_peer_closed(&mut self, index: usize) {
        let now = clock::now();
        let thread = &mut self.shared.thread;
        thread.advance(now);
        let client = &mut self.clients[index];
        if client.state == State::Busy {
            thread.recorder.set_client(client.number);
            let cx = &mut Context { recorder: &mut thread.recorder };
            if let Some(action) = client.session.closed(cx, now, &mut self.shared.output) {
                client.drop_connection();
                if let Err(loss) = client.apply(&mut self.shared, action, now) {
                    self.on_loss(index, now, loss);
                }
                return;
            }
        }
        self.on_loss(index, now, Loss::closed());
    }

    fn flush(&mut self, index: usize) {
        if let Err(loss) = self.clients[index].flush(&mut self.shared) {
            self.on_loss(index, clock::now(), loss);
        }
    }

    /// Takes leave of the server, and returns all that was counted.
    fn finish(mut self) -> LifetimeCounts {
        let now = clock::now();
        let shared = &mut self.shared;
        shared.thread.advance(now);
        let unfinished =
            Failure { code: UNFINISHED.into(), message: "no answer came before the load was ended".into() };
        for client in &mut self.clients {
            let recorder = &mut shared.thread.recorder;
            recorder.set_client(client.number);
            match client.state {
                state if state == State::Busy || client.reconnecting => {
                    client.session.lost(&mut Context { recorder }, now, &unfinished);
                }
                State::Idle | State::Pausing | State::Exhausted => {
                    client.session.goodbye(&mut shared.output);
                    let _ = client.send(shared); // Best effort: the load is over.
                }
                _ => {}
            }
        }
        self.shared.thread.recorder.finish()
    }
}
