//! Peer of a network probe: a loadcell on another machine, or a child process on the loopback.

use serde_json::json;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::handshake::{ANSWER_BYTES, Answer, Hello, Test, VERSION};
use super::{Server, fault};
use loadcell_core::error::LoadError;
use loadcell_core::os;
use loadcell_load::blocking::Fault;
use loadcell_transport::{check, dial};

/// Time limit of any operation of a peer.
pub const TIMEOUT: Duration = Duration::from_secs(10);

pub enum Peer {
    Elsewhere(SocketAddr),
    Child(Child),
}

impl Peer {
    /// Check that a compatible server listens at `HOST:PORT`.
    pub fn connect_to(name: &str) -> Result<Self, LoadError> {
        let unknown = |error: io::Error| {
            LoadError::with_text("connection", error, "engine.peer-name", json!({"peer": name}))
        };
        let mut last = unknown(io::ErrorKind::NotFound.into());
        for address in name.to_socket_addrs().map_err(unknown)? {
            match greet(address) {
                Ok(()) => return Ok(Self::Elsewhere(address)),
                Err(problem) => last = problem.at(name),
            }
        }
        Err(last)
    }

    /// Start a server on the loopback in a separate process, which separates its resource usage from the
    /// clients'.
    pub fn start_child() -> Result<Self, LoadError> {
        let refused = |error: io::Error| LoadError::with_text("limit", error, "engine.loopback", json!({}));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let parent = std::process::id();
        // SAFETY: the child never returns from here and uses no locks of other threads: a process that runs a
        // load has a single thread at this point.
        match check(unsafe { libc::fork() }).map_err(refused)? {
            0 => serve_to_the_end(listener, parent),
            pid => Ok(Self::Child(Child { pid, address })),
        }
    }

    pub fn address(&self) -> SocketAddr {
        match self {
            Self::Elsewhere(address) => *address,
            Self::Child(child) => child.address,
        }
    }
}

/// Main function of the child: serves until its parent ends or kills it.
fn serve_to_the_end(listener: TcpListener, parent: u32) -> ! {
    // SAFETY: these calls share no memory but a zero-terminated name.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_NAME, c"loadcell-serve".as_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_IGN); // The load ends in an orderly way, and this process with it.
        }
    }
    let orphaned = std::os::unix::process::parent_id() != parent;
    let server = Server::start(listener);
    while server.is_ok() && !orphaned {
        std::thread::park();
    }
    // SAFETY: ends the process and nothing else.
    unsafe { libc::_exit(1) }
}

/// A serving process, killed when dropped.
pub struct Child {
    pid: libc::pid_t,
    address: SocketAddr,
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: our own child, not waited for yet.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// Reason why a peer is unusable.
enum PeerError {
    Gone(io::Error),
    Stranger,
    Other(u16),
    Full,
    Silent,
}

impl PeerError {
    fn at(&self, name: &str) -> LoadError {
        let arguments = json!({"peer": name});
        match self {
            Self::Gone(error) => {
                LoadError::with_text("connection", os::error_text(error), "engine.peer-gone", arguments)
            }
            Self::Stranger => LoadError::at("connection", "engine.peer-stranger", arguments),
            Self::Other(version) => {
                let arguments = json!({"peer": name, "found": version, "expected": VERSION});
                LoadError::at("connection", "engine.peer-version", arguments)
            }
            Self::Full => LoadError::at("connection", "engine.peer-full", arguments),
            Self::Silent => LoadError::at("connection", "engine.peer-silent", arguments),
        }
    }

    /// Code of the failed connection.
    fn code(&self) -> &'static str {
        match self {
            Self::Gone(_) => "connection",
            Self::Stranger => "peer-stranger",
            Self::Other(_) => "peer-version",
            Self::Full => "peer-full",
            Self::Silent => "peer-silent",
        }
    }
}

/// Send a greeting and check the answer.
fn greet(address: SocketAddr) -> Result<(), PeerError> {
    let hello = Hello { test: Test::Greeting, request: 1, response: 1 };
    let mut stream = dial(address, TIMEOUT / 2).map_err(PeerError::Gone)?;
    stream.write_all(&hello.encode()).map_err(|_| PeerError::Stranger)?;
    answered(&mut stream)
}

fn answered(stream: &mut TcpStream) -> Result<(), PeerError> {
    let mut bytes = [0; ANSWER_BYTES];
    match stream.read_exact(&mut bytes) {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            return Err(PeerError::Silent);
        }
        Err(_) => return Err(PeerError::Stranger),
    }
    match Answer::decode(&bytes) {
        Some((Answer::Welcome, _)) => Ok(()),
        Some((Answer::Version, version)) => Err(PeerError::Other(version)),
        Some((Answer::Full, _)) => Err(PeerError::Full),
        Some((Answer::Unknown, _)) | None => Err(PeerError::Stranger),
    }
}

/// Open a connection for a test with several transactions.
pub fn open(address: SocketAddr, hello: Hello) -> Result<TcpStream, Fault> {
    let mut stream = dial(address, TIMEOUT).map_err(|error| fault(&error))?;
    stream
        .set_nodelay(true)
        .and_then(|()| stream.write_all(&hello.encode()))
        .map_err(|error| fault(&error))?;
    answered(&mut stream).map_err(|error| Fault::fatal(error.code(), address.to_string()))?;
    Ok(stream)
}
