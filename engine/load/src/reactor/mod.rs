//! One thread's clients: their connections, and whose turn it is.
//!
//! Request and reply cost one write and one read, besides a share of the wait for events: bytes are handed to the
//! session as soon as they are read, and what it answers is written at once. Nothing is shared with other threads, and
//! nothing is allocated.

mod client;
mod connect;
mod control;
mod epoll;
mod precise_wait;
mod thread_state;
mod timers;

pub use control::{Bounds, Control, EventSender, Refusal, ThreadEvent};
pub use epoll::{Epoll, Waker};
pub use precise_wait::PreciseWait;
pub use thread_state::Settings;

use std::io;
use std::sync::Arc;

use loadcell_core::clock::{self, MILLISECOND, Nanos};
use loadcell_core::error::Failure;
use loadcell_core::pace::Pacer;
use loadcell_core::record::{LifetimeCounts, Recorder, Window};
use loadcell_core::session::{Context, Session, SessionFactory};

use client::{Client, Loss, State};
use epoll::{Readiness, Token};
use thread_state::ThreadState;
use timers::Timer;

/// Transactions that take too long are looked for no more often: by so much later than it might one of them ends.
const FINEST_SWEEP: Nanos = MILLISECOND;

/// What is read at once: more than a server's send buffer holds, so that one read takes all there is.
const READ_SIZE: usize = 64 * 1024;

/// One thread's clients.
pub struct Reactor<S: Session, P: Pacer> {
    clients: Vec<Client<S>>,
    thread: ThreadState<P>,
    input: Box<[u8]>,
}

impl<S: Session, P: Pacer> Reactor<S, P> {
    /// A reactor for these clients of `factory`. To be made and run on its own thread.
    pub fn new<F: SessionFactory<Session = S>>(
        factory: &F,
        clients: impl Iterator<Item = u32>,
        settings: Settings,
        pacer: P,
        recorder: Recorder,
        control: Arc<Control>,
        events: EventSender,
    ) -> io::Result<Self> {
        let clients: Vec<_> = clients
            .enumerate()
            .map(|(index, client)| Client::new(factory.session(client), index, client))
            .collect();
        let thread = ThreadState::new(clients.len(), settings, pacer, recorder, control, events)?;
        Ok(Self { clients, thread, input: vec![0; READ_SIZE].into_boxed_slice() })
    }

    /// Connects, works as the control says, and tells what was counted.
    pub fn run(mut self) -> io::Result<LifetimeCounts> {
        for index in 0..self.clients.len() {
            self.connect(index, clock::now());
        }
        loop {
            let count = self.thread.wait()?;
            let now = clock::now();
            self.thread.woken = now;
            self.thread.advance(now);
            self.obey(now);
            self.start_due();
            self.renew();
            while let Some((alarm, token)) = self.thread.timers.pop(now) {
                self.ring(alarm, token, now);
                self.renew();
            }
            for number in 0..count {
                if let Some((token, ready)) = self.thread.epoll.event(number) {
                    self.serve(token, ready);
                    self.start_due();
                    self.renew();
                }
            }
            if now >= self.thread.sweep {
                self.sweep();
                self.renew();
            }
            self.let_in();
            if self.thread.settings.bounds.is_some() {
                self.thread.tell_bounds(now);
            }
            if self.thread.is_over(now) {
                return Ok(self.finish());
            }
        }
    }

    /// Takes note of what was decided about the load as a whole.
    fn obey(&mut self, now: Nanos) {
        let thread = &mut self.thread;
        if thread.window == Window::UNKNOWN
            && let Some(window) = thread.control.window()
        {
            thread.window = window;
            thread.recorder.set_window(window);
            thread.open();
            thread.advance(now);
        }
        if thread.window.start == Nanos::MAX
            && let Some(window) = thread.control.measurement()
        {
            thread.window = window;
            thread.recorder.set_measurement(window);
            thread.open();
            thread.advance(now);
        }
        let end = thread.control.end();
        if end < thread.window.end {
            thread.window.end = end;
            thread.closes = thread.closes.min(end);
            thread.recorder.end_at(end);
            thread.advance(now);
        }
        if !thread.started && now >= thread.opens {
            thread.started = true;
            for index in 0..self.clients.len() {
                if self.clients[index].state == State::Idle {
                    self.start(index);
                }
            }
        }
    }

