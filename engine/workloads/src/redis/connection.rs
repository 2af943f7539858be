//! A connection that waits for its answers: for the loading of data.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::handshake::{Access, Handshake};
use crate::dataload::{io_error, wait};
use loadcell_core::error::Failure;
use loadcell_core::error::Problem;
use loadcell_protocols::resp::{Reader, Token, advice, refusal};
use loadcell_transport::{Endpoint, Socket, TlsStream, Transport};

const READ: usize = 64 << 10;

/// Where and as whom to connect, and when to give up.
pub struct ConnectOptions {
    pub endpoint: Endpoint,
    pub access: Arc<Access>,
    pub connect_timeout: Duration,
    /// Set when whatever is going on is to end.
    pub stop: AtomicBool,
}

impl ConnectOptions {
    /// A failure as something to act upon; `doing` begins the sentence.
    pub fn problem(&self, doing: &str, failure: &Failure) -> Problem {
        Problem::new(failure.code.clone(), format!("{doing}: {}", failure.message), advice(&failure.code))
    }
}

pub struct Connection<'a> {
    options: &'a ConnectOptions,
    transport: Transport,
    reader: Reader,
    input: Box<[u8]>,
    /// Bytes of a token that is not whole yet.
    unread: Vec<u8>,
    /// Commands that are not answered.
    pub waiting: usize,
}

impl<'a> Connection<'a> {
    /// Connects, trying each address of the endpoint in turn.
    pub fn connect(options: &'a ConnectOptions) -> Result<Self, Problem> {
        let mut last = failure("connection", "it has no address");
        let deadline = Instant::now() + options.connect_timeout;
        for address in &options.endpoint.addresses {
            let transport = Socket::connect(address).map_err(Failure::from).and_then(|socket| {
                wait(&options.stop, &socket, libc::POLLOUT, Some(deadline))?;
                socket.error()?;
                if options.access.tls {
                    secure(options, socket, deadline)
                } else {
                    Ok(Transport::plain(socket))
                }
            });
            let opened = transport.and_then(|transport| {
                let (input, unread) = (vec![0; READ].into_boxed_slice(), Vec::new());
                let mut connection =
                    Self { options, transport, reader: Reader::default(), input, unread, waiting: 0 };
                connection.open(deadline).map(|()| connection)
            });
            match opened {
                Ok(connection) => return Ok(connection),
                Err(why) => last = why,
            }
        }
        Err(options.problem(&format!("cannot connect to {}", options.endpoint), &last))
    }

    fn open(&mut self, deadline: Instant) -> Result<(), Failure> {
        let mut handshake = Handshake::new(self.options.access.clone());
        let mut out = Vec::new();
        handshake.begin(&mut out);
        let mut ready = false;
        while !ready {
            self.send(&out, Some(deadline))?;
            out.clear();
            self.receive(Some(deadline), |token, ends| {
                ready = handshake.hear(token, ends, &mut out)?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Sends all of it; what is answered meanwhile is taken in, so that the server is never kept from reading on.
    fn send(&mut self, bytes: &[u8], deadline: Option<Instant>) -> Result<(), Failure> {
        let mut sent = bytes.is_empty() || self.transport.send(bytes).map_err(io_error)?;
        while !sent {
            let events =
                wait(&self.options.stop, self.transport.socket(), libc::POLLOUT | libc::POLLIN, deadline)?;
            if events & libc::POLLIN != 0 {
                self.take_answers()?;
            }
            sent = self.transport.flush().map_err(io_error)?;
        }
        Ok(())
    }

    /// Sends so many commands.
    pub fn ask(&mut self, bytes: &[u8], commands: usize) -> Result<(), Failure> {
        self.waiting += commands;
        self.send(bytes, None)
    }

    /// Waits until no more than so many commands are not answered. The first error among the answers is the failure.
    pub fn settle(&mut self, commands: usize) -> Result<(), Failure> {
        while self.waiting > commands {
            wait(&self.options.stop, self.transport.socket(), libc::POLLIN, None)?;
            self.take_answers()?;
        }
        Ok(())
    }

    fn take_answers(&mut self) -> Result<(), Failure> {
        let mut answered = 0;
        self.take(|token, ends| {
            answered += usize::from(ends);
            match token {
                Token::Error(error) => Err(refusal(error)),
                _ => Ok(()),
            }
        })?;
        self.waiting = self.waiting.saturating_sub(answered);
        Ok(())
    }

    /// Waits until more bytes have arrived, and hears what they say.
    fn receive(
        &mut self,
        deadline: Option<Instant>,
        mut hear: impl FnMut(Token<'_>, bool) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        while !self.take(&mut hear)? {
            wait(&self.options.stop, self.transport.socket(), libc::POLLIN, deadline)?;
        }
        Ok(())
    }

    /// Hears what has arrived; whether that was anything.
    fn take(
        &mut self,
        mut hear: impl FnMut(Token<'_>, bool) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let mut any = false;
        loop {
            let count = match self.transport.read(&mut self.input) {
                Ok(0) => return Err(failure("connection", "the server closed the connection")),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(any),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(io_error(error)),
            };
            any = true;
            self.unread.extend_from_slice(&self.input[..count]);
            let mut at = 0;
            while let Some(heard) = self.reader.next(&self.unread[at..], 0)? {
                at += heard.size;
                if heard.token != Token::Nothing {
                    hear(heard.token, heard.ends)?;
                }
            }
            self.unread.drain(..at);
        }
    }
}

fn secure(options: &ConnectOptions, socket: Socket, deadline: Instant) -> Result<Transport, Failure> {
    let tls = options.endpoint.tls.as_ref().ok_or_else(|| failure("tls", "TLS is not set up"))?;
    let mut stream = TlsStream::new(socket, tls)?;
    while !stream.handshake()? {
        // What a client says in a handshake fits into any socket's buffer: only the server is waited for.
        wait(&options.stop, stream.socket(), libc::POLLIN, Some(deadline))?;
    }
    Ok(Transport::Tls(Box::new(stream)))
}

fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}
