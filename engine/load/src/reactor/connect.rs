//! Connecting: TCP, TLS handshake, back-off after a loss, and the queue of clients that wait to connect.

use std::io;

use super::client::{Loss, State};
use super::timers::Timer;
use super::{Reactor, ThreadEvent};
use loadcell_core::clock::{self, MILLISECOND, Nanos, SECOND};
use loadcell_core::error::MAX_CLIENTS;
use loadcell_core::pace::Pacer;
use loadcell_core::session::{Context, Reconnect, Session};
use loadcell_transport::{Socket, TlsStream, Transport};

/// Connections made at the same time. A server's socket has a limited backlog; clients beyond it wait for
/// seconds.
const MAX_CONNECTING: usize = 32;

/// Back-off after a loss: doubled with each failed attempt, up to the maximum.
const MIN_BACK_OFF: Nanos = 10 * MILLISECOND;
const MAX_BACK_OFF: Nanos = SECOND;

/// Kinds of connection that may be tried at once one after another (with TLS, without).
const MAX_DETOURS: u32 = 3;

/// Retry time of a first connection that was refused because of too many: those of an earlier load may be
/// closing.
const TOO_MANY_RETRY: Nanos = SECOND;

const STARTING_UP: [&str; 2] = ["57P03", "LOADING"];
const TOO_MANY_CONNECTIONS: [&str; 2] = ["53300", MAX_CLIENTS];

impl<S: Session, P: Pacer> Reactor<S, P> {
    /// Starts to connect a client, or queues it behind those that are connecting.
    pub(super) fn connect(&mut self, index: usize, now: Nanos) {
        if self.shared.connecting >= MAX_CONNECTING {
            self.clients[index].state = State::Waiting;
            self.shared.connect_queue.push_back(index);
            return;
        }
        let client = &mut self.clients[index];
        if client.failed_attempts == 0 && client.detours == 0 && client.address == 0 {
            client.tried_since = now;
        }
        self.shared.connecting += 1;
        self.dial(index, now);
        let client = &self.clients[index];
        if client.state == State::Connecting {
            let limit = now + self.shared.settings.connect_timeout_ns;
            self.shared.timers.set(limit, Timer::ConnectTimeout, client.token());
        }
    }

    /// Starts a connection to the client's current address.
    pub(super) fn dial(&mut self, index: usize, now: Nanos) {
        let client = &mut self.clients[index];
        client.generation += 1;
        client.state = State::Connecting;
        let address = &self.shared.settings.endpoint.addresses[client.address];
        let socket = Socket::connect(address).and_then(|socket| {
            self.shared.thread.epoll.add(socket.fd(), client.token(), true)?;
            Ok(socket)
        });
        match socket {
            Ok(socket) => client.transport = Some(Transport::plain(socket)),
            Err(error) => self.try_next_address(index, now, error),
        }
    }

    /// The operating system has finished connecting, with success or an error.
    pub(super) fn on_connected(&mut self, index: usize) {
        let now = clock::now();
        self.shared.thread.advance(now);
        let client = &mut self.clients[index];
        let Some(transport) = &client.transport else { return };
        if let Err(error) = transport.socket().error() {
            return self.try_next_address(index, now, error);
        }
        client.state = State::Opening;
        let action = client.session.opened(&mut self.shared.output);
        match client.apply(&mut self.shared, action, now) {
            Ok(()) if client.state == State::Securing => self.continue_tls(index),
            Ok(()) => {}
            Err(loss) => self.on_loss(index, now, loss),
        }
    }

    /// Connects to the target's next address, or gives the connection up with `error` if there is none.
    fn try_next_address(&mut self, index: usize, now: Nanos, error: io::Error) {
        let client = &mut self.clients[index];
        if client.address + 1 < self.shared.settings.endpoint.addresses.len() {
            client.address += 1;
            client.drop_connection();
            if client.reconnecting {
                return self.dial(index, now);
            }
            self.shared.connecting -= 1;
            return self.connect(index, now);
        }
        self.on_loss(index, now, error.into());
    }

