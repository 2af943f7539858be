//! How a client comes by its connection, and what becomes of it without one.

use std::io;

use super::client::{Loss, State};
use super::timers::Timer;
use super::{Reactor, Refusal, ThreadEvent};
use loadcell_core::clock::{self, MILLISECOND, Nanos, SECOND};
use loadcell_core::error::MAX_CLIENTS;
use loadcell_core::pace::Pacer;
use loadcell_core::session::{Context, Reconnect, Session};
use loadcell_transport::{Socket, TlsStream, Transport};

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
        if self.thread.opening >= MOST_OPENING {
            self.clients[index].state = State::Waiting;
            self.thread.queue.push_back(index);
            return;
        }
        let client = &mut self.clients[index];
        if client.failed_attempts == 0 && client.detours == 0 && client.address == 0 {
            client.tried_since = now;
        }
        self.thread.opening += 1;
        self.dial(index, now);
        let client = &self.clients[index];
        if client.state == State::Connecting {
            let overdue = now + self.thread.settings.connect_timeout_ns;
            self.thread.timers.set(overdue, Timer::Overdue, client.token());
        }
    }

    /// Starts to make a connection to the address whose turn it is.
    pub(super) fn dial(&mut self, index: usize, now: Nanos) {
        let client = &mut self.clients[index];
        client.generation += 1;
        client.state = State::Connecting;
        let opened =
            Socket::connect(&self.thread.settings.endpoint.addresses[client.address]).and_then(|socket| {
                self.thread.epoll.add(socket.fd(), client.token(), true)?;
                Ok(socket)
            });
        match opened {
            Ok(socket) => client.transport = Some(Transport::plain(socket)),
            Err(error) => self.unreachable(index, now, error),
        }
    }

    /// The operating system has connected, or has not.
    pub(super) fn connected(&mut self, index: usize) {
        let now = clock::now();
        self.thread.advance(now);
        let client = &mut self.clients[index];
        let Some(transport) = &client.transport else { return };
        if let Err(error) = transport.socket().error() {
            return self.unreachable(index, now, error);
        }
        client.state = State::Opening;
        let action = client.session.opened(&mut self.thread.output);
        match client.follow(&mut self.thread, action, now) {
            Ok(()) if client.state == State::Securing => self.secure(index),
            Ok(()) => {}
            Err(loss) => self.lose(index, now, loss),
        }
    }

    /// An address did not work; there may be another one.
    fn unreachable(&mut self, index: usize, now: Nanos, error: io::Error) {
        let client = &mut self.clients[index];
        if client.address + 1 < self.thread.settings.endpoint.addresses.len() {
            client.address += 1;
            client.drop_connection();
            if client.within {
                return self.dial(index, now);
            }
            self.thread.opening -= 1;
            return self.connect(index, now);
        }
        self.lose(index, now, error.into());
    }

    /// Goes on with the handshake of TLS.
    pub(super) fn secure(&mut self, index: usize) {
        let client = &mut self.clients[index];
        let now = clock::now();
        let stream = match client.transport.take() {
            Some(Transport::Plain(plain)) => {
                let tls = self.thread.settings.endpoint.tls.as_ref();
                let tls =
                    tls.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "TLS was not asked for"));
                tls.and_then(|tls| TlsStream::new(plain.into_socket(), tls)).map(Box::new)
            }
            Some(Transport::Tls(stream)) => Ok(stream),
            None => return,
        };
        let shaken = stream.and_then(|mut stream| stream.handshake().map(|done| (stream, done)));
        match shaken {
            Ok((stream, false)) => client.transport = Some(Transport::Tls(stream)),
            Ok((stream, true)) => {
                let binding = stream.server_end_point();
                client.transport = Some(Transport::Tls(stream));
                client.state = State::Opening;
                self.thread.advance(now);
                let action = client.session.secured(&binding, &mut self.thread.output);
                match client.follow(&mut self.thread, action, now) {
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
        let Self { clients, thread, .. } = self;
        let client = &mut clients[index];
        thread.output.clear();
        thread.advance(now);
        thread.recorder.set_client(client.client);
        client.drop_connection();
        if let Some(code) = loss.errno.and_then(S::error_code) {
            loss.why.code = code.into();
        }
        // What is lost with a connection that was being made for a transaction is the transaction.
        let was = if std::mem::take(&mut client.within) { State::Busy } else { client.state };
        let again = client.session.lost(&mut Context { recorder: &mut thread.recorder }, now, &loss.why);
        if again == Reconnect::OnDemand && matches!(was, State::Busy | State::Idle | State::Pausing) {
            client.state = was;
            return self.go_on_without(index, now);
        }
        client.address = 0;
        match was {
            State::Busy | State::Idle | State::Pausing | State::Spent => {
                thread.busy -= usize::from(was == State::Busy);
                if was == State::Pausing {
                    thread.recorder.end_rest(now);
                }
                thread.idle.retain(|&idle| idle != index);
                thread.recorder.disconnected(now);
                thread.count_connections();
                client.free = now;
            }
            _ => {
                thread.opening -= 1;
                client.failed_attempts += 1;
            }
        }
        client.state = State::Waiting;
        if now >= thread.window.end {
            client.state = State::Closed;
        } else if again == Reconnect::Now && client.detours < MOST_DETOURS {
            client.detours += 1;
            self.connect(index, now);
        } else if client.made
            || now < client.tried_since + patience(&loss, thread.settings.connect_timeout_ns)
        {
            if was != State::Busy {
                thread.recorder.report_error(now, &loss.why.code, &loss.why.message);
            }
            let wait = FIRST_BACK_OFF << client.failed_attempts.min(10);
            thread.timers.set(now + wait.min(LONGEST_BACK_OFF), Timer::Connect, client.token());
        } else {
            client.state = State::Closed;
            let refusal = Refusal { client: client.client, why: loss.why, errno: loss.errno };
            thread.events.send(ThreadEvent::Refused(refusal));
        }
    }

    /// A client that makes its connections when it needs them has none now.
    fn go_on_without(&mut self, index: usize, now: Nanos) {
        let (client, thread) = (&mut self.clients[index], &mut self.thread);
        match client.state {
            State::Busy => {
                thread.busy -= 1;
                (client.free, client.ready) = (now, now);
                client.turn(thread, now);
            }
            // The alarm that it set was the old connection's.
            State::Pausing => thread.timers.set(client.due, Timer::Due, client.token()),
            _ => {}
        }
    }

    /// Lets those connect that waited until fewer others do.
    pub(super) fn let_in(&mut self) {
        while self.thread.opening < MOST_OPENING
            && let Some(index) = self.thread.queue.pop_front()
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
