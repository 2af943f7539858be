//! What carries bytes to the target: TCP or a Unix socket, plain or with TLS. Nothing here ever blocks.

mod binding;
mod endpoint;
mod socket;
mod tls;

pub use endpoint::{Address, Endpoint};
pub use socket::{Socket, check};
pub use tls::{Tls, TlsStream};

use std::io;

/// An open way to the target.
pub enum Transport {
    Plain(Plain),
    Tls(Box<TlsStream>),
}

/// A socket, and what it did not take yet.
pub struct Plain {
    socket: Socket,
    /// What is left of it starts at `sent`; empty when nothing is left.
    unsent: Vec<u8>,
    sent: usize,
}

impl Plain {
    /// The socket alone, for TLS to be made on it. Nothing is unsent then: the server has answered.
    pub fn into_socket(self) -> Socket {
        self.socket
    }
}

impl Transport {
    pub fn plain(socket: Socket) -> Self {
        Self::Plain(Plain { socket, unsent: Vec::new(), sent: 0 })
    }

    pub fn socket(&self) -> &Socket {
        match self {
            Self::Plain(plain) => &plain.socket,
            Self::Tls(stream) => stream.socket(),
        }
    }

    /// Reads what is there; 0 bytes at the end of the stream, `WouldBlock` when there is nothing yet.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(plain) => plain.socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }

    /// Whether a read of `count` bytes into a buffer of `capacity` has taken all that was there: then the next bytes
    /// will be announced by epoll, and asking for them would only cost a system call.
    #[inline]
    pub fn drained(&self, count: usize, capacity: usize) -> bool {
        matches!(self, Self::Plain(_)) && count < capacity
    }

    /// Sends all of `bytes`, now or, when `false` is returned, with the next calls of `flush`.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<bool> {
        match self {
            Self::Plain(plain) if plain.unsent.is_empty() => {
                let sent = or_nothing(plain.socket.write(bytes))?;
                if sent == bytes.len() {
                    return Ok(true);
                }
                plain.unsent.extend_from_slice(&bytes[sent..]);
                Ok(false)
            }
            Self::Plain(plain) => {
                plain.unsent.extend_from_slice(bytes);
                self.flush()
            }
            Self::Tls(stream) => stream.send(bytes),
        }
    }

    /// Goes on sending; whether all is sent.
    #[cold]
    pub fn flush(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(plain) => {
                while plain.sent < plain.unsent.len() {
                    let sent = or_nothing(plain.socket.write(&plain.unsent[plain.sent..]))?;
                    if sent == 0 {
                        return Ok(false);
                    }
                    plain.sent += sent;
                }
                plain.unsent.clear();
                plain.sent = 0;
                Ok(true)
            }
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A socket that takes nothing just now has taken 0 bytes.
fn or_nothing(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        other => other,
    }
}
