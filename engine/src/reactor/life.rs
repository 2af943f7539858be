//! How a client comes by its connection, and what becomes of it without one.

use std::io;

use super::connection::{Loss, State};
use super::timers::Alarm;
use super::{Message, Reactor, Refusal};
use crate::clock::{self, MILLISECOND, Nanos, SECOND};
use crate::pace::Pacer;
use crate::protocol::resp::MAX_CLIENTS;
use crate::session::{Again, Context, Session};
use crate::transport::{Socket, TlsStream, Transport};

/// A server takes only so many new connections at once (the backlog of its socket); those beyond wait for seconds.
const MOST_OPENING: usize = 32;

/// After a loss the server is asked again soon at first, then ever more rarely.
const FIRST_BACK_OFF: Nanos = 10 * MILLISECOND;
const LONGEST_BACK_OFF: Nanos = SECOND;

/// Ways of connecting that may be tried one right after the other (with TLS, without).
const MOST_DETOURS: u32 = 3;

/// How long a first connection is tried again that was refused because there are too many: those of an earlier load may
/// be on their way out.
const PATIENCE_WITH_TOO_MANY: Nanos = SECOND;

const STARTING_UP: [&str; 2] = ["57P03", "LOADING"];
const TOO_MANY_CONNECTIONS: [&str; 2] = ["53300", MAX_CLIENTS];

impl<S: Session, P: Pacer> Reactor<S, P> {
    /// Starts to connect a client, or lets it wait until fewer others do.
    pub(super) fn connect(&mut self, index: usize, now: Nanos) {
        if self.desk.opening >= MOST_OPENING {
            self.connections[index].state = State::Waiting;
            self.desk.queue.push_back(index);
            return;
        }
        let connection = &mut self.connections[index];
        if connection.failed_attempts == 0 && connection.detours == 0 && connection.address == 0 {
            connection.tried_since = now;
        }
        self.desk.opening += 1;
        self.dial(index, now);
        let connection = &self.connections[index];
        if connection.state == State::Connecting {
            let overdue = now + self.desk.settings.connect_timeout_ns;
            self.desk.timers.set(overdue, Alarm::Overdue, connection.token());
        }
    }

    /// Starts to make a connection to the address whose turn it is.
    pub(super) fn dial(&mut self, index: usize, now: Nanos) {
        let connection = &mut self.connections[index];
        connection.generation += 1;
        connection.state = State::Connecting;
        let opened =
            Socket::connect(&self.desk.settings.endpoint.addresses[connection.address]).and_then(|socket| {
                self.desk.epoll.add(socket.fd(), connection.token(), true)?;
                Ok(socket)
            });
        match opened {
            Ok(socket) => connection.transport = Some(Transport::plain(socket)),
            Err(error) => self.unreachable(index, now, error),
        }
    }

    /// The operating system has connected, or has not.
    pub(super) fn connected(&mut self, index: usize) {
        let now = clock::now();
        self.desk.advance(now);
        let connection = &mut self.connections[index];
        let Some(transport) = &connection.transport else { return };
        if let Err(error) = transport.socket().error() {
            return self.unreachable(index, now, error);
        }
        connection.state = State::Opening;
        let want = connection.session.opened(&mut self.desk.output);
        match connection.follow(&mut self.desk, want, now) {
            Ok(()) if connection.state == State::Securing => self.secure(index),
            Ok(()) => {}
            Err(loss) => self.lose(index, now, loss),
        }
    }

    /// An address did not work; there may be another one.
    fn unreachable(&mut self, index: usize, now: Nanos, error: io::Error) {
        let connection = &mut self.connections[index];
        if connection.address + 1 < self.desk.settings.endpoint.addresses.len() {
            connection.address += 1;
            connection.drop_connection();
            if connection.within {
                return self.dial(index, now);
            }
            self.desk.opening -= 1;
            return self.connect(index, now);
        }
        self.lose(index, now, error.into());
    }

