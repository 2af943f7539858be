//! Byte streams to the target: TCP or Unix sockets, plain or with TLS. Non-blocking, except for
//! `BlockingTransport` (set-up and loading of data) and `dial` (probes).

mod binding;
mod blocking;
mod endpoint;
pub mod epoll;
mod socket;
mod tls;

pub use blocking::{BlockingTransport, ConnectOptions, connect};
pub use endpoint::{Address, Endpoint};
pub use socket::{Socket, check, dial};
pub use tls::{Tls, TlsStream};

use std::io;

/// An open connection.
pub enum Transport {
    Plain(Plain),
    Tls(Box<TlsStream>),
}

/// A socket, with bytes that it has not accepted yet.
pub struct Plain {
    socket: Socket,
    /// Unsent bytes from `sent` on; empty when all are sent.
    unsent: Vec<u8>,
    sent: usize,
}

impl Plain {
    /// The socket, for a TLS handshake. No bytes are unsent then, as the server has replied.
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

    /// Read available bytes; 0 at the end of the stream, `WouldBlock` if there are none yet.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(plain) => plain.socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }

    /// True if a read of `count` bytes into a buffer of `capacity` got all available bytes. Another read
    /// would only cost a system call, as epoll reports the next bytes.
    #[inline]
    pub fn drained(&self, count: usize, capacity: usize) -> bool {
        matches!(self, Self::Plain(_)) && count < capacity
    }

    /// Send `bytes`. False if some remain, which later calls of `flush` send.
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

    /// Size of the output that waits for the peer, in bytes.
    #[cold]
    pub fn unsent(&self) -> usize {
        match self {
            Self::Plain(plain) => plain.unsent.len(),
            Self::Tls(stream) => stream.unsent(),
        }
    }

    /// Send the remaining bytes. True once all are sent.
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

/// Map a full socket buffer to 0 bytes.
#[inline]
fn or_nothing(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        other => other,
    }
}
