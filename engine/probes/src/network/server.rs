//! Server of a network probe: answers requests and counts streamed bytes.
//!
//! A thread serves one connection after the other to its end, which is best for request/response; one more
//! thread is always waiting. A client can occupy at most a thread and a fixed amount of memory, and only
//! while it is active.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::Builder;
use std::time::{Duration, Instant};

use serde_json::json;

use super::handshake::{Answer, HELLO_BYTES, Hello, Test};
use super::socket_io::{PIECE, pass, readable, receive_now, write};
use loadcell_core::error::LoadError;
use loadcell_core::observe::{Directive, Observer, TICK};
use loadcell_core::os;

/// Maximum of concurrent connections; further ones get an answer to that effect.
const MOST_CONNECTIONS: u32 = 1024;
/// Maximum of idle threads, kept for later connections.
const SPARE_THREADS: u32 = 16;
/// Time limit of the hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of rejecting a connection.
const FULL_TIMEOUT: Duration = Duration::from_millis(100);
/// Silence after which a client is considered gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes and time after which a stream's client gets a report.
const REPORT_BYTES: u64 = 1 << 20;
const TELL_AFTER: Duration = Duration::from_millis(10);

/// A running server; stopped when dropped.
pub struct Server {
    shared: Arc<Shared>,
    pub address: SocketAddr,
}

struct Shared {
    listener: TcpListener,
    over: AtomicBool,
    waiting: AtomicU32,
    serving: AtomicU32,
    connections: AtomicU64,
    transactions: AtomicU64,
    received: AtomicU64,
}

/// Totals of a server, over finished connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ServerTotals {
    /// Connections of tests, without greetings.
    pub connections: u64,
    /// Requests answered.
    pub transactions: u64,
    /// Bytes streamed.
    pub received_bytes: u64,
}

impl Server {
    pub fn start(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Shared {
            listener,
            over: AtomicBool::new(false),
            waiting: AtomicU32::new(0),
            serving: AtomicU32::new(0),
            connections: AtomicU64::new(0),
            transactions: AtomicU64::new(0),
            received: AtomicU64::new(0),
        };
        let shared = Arc::new(shared);
        start_thread(&shared)?;
        Ok(Self { shared, address })
    }

    pub fn served(&self) -> ServerTotals {
        let Shared { connections, transactions, received, .. } = &*self.shared;
        ServerTotals {
            connections: connections.load(Relaxed),
            transactions: transactions.load(Relaxed),
            received_bytes: received.load(Relaxed),
        }
    }