    /// Goes on with the handshake of TLS.
    pub(super) fn secure(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let now = clock::now();
        let stream = match connection.transport.take() {
            Some(Transport::Plain(plain)) => {
                let tls = self.desk.settings.endpoint.tls.as_ref();
                let tls =
                    tls.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "TLS was not asked for"));
                tls.and_then(|tls| TlsStream::new(plain.into_socket(), tls)).map(Box::new)
            }
            Some(Transport::Tls(stream)) => Ok(stream),
            None => return,
        };
        let shaken = stream.and_then(|mut stream| stream.handshake().map(|done| (stream, done)));
        match shaken {
            Ok((stream, false)) => connection.transport = Some(Transport::Tls(stream)),
            Ok((stream, true)) => {
                let binding = stream.server_end_point();
                connection.transport = Some(Transport::Tls(stream));
                connection.state = State::Opening;
                self.desk.advance(now);
                let want = connection.session.secured(&binding, &mut self.desk.output);
                match connection.follow(&mut self.desk, want, now) {
                    // The handshake may have taken bytes of the session in, too.
                    Ok(()) => self.receive(index, false),
                    Err(loss) => self.lose(index, now, loss),
                }
            }
            Err(error) => {
                let mut loss = Loss::from(error);
                if loss.errno.is_none() {
                    loss.why.code = "tls".into();
                }
                self.lose(index, now, loss);
            }
        }
    }

    /// A connection is gone, or was not to be had.
    #[cold]
    pub(super) fn lose(&mut self, index: usize, now: Nanos, mut loss: Loss) {
        let Self { connections, desk, .. } = self;
        let connection = &mut connections[index];
        desk.output.clear();
        desk.advance(now);
        desk.recorder.serve(connection.client);
        connection.drop_connection();
        if let Some(code) = loss.errno.and_then(S::class) {
            loss.why.code = code.into();
        }
        // What is lost with a connection that was being made for a transaction is the transaction.
        let was = if std::mem::take(&mut connection.within) { State::Busy } else { connection.state };
        let again = connection.session.lost(&mut Context { recorder: &mut desk.recorder }, now, &loss.why);
        if again == Again::OnDemand && matches!(was, State::Busy | State::Idle | State::Pausing) {
            connection.state = was;
            return self.go_on_without(index, now);
        }
        connection.address = 0;
        match was {
            State::Busy | State::Idle | State::Pausing | State::Spent => {
                desk.busy -= usize::from(was == State::Busy);
                if was == State::Pausing {
                    desk.recorder.rested(now);
                }
                desk.idle.retain(|&idle| idle != index);
                desk.recorder.disconnected(now);
                desk.count_connections();
                connection.free = now;
            }
            _ => {
                desk.opening -= 1;
                connection.failed_attempts += 1;
            }
        }
        connection.state = State::Waiting;
        if now >= desk.window.end {
            connection.state = State::Closed;
        } else if again == Again::Now && connection.detours < MOST_DETOURS {
            connection.detours += 1;
            self.connect(index, now);
        } else if connection.made
            || now < connection.tried_since + patience(&loss, desk.settings.connect_timeout_ns)
        {
            if was != State::Busy {
                desk.recorder.tell(now, &loss.why.code, &loss.why.message);
            }
            let wait = FIRST_BACK_OFF << connection.failed_attempts.min(10);
            desk.timers.set(now + wait.min(LONGEST_BACK_OFF), Alarm::Connect, connection.token());
        } else {
            connection.state = State::Closed;
            let refusal = Refusal { client: connection.client, why: loss.why, errno: loss.errno };
            desk.mail.send(Message::Refused(refusal));
        }
    }

    /// A client that makes its connections when it needs them has none now.
    fn go_on_without(&mut self, index: usize, now: Nanos) {
        let (connection, desk) = (&mut self.connections[index], &mut self.desk);
        match connection.state {
            State::Busy => {
                desk.busy -= 1;
                (connection.free, connection.ready) = (now, now);
                connection.turn(desk, now);
            }
            // The alarm that it set was the old connection's.
            State::Pausing => desk.timers.set(connection.due, Alarm::Due, connection.token()),
            _ => {}
        }
    }

    /// Lets those connect that waited until fewer others do.
    pub(super) fn let_in(&mut self) {
        while self.desk.opening < MOST_OPENING
            && let Some(index) = self.desk.queue.pop_front()
        {
            self.connect(index, clock::now());
        }
    }
}

/// How long it is worth while to try again what never worked.
fn patience(loss: &Loss, connect_timeout_ns: Nanos) -> Nanos {
    let backlog_is_full = loss.errno == Some(libc::EAGAIN); // Only Unix sockets say so.
    match loss.why.code.as_str() {
        code if STARTING_UP.contains(&code) => connect_timeout_ns,
        code if TOO_MANY_CONNECTIONS.contains(&code) => PATIENCE_WITH_TOO_MANY.min(connect_timeout_ns),
        _ if backlog_is_full => connect_timeout_ns,
        _ => 0,
    }
}
