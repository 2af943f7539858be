//! One thread's clients: their connections, and whose turn it is.
//!
//! Request and reply cost one write and one read, besides a share of the wait for events: bytes are handed to the
//! session as soon as they are read, and what it answers is written at once. Nothing is shared with other threads, and
//! nothing is allocated.

mod connection;
mod control;
mod epoll;
mod life;
mod punctual;
mod timers;

pub use control::{Bounds, Control, Mail, Message, Refusal};
pub use epoll::{Bell, Epoll};
pub use punctual::Punctual;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use crate::clock::{self, MILLISECOND, Nanos};
use crate::pace::Pacer;
use crate::record::{Lifetime, Recorder, Window};
use crate::session::{Context, Failure, Session, SessionFactory};
use crate::transport::Endpoint;

use connection::{Connection, Loss, State};
use epoll::{Ready, Token};
use timers::{Alarm, Timers};

/// Transactions that take too long are looked for no more often: by so much later than it might one of them ends.
const FINEST_SWEEP: Nanos = MILLISECOND;

/// What is read at once: more than a server's send buffer holds, so that one read takes all there is.
const READ_SIZE: usize = 64 * 1024;

/// What a reactor has to know beside its clients.
pub struct Settings {
    pub endpoint: Arc<Endpoint>,
    /// How long one attempt to connect may take, the protocol's handshake included.
    pub connect_timeout_ns: Nanos,
    /// How long transactions may take that are in progress when the window ends.
    pub drain_ns: Nanos,
    /// None where time alone ends the load.
    pub bounds: Option<Bounds>,
    /// How long a transaction may take from when it was begun, if there is a limit.
    pub timeout_ns: Option<Nanos>,
}

/// One thread's clients.
pub struct Reactor<S: Session, P: Pacer> {
    connections: Vec<Connection<S>>,
    desk: Desk<P>,
    input: Box<[u8]>,
}

/// Everything of a reactor that is not a connection.
struct Desk<P> {
    settings: Settings,
    control: Arc<Control>,
    mail: Mail,
    epoll: Epoll,
    punctual: Punctual,
    timers: Timers,
    recorder: Recorder,
    pacer: P,
    window: Window,
    /// While it lasts transactions may be started, `[opens, closes)`: the window, or of a load with bounds first the
    /// warm-up and then the measurement.
    opens: Nanos,
    closes: Nanos,
    /// Of a load with bounds: when the warm-up brings nothing more.
    hold: Nanos,
    started: bool,
    /// What was told of a load with bounds.
    settled: bool,
    spent: bool,
    /// What a session wants to send; empty again when it is sent.
    output: Vec<u8>,
    /// When the last wait for events ended.
    woken: Nanos,
    /// Transactions in progress.
    busy: usize,
    /// Clients for whom no transaction is due, in the order in which they became free. None in a closed loop.
    idle: VecDeque<usize>,
    /// Connections being made, and clients that wait until there are fewer of them.
    opening: usize,
    queue: VecDeque<usize>,
    /// Clients whose transaction waits for a connection that is not begun to be made yet.
    renewing: VecDeque<usize>,
    /// When to look next for transactions that take too long.
    sweep: Nanos,
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
        let epoll = Epoll::new(control.bell.clone())?;
        let desk = Desk {
            settings,
            control,
            mail,
            epoll,
            punctual: Punctual::default(),
            timers: Timers::default(),
            recorder,
            pacer,
            window: Window::UNKNOWN,
            opens: Nanos::MAX,
            closes: Nanos::MAX,
            hold: Nanos::MAX,
            started: false,
            settled: false,
            spent: false,
            output: Vec::with_capacity(READ_SIZE),
            woken: clock::now(),
            busy: 0,
            idle: VecDeque::with_capacity(connections.len()),
            opening: 0,
            queue: VecDeque::with_capacity(connections.len()),
            renewing: VecDeque::new(),
            sweep: Nanos::MAX,
        };
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
                    connection.session.lost(&mut Context { recorder: &mut self.desk.recorder }, now, &unfinished);
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

impl<P: Pacer> Desk<P> {
    /// Waits until something happens or is to be done; the number of events. To start a transaction when it is due
    /// matters more than anything else, and if none is to come the wait costs no more than the kernel's.
    #[inline]
    fn wait(&mut self) -> io::Result<usize> {
        let until = self.next_deadline();
        let due = if self.idle.is_empty() { Nanos::MAX } else { self.pacer.due(Nanos::MAX) };
        if due == Nanos::MAX || due >= self.closes {
            return self.epoll.wait(until);
        }
        let count = self.punctual.wait(&mut self.epoll, until, due)?;
        self.recorder.spun(self.punctual.spun());
        Ok(count)
    }