    /// True if every connection has ended.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.shared.serving.load(Relaxed) == 0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.over.store(true, Relaxed);
        // SAFETY: no pointers. Threads waiting for connections wake up; those serving one end with it.
        unsafe { libc::shutdown(self.shared.listener.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

/// Start one more thread that waits for connections.
fn start_thread(shared: &Arc<Shared>) -> io::Result<()> {
    let thread_shared = shared.clone();
    shared.waiting.fetch_add(1, Relaxed);
    let started = Builder::new().name("serve".into()).spawn(move || thread_shared.work());
    if started.is_err() {
        shared.waiting.fetch_sub(1, Relaxed);
    }
    started.map(drop)
}

impl Shared {
    /// Serve connections until enough other threads are idle.
    fn work(self: Arc<Self>) {
        let mut piece = vec![0; PIECE];
        while !self.over.load(Relaxed) {
            let Ok((stream, _)) = self.listener.accept() else {
                // No descriptor is free, or a client left before it was accepted.
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            let full = self.serving.fetch_add(1, Relaxed) >= MOST_CONNECTIONS;
            if full {
                let _ = refuse(&stream, Answer::Full, FULL_TIMEOUT);
            } else {
                let alone = self.waiting.fetch_sub(1, Relaxed) == 1;
                if alone && start_thread(&self).is_err() {
                    // No thread would remain to accept the next connection.
                    let _ = refuse(&stream, Answer::Full, FULL_TIMEOUT);
                } else {
                    // Errors of a connection concern its client only.
                    let _ = self.serve(&stream, &mut piece);
                }
                self.waiting.fetch_add(1, Relaxed);
            }
            drop(stream);
            self.serving.fetch_sub(1, Relaxed);
            if self.waiting.load(Relaxed) > SPARE_THREADS {
                break;
            }
        }
        self.waiting.fetch_sub(1, Relaxed);
    }

    fn serve(&self, stream: &TcpStream, piece: &mut [u8]) -> io::Result<()> {
        stream.set_read_timeout(Some(HELLO_TIMEOUT))?;
        let mut bytes = [0; HELLO_BYTES];
        (&*stream).read_exact(&mut bytes)?;
        let hello = match Hello::decode(&bytes) {
            None => return Ok(()),
            Some(Err(answer)) => return refuse(stream, answer, HELLO_TIMEOUT),
            Some(Ok(hello)) => hello,
        };
        match hello.test {
            Test::Greeting => return (&*stream).write_all(&Answer::Welcome.encode()),
            // The connection is a single request, which came with the hello.
            Test::Crr => {
                self.connections.fetch_add(1, Relaxed);
                pass(stream, hello.request, piece)?;
                write(stream, hello.response, piece)?;
                self.transactions.fetch_add(1, Relaxed);
                // The client closes first and keeps the port for a while, like an HTTP client.
                return (&*stream).read(piece).map(drop);
            }
            Test::Rr | Test::Stream => {}
        }
        self.connections.fetch_add(1, Relaxed);
        stream.set_read_timeout(Some(IDLE_TIMEOUT))?;
        stream.set_write_timeout(Some(IDLE_TIMEOUT))?;
        stream.set_nodelay(true)?;
        (&*stream).write_all(&Answer::Welcome.encode())?;
        if hello.test == Test::Stream { self.count(stream, piece) } else { self.answer(stream, hello, piece) }
    }

    /// Answer requests until the client ends.
    fn answer(&self, stream: &TcpStream, hello: Hello, piece: &mut [u8]) -> io::Result<()> {
        let mut answered = 0;
        let ended = loop {
            let exchanged =
                pass(stream, hello.request, piece).and_then(|()| write(stream, hello.response, piece));
            if let Err(error) = exchanged {
                break error;
            }
            answered += 1;
        };
        self.transactions.fetch_add(answered, Relaxed);
        Err(ended)
    }

    /// Count received bytes until the client ends.
    fn count(&self, stream: &TcpStream, piece: &mut [u8]) -> io::Result<()> {
        let mut counter = Counter { total: 0, reported: 0, since: Instant::now() };
        let ended = counter.run(stream, piece);
        self.received.fetch_add(counter.total, Relaxed);
        ended
    }
}

/// Received bytes, and the total and time of the last report.
struct Counter {
    total: u64,
    reported: u64,
    since: Instant,
}

impl Counter {
    fn run(&mut self, stream: &TcpStream, piece: &mut [u8]) -> io::Result<()> {
        loop {
            match receive_now(stream, piece) {
                Ok(0) => return Ok(()),
                Ok(count) => self.total += count as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(stream)?,
                Err(error) => return Err(error),
            }
            let unknown = self.total - self.reported;
            if unknown >= REPORT_BYTES || unknown > 0 && self.since.elapsed() >= TELL_AFTER {
                self.tell(stream)?;
            }
        }
    }

    /// Wait for more data, at most until the next report is due.
    fn wait(&mut self, stream: &TcpStream) -> io::Result<()> {
        let patience = if self.total > self.reported { TELL_AFTER } else { IDLE_TIMEOUT };
        let came = readable(stream, patience)?;
        match (came, self.total > self.reported) {
            (true, _) => Ok(()),
            (false, true) => self.tell(stream),
            (false, false) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn tell(&mut self, stream: &TcpStream) -> io::Result<()> {
        (self.reported, self.since) = (self.total, Instant::now());
        (&*stream).write_all(&self.total.to_be_bytes())
    }
}

fn refuse(mut stream: &TcpStream, answer: Answer, patience: Duration) -> io::Result<()> {
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(&answer.encode())?;
    // If its hello were unread, closing the connection would discard the answer.
    stream.set_read_timeout(Some(patience))?;
    stream.read(&mut [0; HELLO_BYTES]).map(drop)
}

/// Serve at `HOST:PORT` until the observer stops it.
pub fn serve(address: &str, observer: &mut dyn Observer) -> Result<ServerTotals, LoadError> {
    let refused = |error: io::Error| refused(address, &error);
    let named = address.to_socket_addrs().map_err(refused)?.next();
    let named = named.ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
    let server = TcpListener::bind(named).and_then(Server::start).map_err(refused)?;
    let mut go = observer.event(&json!({"type": "listening", "address": server.address.to_string()}));
    while go == Directive::Continue {
        std::thread::sleep(TICK);
        go = observer.tick();
    }
    if go == Directive::Abort { Err(LoadError::aborted()) } else { Ok(server.served()) }
}

fn refused(address: &str, error: &io::Error) -> LoadError {
    let step = match error.raw_os_error() {
        Some(libc::EADDRINUSE) => "engine.listen-in-use",
        Some(libc::EADDRNOTAVAIL) => "engine.listen-elsewhere",
        Some(libc::EACCES) => "engine.listen-denied",
        _ => "engine.listen",
    };
    LoadError::with_text("connection", os::error_text(error), step, json!({"address": address}))
}