    /// Gives the transactions that are due by now to clients that are free.
    #[inline]
    fn start_due(&mut self) {
        // Each at most once: who is done without asking anything must not keep events from being seen.
        for _ in 0..self.thread.idle.len() {
            let now = clock::now();
            let thread = &mut self.thread;
            let due = thread.pacer.due(now);
            if due > now || now >= thread.closes {
                return;
            }
            thread.advance(now);
            thread.pacer.mark_due_until(now + 1, &mut thread.recorder);
            if thread.pacer.due(now) > now {
                return; // There is nothing more to make.
            }
            let Some(index) = thread.idle.pop_front() else { return };
            let client = &mut self.clients[index];
            client.begin(thread, due, now);
            if let Err(loss) = client.send(thread) {
                self.lose(index, now, loss);
            }
        }
    }

    /// Makes the connections that transactions wait for. At once: what is still told of the old ones must not be taken for
    /// news of the new.
    #[inline]
    fn renew(&mut self) {
        while let Some(index) = self.thread.renewing.pop_front() {
            self.clients[index].drop_connection();
            self.dial(index, clock::now());
        }
    }

    /// Ends transactions that take too long, and their connections with them.
    #[cold]
    fn sweep(&mut self) {
        let Some(timeout) = self.thread.settings.timeout_ns else { return };
        let now = clock::now();
        let mut next = now.saturating_add(timeout);
        for index in 0..self.clients.len() {
            let client = &self.clients[index];
            if client.state != State::Busy && !client.within {
                continue;
            }
            if S::MULTIPLEXED && !client.within {
                next = next.min(self.expire_requests(index, now, timeout));
                continue;
            }
            let limit = client.begun.saturating_add(timeout);
            if limit <= now {
                self.lose(index, now, Loss::unanswered(timeout));
            } else {
                next = next.min(limit);
            }
        }
        self.thread.sweep = next.max(now + FINEST_SWEEP);
    }

    /// Ends those transactions of a client with several that take too long; when to look again.
    #[cold]
    fn expire_requests(&mut self, index: usize, now: Nanos, timeout: Nanos) -> Nanos {
        let (client, thread) = (&mut self.clients[index], &mut self.thread);
        thread.advance(now);
        thread.recorder.set_client(client.client);
        let why = Loss::unanswered(timeout).why;
        let cx = &mut Context { recorder: &mut thread.recorder };
        let limit = now.saturating_sub(timeout);
        let (action, oldest) = client.session.expire_requests(cx, now, limit, &why, &mut thread.output);
        if let Err(loss) = client.follow(thread, action, now) {
            self.lose(index, now, loss);
        }
        oldest.map_or(Nanos::MAX, |begun| begun.saturating_add(timeout))
    }

    /// A client's first transaction: due when the load begins, or when its connection is back.
    fn start(&mut self, index: usize) {
        let now = clock::now();
        self.thread.advance(now);
        let client = &mut self.clients[index];
        client.turn(&mut self.thread, now);
        if let Err(loss) = client.send(&mut self.thread) {
            self.lose(index, now, loss);
        }
    }