    /// Begins or continues the TLS handshake.
    pub(super) fn continue_tls(&mut self, index: usize) {
        let client = &mut self.clients[index];
        let now = clock::now();
        let stream = match client.transport.take() {
            Some(Transport::Plain(plain)) => {
                let tls = self.shared.settings.endpoint.tls.as_ref();
                let tls =
                    tls.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "TLS was not asked for"));
                tls.and_then(|tls| TlsStream::new(plain.into_socket(), tls)).map(Box::new)
            }
            Some(Transport::Tls(stream)) => Ok(stream),
            None => return,
        };
        let handshake = stream.and_then(|mut stream| stream.handshake().map(|done| (stream, done)));
        match handshake {
            Ok((stream, false)) => client.transport = Some(Transport::Tls(stream)),
            Ok((stream, true)) => {
                let binding = stream.server_end_point();
                client.transport = Some(Transport::Tls(stream));
                client.state = State::Opening;
                self.shared.thread.advance(now);
                let action = client.session.secured(&binding, &mut self.shared.output);
                match client.apply(&mut self.shared, action, now) {
                    // The handshake may have read bytes of the session, too.
                    Ok(()) => self.receive(index, false),
                    Err(loss) => self.on_loss(index, now, loss),
                }
            }
            Err(error) => {
                let mut loss = Loss::from(error);
                if loss.errno.is_none() {
                    loss.why.code = "tls".into();
                }
                self.on_loss(index, now, loss);
            }
        }
    }

    /// A connection was lost, or could not be made: fails its transaction, and schedules another attempt.
    #[cold]
    pub(super) fn on_loss(&mut self, index: usize, now: Nanos, mut loss: Loss) {
        let Self { clients, shared, .. } = self;
        let client = &mut clients[index];
        let thread = &mut shared.thread;
        shared.output.clear();
        thread.advance(now);
        thread.recorder.set_client(client.number);
        client.drop_connection();
        if let Some(code) = loss.errno.and_then(S::error_code) {
            loss.why.code = code.into();
        }
        // A connection that was being made for a transaction is lost together with the transaction.
        let state = if std::mem::take(&mut client.reconnecting) { State::Busy } else { client.state };
        let cx = &mut Context { recorder: &mut thread.recorder };
        let reconnect = client.session.lost(cx, now, &loss.why);
        if reconnect == Reconnect::OnDemand && matches!(state, State::Busy | State::Idle | State::Pausing) {
            client.state = state;
            return self.continue_disconnected(index, now);
        }
        client.address = 0;
        match state {
            State::Busy | State::Idle | State::Pausing | State::Exhausted => {
                shared.in_progress -= usize::from(state == State::Busy);
                if state == State::Pausing {
                    thread.recorder.end_think_time(now);
                }
                shared.idle.retain(|&idle| idle != index);
                thread.on_disconnected(now);
                client.idle_since = now;
            }
            _ => {
                shared.connecting -= 1;
                client.failed_attempts += 1;
            }
        }
        client.state = State::Waiting;
        let retry_until = client.tried_since + retry_time(&loss, shared.settings.connect_timeout_ns);
        if now >= thread.window.end {
            client.state = State::Closed;
        } else if reconnect == Reconnect::Now && client.detours < MAX_DETOURS {
            client.detours += 1;
            self.connect(index, now);
        } else if client.was_connected || now < retry_until {
            if state != State::Busy {
                thread.recorder.report_error(now, &loss.why.code, &loss.why.message);
            }
            let back_off = MIN_BACK_OFF << client.failed_attempts.min(10);
            shared.timers.set(now + back_off.min(MAX_BACK_OFF), Timer::Connect, client.token());
        } else {
            client.state = State::Closed;
            thread.events.send(ThreadEvent::Refused(loss));
        }
    }

    /// Lets a client that connects on demand continue without a connection.
    fn continue_disconnected(&mut self, index: usize, now: Nanos) {
        let (client, shared) = (&mut self.clients[index], &mut self.shared);
        match client.state {
            State::Busy => {
                shared.in_progress -= 1;
                (client.idle_since, client.connected_since) = (now, now);
                client.schedule_next(shared, now);
            }
            // The timer that was set has the old connection's generation.
            State::Pausing => shared.timers.set(client.due, Timer::Start, client.token()),
            _ => {}
        }
    }

    /// Connects queued clients as far as fewer than the maximum are connecting.
    pub(super) fn admit_queued(&mut self) {
        while self.shared.connecting < MAX_CONNECTING
            && let Some(index) = self.shared.connect_queue.pop_front()
        {
            self.connect(index, clock::now());
        }
    }
}

/// For how long a first connection is retried after `loss`.
fn retry_time(loss: &Loss, connect_timeout_ns: Nanos) -> Nanos {
    let backlog_is_full = loss.errno == Some(libc::EAGAIN); // Only Unix sockets report this.
    match loss.why.code.as_str() {
        code if STARTING_UP.contains(&code) => connect_timeout_ns,
        code if TOO_MANY_CONNECTIONS.contains(&code) => TOO_MANY_RETRY.min(connect_timeout_ns),
        _ if backlog_is_full => connect_timeout_ns,
        _ => 0,
    }
}
