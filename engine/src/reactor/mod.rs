//! One thread's clients: their connections, and whose turn it is.
//!
//! Request and reply cost one write and one read, besides a share of the wait for events: bytes are handed to the
//! session as soon as they are read, and what it answers is written at once. Nothing is shared with other threads, and
//! nothing is allocated.

mod connection;
mod control;
mod desk;
mod epoll;
mod life;
mod punctual;
mod timers;

pub use control::{Bounds, Control, Mail, Message, Refusal};
pub use desk::Settings;
pub use epoll::{Bell, Epoll};
pub use punctual::Punctual;

use std::io;
use std::sync::Arc;

use crate::clock::{self, MILLISECOND, Nanos};
use crate::pace::Pacer;
use crate::record::{Lifetime, Recorder, Window};
use crate::session::{Context, Failure, Session, SessionFactory};

use connection::{Connection, Loss, State};
use desk::Desk;
use epoll::{Ready, Token};
use timers::Alarm;

/// Transactions that take too long are looked for no more often: by so much later than it might one of them ends.
const FINEST_SWEEP: Nanos = MILLISECOND;

/// What is read at once: more than a server's send buffer holds, so that one read takes all there is.
const READ_SIZE: usize = 64 * 1024;

/// One thread's clients.
pub struct Reactor<S: Session, P: Pacer> {
    connections: Vec<Connection<S>>,
    desk: Desk<P>,
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
        mail: Mail,
    ) -> io::Result<Self> {
        let connections: Vec<_> = clients
            .enumerate()
            .map(|(index, client)| Connection::new(factory.session(client), index, client))
            .collect();
        let desk = Desk::new(connections.len(), settings, pacer, recorder, control, mail)?;
        Ok(Self { connections, desk, input: vec![0; READ_SIZE].into_boxed_slice() })
    }

    /// Connects, works as the control says, and tells what was counted.
    pub fn run(mut self) -> io::Result<Lifetime> {
        for index in 0..self.connections.len() {
            self.connect(index, clock::now());
        }
        loop {
            let count = self.desk.wait()?;
            let now = clock::now();
            self.desk.woken = now;
            self.desk.advance(now);
            self.obey(now);
            self.start_due();
            self.renew();
            while let Some((alarm, token)) = self.desk.timers.pop(now) {
                self.ring(alarm, token, now);
                self.renew();
            }
            for number in 0..count {
                if let Some((token, ready)) = self.desk.epoll.event(number) {
                    self.serve(token, ready);
                    self.start_due();
                    self.renew();
                }
            }
            if now >= self.desk.sweep {
                self.sweep();
                self.renew();
            }
            self.let_in();
            if self.desk.settings.bounds.is_some() {
                self.desk.tell_bounds(now);
            }
            if self.desk.is_over(now) {
                return Ok(self.finish());
            }
        }
    }

    /// Takes note of what was decided about the load as a whole.
    fn obey(&mut self, now: Nanos) {
        let desk = &mut self.desk;
        if desk.window == Window::UNKNOWN
            && let Some(window) = desk.control.window()
        {
            desk.window = window;
            desk.recorder.arm(window);
            desk.open();
            desk.advance(now);
        }
        if desk.window.start == Nanos::MAX
            && let Some(window) = desk.control.measurement()
        {
            desk.window = window;
            desk.recorder.measure(window);
            desk.open();
            desk.advance(now);
        }
        let end = desk.control.end();
        if end < desk.window.end {
            desk.window.end = end;
            desk.closes = desk.closes.min(end);
            desk.recorder.end_at(end);
            desk.advance(now);
        }
        if !desk.started && now >= desk.opens {
            desk.started = true;
            for index in 0..self.connections.len() {
                if self.connections[index].state == State::Idle {
                    self.start(index);
                }
            }
        }
    }

    /// Gives the transactions that are due by now to clients that are free.
    #[inline]
    fn start_due(&mut self) {
        // Each at most once: who is done without asking anything must not keep events from being seen.
        for _ in 0..self.desk.idle.len() {
            let now = clock::now();
            let desk = &mut self.desk;
            let due = desk.pacer.due(now);
            if due > now || now >= desk.closes {
                return;
            }
            desk.advance(now);
            desk.pacer.pass(now + 1, &mut desk.recorder);
            if desk.pacer.due(now) > now {
                return; // There is nothing more to make.
            }
            let Some(index) = desk.idle.pop_front() else { return };
            let connection = &mut self.connections[index];
            connection.begin(desk, due, now);
            if let Err(loss) = connection.send(desk) {
                self.lose(index, now, loss);
            }
        }
    }

    /// Makes the connections that transactions wait for. At once: what is still told of the old ones must not be taken for
    /// news of the new.
    #[inline]
    fn renew(&mut self) {
        while let Some(index) = self.desk.renewing.pop_front() {
            self.connections[index].drop_connection();
            self.dial(index, clock::now());
        }
    }

    /// Ends transactions that take too long, and their connections with them.
    #[cold]
    fn sweep(&mut self) {
        let Some(timeout) = self.desk.settings.timeout_ns else { return };
        let now = clock::now();
        let mut next = now.saturating_add(timeout);
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if connection.state != State::Busy && !connection.within {
                continue;
            }
            if S::SEVERAL && !connection.within {
                next = next.min(self.give_up(index, now, timeout));
                continue;
            }
            let limit = connection.begun.saturating_add(timeout);
            if limit <= now {
                self.lose(index, now, Loss::unanswered(timeout));
            } else {
                next = next.min(limit);
            }
        }
        self.desk.sweep = next.max(now + FINEST_SWEEP);
    }

    /// Ends those transactions of a client with several that take too long; when to look again.
    #[cold]
    fn give_up(&mut self, index: usize, now: Nanos, timeout: Nanos) -> Nanos {
        let (connection, desk) = (&mut self.connections[index], &mut self.desk);
        desk.advance(now);
        desk.recorder.serve(connection.client);
        let why = Loss::unanswered(timeout).why;
        let cx = &mut Context { recorder: &mut desk.recorder };
        let limit = now.saturating_sub(timeout);
        let (want, oldest) = connection.session.give_up(cx, now, limit, &why, &mut desk.output);
        if let Err(loss) = connection.follow(desk, want, now) {
            self.lose(index, now, loss);
        }
        oldest.map_or(Nanos::MAX, |begun| begun.saturating_add(timeout))
    }

    /// A client's first transaction: due when the load begins, or when its connection is back.
    fn start(&mut self, index: usize) {
        let now = clock::now();
        self.desk.advance(now);
        let connection = &mut self.connections[index];
        connection.turn(&mut self.desk, now);
        if let Err(loss) = connection.send(&mut self.desk) {
            self.lose(index, now, loss);
        }
    }

    fn ring(&mut self, alarm: Alarm, token: Token, now: Nanos) {
        let index = token.index as usize;
        let connection = &mut self.connections[index];
        if connection.generation != token.generation {
            return;
        }
        match alarm {
            Alarm::Due if connection.state == State::Pausing => {
                let now = clock::now();
                self.desk.advance(now);
                let due = connection.due;
                self.desk.recorder.rested(due);
                if now >= self.desk.closes || now < self.desk.opens {
                    connection.state = State::Idle;
                    return;
                }
                if !connection.may_begin(&mut self.desk, now) {
                    return;
                }
                connection.begin(&mut self.desk, due, now);
                if let Err(loss) = connection.send(&mut self.desk) {
                    self.lose(index, now, loss);
                }
            }
            Alarm::Resume if connection.state == State::Busy => {
                let now = clock::now();
                self.desk.advance(now);
                if let Err(loss) = connection.resume(&mut self.desk, now) {
                    self.lose(index, now, loss);
                }
            }
            Alarm::Connect if connection.state == State::Waiting => self.connect(index, now),
            Alarm::Overdue if connection.state.is_opening() => {
                self.lose(index, now, Loss::overdue(&self.desk.settings))
            }
            _ => {}
        }
    }

    /// Something happened on a connection.
    #[inline]
    fn serve(&mut self, token: Token, ready: Ready) {
        if let Some(token) = token.waiting() {
            return self.ring(Alarm::Resume, token, self.desk.woken);
        }
        let index = token.index as usize;
        let connection = &self.connections[index];
        if connection.generation != token.generation {
            return;
        }
        match connection.state {
            State::Connecting => {
                self.connected(index);
                // The peer may have spoken first; an edge is told only once.
                if ready.readable() && self.connections[index].generation == token.generation {
                    self.receive(index, ready.hung_up());
                }
            }
            State::Securing => self.secure(index),
            _ => {
                if ready.writable() && connection.blocked {
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
        let connection = &mut self.connections[index];
        loop {
            let Some(transport) = &mut connection.transport else { return };
            let count = match transport.read(&mut self.input) {
                Ok(0) => return self.closed(index),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.lose(index, clock::now(), error.into()),
            };
            let drained = transport.drained(count, self.input.len());
            let now = clock::now();
            self.desk.advance(now);
            self.desk.recorder.serve(connection.client);
            self.desk.recorder.received(count);
            match connection.take(&mut self.desk, &self.input[..count], now) {
                Ok(()) => {}
                Err(loss) => return self.lose(index, now, loss),
            }
            if connection.state == State::Securing {
                return self.secure(index);
            }
            if connection.within && connection.state == State::Connecting {
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
        self.desk.advance(now);
        let connection = &mut self.connections[index];
        if connection.state == State::Busy {
            self.desk.recorder.serve(connection.client);
            let cx = &mut Context { recorder: &mut self.desk.recorder };
            if let Some(want) = connection.session.closed(cx, now, &mut self.desk.output) {
                connection.drop_connection();
                if let Err(loss) = connection.follow(&mut self.desk, want, now) {
                    self.lose(index, now, loss);
                }
                return;
            }
        }
        self.lose(index, now, Loss::closed());
    }

    fn unblock(&mut self, index: usize) {
        if let Err(loss) = self.connections[index].flush(&mut self.desk) {
            self.lose(index, clock::now(), loss);
        }
    }

    /// The load is over: a last word to the server, and the account.
    fn finish(mut self) -> Lifetime {
        let now = clock::now();
        self.desk.advance(now);
        let unfinished =
            Failure { code: "unfinished".into(), message: "no answer came before the load was ended".into() };
        for connection in &mut self.connections {
            self.desk.recorder.serve(connection.client);
            match connection.state {
                state if state == State::Busy || connection.within => {
                    connection.session.lost(
                        &mut Context { recorder: &mut self.desk.recorder },
                        now,
                        &unfinished,
                    );
                }
                State::Idle | State::Pausing | State::Spent => {
                    connection.session.goodbye(&mut self.desk.output);
                    let _ = connection.send(&mut self.desk); // It is only polite.
                }
                _ => {}
            }
        }
        self.desk.recorder.finish()
    }
}