    fn ring(&mut self, alarm: Timer, token: Token, now: Nanos) {
        let index = token.index as usize;
        let client = &mut self.clients[index];
        if client.generation != token.generation {
            return;
        }
        match alarm {
            Timer::Due if client.state == State::Pausing => {
                let now = clock::now();
                self.thread.advance(now);
                let due = client.due;
                self.thread.recorder.end_rest(due);
                if now >= self.thread.closes || now < self.thread.opens {
                    client.state = State::Idle;
                    return;
                }
                if !client.may_begin(&mut self.thread, now) {
                    return;
                }
                client.begin(&mut self.thread, due, now);
                if let Err(loss) = client.send(&mut self.thread) {
                    self.lose(index, now, loss);
                }
            }
            Timer::Resume if client.state == State::Busy => {
                let now = clock::now();
                self.thread.advance(now);
                if let Err(loss) = client.resume(&mut self.thread, now) {
                    self.lose(index, now, loss);
                }
            }
            Timer::Connect if client.state == State::Waiting => self.connect(index, now),
            Timer::Overdue if client.state.is_opening() => {
                self.lose(index, now, Loss::overdue(&self.thread.settings))
            }
            _ => {}
        }
    }

    /// Something happened on a connection.
    #[inline]
    fn serve(&mut self, token: Token, ready: Readiness) {
        if let Some(token) = token.waiting() {
            return self.ring(Timer::Resume, token, self.thread.woken);
        }
        let index = token.index as usize;
        let client = &self.clients[index];
        if client.generation != token.generation {
            return;
        }
        match client.state {
            State::Connecting => {
                self.connected(index);
                // The peer may have spoken first; an edge is told only once.
                if ready.readable() && self.clients[index].generation == token.generation {
                    self.receive(index, ready.hung_up());
                }
            }
            State::Securing => self.secure(index),
            _ => {
                if ready.writable() && client.blocked {
                    self.unblock(index);
                }
                if ready.readable() {
                    self.receive(index, ready.hung_up());
                }
            }
        }
    }

    /// Reads what arrived, lets the session have it, and sends what it says to that.
    fn receive(&mut self, index: usize, hung_up: bool) {
        let client = &mut self.clients[index];
        loop {
            let Some(transport) = &mut client.transport else { return };
            let count = match transport.read(&mut self.input) {
                Ok(0) => return self.closed(index),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.lose(index, clock::now(), error.into()),
            };
            let drained = transport.drained(count, self.input.len());
            let now = clock::now();
            self.thread.advance(now);
            self.thread.recorder.set_client(client.client);
            self.thread.recorder.received(count);
            match client.take(&mut self.thread, &self.input[..count], now) {
                Ok(()) => {}
                Err(loss) => return self.lose(index, now, loss),
            }
            if client.state == State::Securing {
                return self.secure(index);
            }
            if client.within && client.state == State::Connecting {
                return; // It is done with this one.
            }
            if drained && !hung_up {
                return;
            }
        }
    }

    /// The peer has closed the connection.
    #[cold]
    fn closed(&mut self, index: usize) {
        let now = clock::now();
        self.thread.advance(now);
        let client = &mut self.clients[index];
        if client.state == State::Busy {
            self.thread.recorder.set_client(client.client);
            let cx = &mut Context { recorder: &mut self.thread.recorder };
            if let Some(action) = client.session.closed(cx, now, &mut self.thread.output) {
                client.drop_connection();
                if let Err(loss) = client.follow(&mut self.thread, action, now) {
                    self.lose(index, now, loss);
                }
                return;
            }
        }
        self.lose(index, now, Loss::closed());
    }

    fn unblock(&mut self, index: usize) {
        if let Err(loss) = self.clients[index].flush(&mut self.thread) {
            self.lose(index, clock::now(), loss);
        }
    }

    /// The load is over: a last word to the server, and the account.
    fn finish(mut self) -> LifetimeCounts {
        let now = clock::now();
        self.thread.advance(now);
        let unfinished =
            Failure { code: "unfinished".into(), message: "no answer came before the load was ended".into() };
        for client in &mut self.clients {
            self.thread.recorder.set_client(client.client);
            match client.state {
                state if state == State::Busy || client.within => {
                    client.session.lost(
                        &mut Context { recorder: &mut self.thread.recorder },
                        now,
                        &unfinished,
                    );
                }
                State::Idle | State::Pausing | State::Spent => {
                    client.session.goodbye(&mut self.thread.output);
                    let _ = client.send(&mut self.thread); // It is only polite.
                }
                _ => {}
            }
        }
        self.thread.recorder.finish()
    }
}
