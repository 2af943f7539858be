//! Event loop of one thread's connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;

use super::connection::{Connection, End, Next, Phase, Shared};
use super::control::Control;
use super::effect::{Effects, TO_CLIENT, TO_SERVER};
use super::listener::Listener;
use super::pipe::Pipes;
use super::totals::Totals;
use loadcell_core::clock::{self, MILLISECOND, Nanos};
use loadcell_core::os;
use loadcell_core::random::Random;
use loadcell_transport::epoll::{Epoll, Readiness, Token};
use loadcell_transport::{Address, Socket};

/// Size of a read: longer streams are spliced.
const BUFFER: usize = 64 * 1024;
/// The listener's token.
const LISTENER: Token = Token { index: u32::MAX >> 1, generation: 0 };
/// Pause until the next attempt to accept or to connect, where the machine or the target lacks room.
const PAUSE: Nanos = 2 * MILLISECOND;

/// Purpose of a timer, in the order of execution at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Accept,
    Connect,
    Release,
}

pub struct Thread {
    control: Arc<Control>,
    upstream: Arc<[Address]>,
    port: u16,
    epoll: Epoll,
    listener: Option<Listener>,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// Distinguishes connections that have the same place in turn.
    generation: u32,
    timers: BinaryHeap<Reverse<(Nanos, Timer, u32, u32)>>,
    /// Connections that have more to move.
    again: Vec<Token>,
    shared: Shared,
}

impl Thread {
    /// To be created and run on its own thread, whose table of descriptors is private from here on.
    pub fn new(
        control: Arc<Control>,
        upstream: Arc<[Address]>,
        port: u16,
        random: Random,
    ) -> io::Result<Self> {
        os::unshare_fd_table(control.waker.fd());
        os::set_timer_slack();
        let mut thread = Self {
            epoll: Epoll::new(control.waker.clone())?,
            control,
            upstream,
            port,
            listener: None,
            connections: Vec::new(),
            free: Vec::new(),
            generation: 0,
            timers: BinaryHeap::new(),
            again: Vec::new(),
            shared: Shared {
                effects: Effects::default(),
                buffer: vec![0; BUFFER].into(),
                pipes: Pipes::default(),
                random,
                totals: Totals::default(),
                now: clock::now(),
            },
        };
        thread.listen()?;
        Ok(thread)
    }

    /// Carry connections until the end; all of them are closed then.
    pub fn run(mut self) -> io::Result<Totals> {
        while !self.control.is_stopped() {
            let count = self.wait()?;
            self.shared.now = clock::now();
            if let Some(effects) = self.control.change(self.shared.effects.epoch) {
                self.change(effects)?;
            }
            for number in 0..count {
                if let Some((token, readiness)) = self.epoll.event(number) {
                    self.event(token, readiness);
                }
            }
            self.timers_due();
            for token in std::mem::take(&mut self.again) {
                self.advance(token);
            }
        }
        self.shared.totals.threads = 1;
        self.shared.totals.cpu_ns = clock::thread_cpu();
        Ok(self.shared.totals)
    }

    fn wait(&mut self) -> io::Result<usize> {
        if !self.again.is_empty() {
            return self.epoll.sleep(0);
        }
        match self.timers.peek() {
            None => self.epoll.wait(Nanos::MAX),
            Some(Reverse((at, ..))) => self.epoll.sleep(at.saturating_sub(clock::now())),
        }
    }

    #[inline]
    fn event(&mut self, token: Token, readiness: Readiness) {
        if token == LISTENER {
            return self.accept();
        }
        let (owner, end) = match token.auxiliary_owner() {
            None => (token, TO_SERVER),
            Some(owner) => (owner, TO_CLIENT),
        };
        let Some(connection) = self.connection(owner) else { return };
        connection.ends[end].report(readiness);
        match connection.phase {
            Phase::Connecting(number) if end == TO_CLIENT => self.connected(owner, number, readiness),
            Phase::Connecting(_) => {}
            _ => self.advance(owner),
        }
    }

    /// The connection of a token, unless it is closed.
    #[inline]
    fn connection(&mut self, token: Token) -> Option<&mut Connection> {
        let slot = self.connections.get_mut(token.index as usize)?;
        slot.as_deref_mut().filter(|connection| connection.generation == token.generation)
    }

    #[inline]
    fn advance(&mut self, token: Token) {
        let slot = self.connections.get_mut(token.index as usize).and_then(Option::as_deref_mut);
        let Some(connection) = slot.filter(|connection| connection.generation == token.generation) else {
            return;
        };
        match connection.advance(&mut self.shared) {
            Next::Wait => {}
            Next::Again => self.again.push(token),
            Next::Close => return self.close(token, false),
            Next::Abort => return self.close(token, true),
        }
        for flow in &mut connection.flows {
            let Some(at) = flow.release_at().filter(|&at| at > self.shared.now) else { continue };
            // A timer that is set serves as long as it comes first.
            if flow.timer <= self.shared.now || flow.timer > at {
                flow.timer = at;
                self.timers.push(Reverse((at, Timer::Release, token.index, token.generation)));
            }
        }
    }

