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
        let socket = Socket::connect(address)?;
        wait(stop, &socket, libc::POLLOUT, Some(deadline))?;
        socket.error()?;
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
            wait(stop, stream.socket(), libc::POLLIN, Some(deadline))?;
        }
        let server_end_point = stream.server_end_point();
        Ok((Self { stop, transport: Transport::Tls(Box::new(stream)), input }, server_end_point))
    }

    /// Send all of `bytes`. Replies are read meanwhile, as a server may wait for that before it reads on.
    pub fn send(&mut self, bytes: &[u8], deadline: Option<Instant>) -> Result<(), Failure> {
        let mut sent = bytes.is_empty() || self.transport.send(bytes).map_err(io_error)?;
        while !sent {
            let events = wait(self.stop, self.transport.socket(), libc::POLLOUT | libc::POLLIN, deadline)?;
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
            wait(self.stop, self.transport.socket(), libc::POLLIN, deadline)?;
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

/// Wait for events on a socket and return them. Fails at the deadline, or when `stop` is set.
fn wait(stop: &AtomicBool, socket: &Socket, events: i16, deadline: Option<Instant>) -> Result<i16, Failure> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(failure("stopped", "it was stopped"));
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
