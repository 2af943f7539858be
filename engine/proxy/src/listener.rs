//! The address that the load connects to: a port of the loopback interface, which each thread listens on.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use loadcell_transport::{Socket, check};

/// Length of the queue of connections; the kernel has its own limit.
const BACKLOG: libc::c_int = 65_535;

/// A port of 127.0.0.1 that stays this process's own whether or not it listens there.
pub struct Port {
    _reserved: OwnedFd,
    pub number: u16,
}

impl Port {
    pub fn reserve() -> io::Result<Self> {
        let fd = bound(0)?;
        let listener = TcpListener::from(fd);
        let number = listener.local_addr()?.port();
        Ok(Self { _reserved: listener.into(), number })
    }
}

/// A socket of this port.
fn bound(port: u16) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor is owned at once.
    let fd = unsafe {
        let flags = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        OwnedFd::from_raw_fd(check(libc::socket(libc::AF_INET, flags, 0))?)
    };
    let yes: libc::c_int = 1;
    for option in [libc::SO_REUSEADDR, libc::SO_REUSEPORT] {
        let (value, length) = (std::ptr::from_ref(&yes).cast(), size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: an integer and its size.
        check(unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, option, value, length) })?;
    }
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
        sin_zero: [0; 8],
    };
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: `address` is an address of this family, and `length` its size.
    check(unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(&address).cast(), length) })?;
    Ok(fd)
}

/// A thread's listener. The kernel spreads connections over those of all threads.
pub struct Listener(OwnedFd);

impl Listener {
    pub fn new(port: u16) -> io::Result<Self> {
        let fd = bound(port)?;
        // SAFETY: no pointers.
        check(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
        Ok(Self(fd))
    }

    pub fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// The next connection; `None` when none waits.
    pub fn accept(&self) -> io::Result<Option<Socket>> {
        let nobody = std::ptr::null_mut();
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the peer's address is not asked for; the descriptor is owned at once.
        let fd = unsafe {
            match check(libc::accept4(self.fd(), nobody, nobody.cast(), flags)) {
                Ok(fd) => OwnedFd::from_raw_fd(fd),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        };
        Socket::accepted(fd).map(Some)
    }
}

/// Address of a port.
pub fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn a_port_is_kept_while_nobody_listens_there() {
        let port = Port::reserve().unwrap();
        let there = address(port.number);
        for _ in 0..3 {
            assert_eq!(TcpStream::connect(there).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
            let listeners = [Listener::new(port.number).unwrap(), Listener::new(port.number).unwrap()];
            let _client = TcpStream::connect(there).unwrap();
            assert!(listeners.iter().any(|listener| listener.accept().unwrap().is_some()));
        }
    }
}