    /// It is `now`: whatever was due until then is in the record, in the interval to which it belongs.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        while now >= self.recorder.boundary() {
            let boundary = self.recorder.boundary();
            self.pacer.pass(boundary, &mut self.recorder);
            self.recorder.advance(boundary);
        }
    }

    /// Until when nothing has to be done if nothing happens.
    #[inline]
    fn next_deadline(&self) -> Nanos {
        let mut next = self.recorder.boundary().min(self.timers.next()).min(self.sweep);
        if self.hold > self.woken {
            next = next.min(self.hold); // That a warm-up has settled is to be told.
        }
        // The last client may have finished after the window's end in a batch that began before it: then there is
        // nothing left to wait for, and whether the load is over has still to be asked.
        next.min(if self.window.end > self.woken { self.window.end } else { self.drained_by() })
    }

    /// A window is known: work may be done in it from now on, or of a load with bounds in the first part of it.
    fn open(&mut self) {
        let window = self.window;
        self.idle.clear();
        self.started = false;
        self.sweep = self.settings.timeout_ns.map_or(Nanos::MAX, |timeout| self.woken.saturating_add(timeout));
        let bounds = self.settings.bounds.as_mut();
        if window.start == Nanos::MAX {
            let hold_after = bounds.and_then(|bounds| bounds.hold_after_ns).unwrap_or_default();
            self.hold = window.begin + hold_after;
            // What is due by then is still sent when a connection is free.
            (self.opens, self.closes) = (window.begin, if P::SCHEDULED { window.end } else { self.hold });
            self.pacer.begin(&Window { start: self.hold, end: self.hold, ..window }, &mut self.recorder);
            return;
        }
        if let Some(bounds) = bounds {
            self.recorder.limit_to(std::mem::take(&mut bounds.quota));
            (self.opens, self.closes) = (window.start, window.end);
        } else {
            (self.opens, self.closes) = (window.begin, window.end);
        }
        self.pacer.begin(&Window { begin: self.opens, ..window }, &mut self.recorder);
    }

    /// Tells, once, that the warm-up has settled, and that all has been made.
    fn tell_bounds(&mut self, now: Nanos) {
        let warming_up = self.window.start == Nanos::MAX;
        if warming_up && !self.settled && now >= self.hold {
            self.pacer.pass(now + 1, &mut self.recorder); // What fell due while the thread stood still is in progress.
            if self.recorder.in_progress() == 0 {
                self.settled = true;
                self.mail.send(Message::Settled);
            }
        } else if !warming_up && !self.spent && self.started && self.recorder.is_spent() {
            self.spent = true;
            self.mail.send(Message::Spent(self.recorder.last_end()));
        }
    }

    fn drained_by(&self) -> Nanos {
        self.window.end.saturating_add(self.settings.drain_ns)
    }

    /// Whether there is nothing more to do.
    #[inline]
    fn is_over(&self, now: Nanos) -> bool {
        if now >= self.window.end && (self.busy == 0 || now >= self.drained_by()) {
            return true;
        }
        self.control.is_abandoned()
    }

    /// How many connections there are has changed.
    fn count_connections(&self) {
        self.control.set_connections(self.recorder.connections());
    }
}