    fn timers_due(&mut self) {
        while let Some(&Reverse((at, timer, index, generation))) = self.timers.peek() {
            if at > self.shared.now {
                return;
            }
            self.timers.pop();
            let token = Token { index, generation };
            match timer {
                Timer::Accept => self.accept(),
                Timer::Release => self.advance(token),
                Timer::Connect => {
                    let phase = self.connection(token).map(|connection| connection.phase);
                    if let Some(Phase::Connecting(number)) = phase {
                        self.connect(token, number);
                    }
                }
            }
        }
    }

    fn set_timer(&mut self, timer: Timer, token: Token) {
        self.timers.push(Reverse((self.shared.now + PAUSE, timer, token.index, token.generation)));
    }

    // -- the life of a connection

    fn listen(&mut self) -> io::Result<()> {
        let listener = Listener::new(self.port)?;
        self.epoll.add(listener.fd(), LISTENER, false)?;
        self.listener = Some(listener);
        Ok(())
    }

    fn accept(&mut self) {
        loop {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok(None) => return,
                Ok(Some(client)) => self.begin(client),
                Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => {}
                Err(_) => return self.set_timer(Timer::Accept, LISTENER), // no descriptor is free
            }
        }
    }

    fn begin(&mut self, client: Socket) {
        self.shared.totals.connections += 1;
        if self.shared.effects.reset {
            self.shared.totals.reset += 1;
            return client.abort();
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() as u32 - 1
        });
        self.generation = self.generation.wrapping_add(1);
        let token = Token { index, generation: self.generation };
        let phase = if self.shared.effects.blackhole { Phase::Lost } else { Phase::Connecting(0) };
        let registered = self.epoll.add(client.fd(), token, true);
        self.connections[index as usize] = Some(Box::new(Connection::new(token.generation, phase, client)));
        if registered.is_err() {
            self.close(token, true);
        } else if phase != Phase::Lost {
            self.connect(token, 0);
        }
    }

    /// Connect to the target's address of this number, or the next one that can be tried.
    fn connect(&mut self, token: Token, first: usize) {
        let redirection = self.shared.effects.redirection.as_ref();
        let upstream = redirection.map_or(&self.upstream, |redirection| &redirection.upstream).clone();
        for number in first..upstream.len() {
            match Socket::connect(&upstream[number]) {
                Ok(server) => {
                    let registered = self.epoll.add(server.fd(), token.auxiliary(), true).is_ok();
                    let Some(connection) = self.connection(token) else { return };
                    connection.phase = Phase::Connecting(number);
                    connection.ends[TO_CLIENT] = End::new(server);
                    if !registered {
                        self.close(token, true);
                    }
                    return;
                }
                // The queue of a Unix socket is full, or no descriptor is free.
                Err(error) if is_shortage(&error) => {
                    if let Some(connection) = self.connection(token) {
                        connection.phase = Phase::Connecting(number);
                    }
                    return self.set_timer(Timer::Connect, token);
                }
                Err(_) => {}
            }
        }
        self.shared.totals.unconnected += 1;
        self.close(token, true);
    }

    /// An attempt to connect has ended.
    fn connected(&mut self, token: Token, number: usize, readiness: Readiness) {
        let Some(connection) = self.connection(token) else { return };
        let Some(server) = &connection.ends[TO_CLIENT].socket else { return };
        if server.error().is_err() {
            return self.connect(token, number + 1);
        }
        if readiness.writable() {
            connection.phase = Phase::Open;
            self.advance(token);
        }
    }

    /// Close both ends; `abort` resets them.
    fn close(&mut self, token: Token, abort: bool) {
        let Some(connection) = self.connections[token.index as usize].take() else { return };
        let Connection { ends, flows, .. } = *connection;
        for mut flow in flows {
            flow.clear(&mut self.shared.pipes);
        }
        if abort {
            ends.into_iter().filter_map(|end| end.socket).for_each(Socket::abort);
        }
        self.free.push(token.index);
    }

    /// Carry on under other effects, and say so.
    fn change(&mut self, effects: Arc<Effects>) -> io::Result<()> {
        let before = std::mem::replace(&mut self.shared.effects, (*effects).clone());
        if effects.refuse {
            self.listener = None;
        } else if self.listener.is_none() {
            self.listen()?;
        }
        for index in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[index] else { continue };
            let token = Token { index: index as u32, generation: connection.generation };
            if connection.change(&before, &mut self.shared) {
                self.again.push(token);
            } else {
                self.shared.totals.reset += 1;
                self.close(token, true);
            }
        }
        self.control.acknowledge(effects.epoch);
        Ok(())
    }
}

fn is_shortage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error().is_some_and(|errno| os::local_exhaustion(errno).is_some())
}
