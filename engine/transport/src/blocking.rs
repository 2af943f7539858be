//! Transport with blocking calls, for loading data with a thread per connection.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Address, Endpoint, Socket, Tls, TlsStream, Transport};
use loadcell_core::error::{Failure, LoadError, LoadStep};
use loadcell_core::os;
use loadcell_core::target::Target;

/// Interval at which a wait checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time until a Unix socket with a full queue is tried again.
const QUEUE_RETRY: Duration = Duration::from_millis(10);
const READ: usize = 16 << 10;
/// Codes of failures without a response: another address may be another server.
const NO_RESPONSE: [&str; 4] = ["connection", "timeout", os::PORTS, os::DESCRIPTORS];

/// Settings of the connections of one data load. `C` is the configuration of their protocol.
pub struct ConnectOptions<C> {
    pub endpoint: Arc<Endpoint>,
    pub config: Arc<C>,
    connect_timeout: Duration,
    /// Set to make all connections fail soon.
    pub stop: AtomicBool,
}

impl<C> ConnectOptions<C> {
    pub fn new(target: &Target, config: C) -> Result<Self, LoadError> {
        Ok(Self {
            endpoint: Arc::new(Endpoint::of(target)?),
            config: Arc::new(config),
            connect_timeout: Duration::from_nanos(target.connect_timeout_ns),
            stop: AtomicBool::new(false),
        })
    }

    /// The same with another timeout and a `stop` that is not set: for cancelling while everything stops.
    pub fn for_cancel(&self, connect_timeout: Duration) -> Self {
        let (endpoint, config) = (self.endpoint.clone(), self.config.clone());
        Self { endpoint, config, connect_timeout, stop: AtomicBool::new(false) }
    }

    /// Instant at which a connection that is begun now has to be open.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.connect_timeout
    }

    /// Open a connection to the first address of the endpoint with a server that responds. Where a server
    /// refuses, the other addresses lead to the same one, and are not tried.
    pub fn connect<'a, T>(
        &'a self,
        open: impl Fn(&'a Address) -> Result<T, Failure>,
    ) -> Result<T, LoadError> {
        let mut last = failure("connection", "it has no address");
        for address in &self.endpoint.addresses {
            match open(address) {
                Ok(connection) => return Ok(connection),
                Err(failure) => last = failure,
            }
            if !NO_RESPONSE.contains(&last.code.as_str()) {
                break;
            }
        }
        let arguments = json!({"where": self.endpoint.to_string()});
        Err(last.during(LoadStep::new("engine.connect", arguments)))
    }
}

pub struct BlockingTransport<'a> {
    stop: &'a AtomicBool,
    transport: Transport,
    /// Received bytes. The user removes those that it has processed.
    pub input: Vec<u8>,
}

impl<'a> BlockingTransport<'a> {
    /// Connect to `address` before `deadline`. Every later call fails soon after `stop` is set.
    pub fn connect(address: &Address, stop: &'a AtomicBool, deadline: Instant) -> Result<Self, Failure> {
        let socket = connect_to(address, deadline, &|| !stop.load(Ordering::Relaxed))?;
        Ok(Self { stop, transport: Transport::plain(socket), input: Vec::new() })
    }

    /// Establish TLS. Returns the hash for channel binding too.
    pub fn secure(self, tls: Option<&Tls>, deadline: Instant) -> Result<(Self, Vec<u8>), Failure> {
        let Self { stop, transport, input } = self;
        let tls = tls.ok_or_else(|| failure("tls", "TLS is not set up"))?;
        let Transport::Plain(plain) = transport else {
            return Err(failure("tls", "TLS was asked for twice"));
        };
        let mut stream = TlsStream::new(plain.into_socket(), tls)?;
        while !stream.handshake()? {
            // A client's part of the handshake fits into any socket buffer: only the server is waited for.
            wait(&wanted(stop), stream.socket(), libc::POLLIN, Some(deadline))?;
        }
        let server_end_point = stream.server_end_point();
        Ok((Self { stop, transport: Transport::Tls(Box::new(stream)), input }, server_end_point))
    }

    /// Send all of `bytes`. Replies are read meanwhile, as a server may wait for that before it reads on.
    pub fn send(&mut self, bytes: &[u8], deadline: Option<Instant>) -> Result<(), Failure> {
        let mut sent = bytes.is_empty() || self.transport.send(bytes).map_err(io_error)?;
        while !sent {
            let events =
                wait(&wanted(self.stop), self.transport.socket(), libc::POLLOUT | libc::POLLIN, deadline)?;
            if events & libc::POLLIN != 0 {
                self.read_available()?;
            }
            sent = self.transport.flush().map_err(io_error)?;
        }
        Ok(())
    }

    /// Send `bytes` if that is possible at once, without waiting and without an error.
    pub fn send_last(&mut self, bytes: &[u8]) {
        let _ = self.transport.send(bytes);
    }

    /// Wait until more bytes have arrived.
    pub fn receive(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        while !self.read_available()? {
            wait(&wanted(self.stop), self.transport.socket(), libc::POLLIN, deadline)?;
        }
        Ok(())
    }

    /// Read without waiting. True if bytes have arrived.
    pub fn read_available(&mut self) -> Result<bool, Failure> {
        let start = self.input.len();
        self.input.resize(start + READ, 0);
        let result = self.transport.read(&mut self.input[start..]);
        self.input.truncate(start + result.as_ref().map_or(0, |&count| count));
        match result {
            Ok(0) => Err(failure("connection", "the server closed the connection")),
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(false)
            }
            Err(error) => Err(io_error(error)),
        }
    }
}

fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}

/// Failure of an established connection.
fn io_error(error: io::Error) -> Failure {
    let Failure { code, message } = error.into();
    Failure { code, message: format!("the connection broke ({message})") }
}

fn wanted(stop: &AtomicBool) -> impl Fn() -> bool {
    move || !stop.load(Ordering::Relaxed)
}

/// Connect to the first of `addresses` that accepts, before `deadline` and as long as `is_wanted`.
pub fn connect(
    addresses: &[Address],
    deadline: Instant,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Socket, Failure> {
    let mut last = failure("connection", "it has no address");
    for address in addresses {
        match connect_to(address, deadline, is_wanted) {
            Ok(socket) => return Ok(socket),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

/// Connect to `address` before `deadline` and as long as `is_wanted`.
fn connect_to(address: &Address, deadline: Instant, is_wanted: &dyn Fn() -> bool) -> Result<Socket, Failure> {
    loop {
        match Socket::connect(address) {
            // A Unix socket whose queue of connections is full: the kernel does not report when it has room.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                if !is_wanted() {
                    return Err(stopped());
                }
                std::thread::sleep(QUEUE_RETRY);
            }
            Err(error) => return Err(error.into()),
            Ok(socket) => {
                wait(is_wanted, &socket, libc::POLLOUT, Some(deadline))?;
                socket.error()?;
                return Ok(socket);
            }
        }
    }
}

fn stopped() -> Failure {
    failure("stopped", "it was stopped")
}

/// Wait for events on a socket and return them. Fails at the deadline, or when it is not wanted any more.
fn wait(
    is_wanted: &dyn Fn() -> bool,
    socket: &Socket,
    events: i16,
    deadline: Option<Instant>,
) -> Result<i16, Failure> {
    loop {
        if !is_wanted() {
            return Err(stopped());
        }
        let timeout = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => return Err(failure("timeout", "no answer within the time allowed")),
            Some(remaining) => remaining.min(POLL_INTERVAL),
            None => POLL_INTERVAL,
        };
        let mut waiting = libc::pollfd { fd: socket.fd(), events, revents: 0 };
        // SAFETY: one valid pollfd, alive during the call.
        let count = unsafe { libc::poll(&mut waiting, 1, timeout.as_millis().max(1) as i32) };
        match count {
            0 => continue,
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
            -1 => return Err(io_error(io::Error::last_os_error())),
            _ => return Ok(waiting.revents),
        }
    }
}
