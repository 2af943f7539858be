//! Socket helpers for data whose contents do not matter.

use std::io::{self, Read, Write};
use std::mem::size_of;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use loadcell_transport::check;

/// Size of reads and writes in bytes, as in iperf3. Twice as much slows a loopback stream by a fifth, as it
/// exceeds the caches next to a core.
pub const PIECE: usize = 128 << 10;

/// Connect with a single system call, as typical clients do. `patience` also limits its later operations.
pub fn dial(address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: no pointers; the descriptor is owned at once.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    let stream = TcpStream::from(unsafe { OwnedFd::from_raw_fd(check(fd)?) });
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    let connected = match address {
        SocketAddr::V4(v4) => connect(
            &stream,
            &libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            },
        ),
        SocketAddr::V6(v6) => connect(
            &stream,
            &libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            },
        ),
    };
    match connected {
        // The kernel's code for an expired time limit.
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Err(io::ErrorKind::TimedOut.into()),
        answer => answer.map(|()| stream),
    }
}

fn connect<A>(stream: &TcpStream, address: &A) -> io::Result<()> {
    let length = size_of::<A>() as libc::socklen_t;
    // SAFETY: `address` is one of the kernel's own socket address types, and `length` its size.
    check(unsafe { libc::connect(stream.as_raw_fd(), std::ptr::from_ref(address).cast(), length) }).map(drop)
}

/// Read and discard `length` bytes.
pub fn pass(mut stream: &TcpStream, length: u32, piece: &mut [u8]) -> io::Result<()> {
    let mut remaining = length as usize;
    while remaining > 0 {
        let most = remaining.min(piece.len());
        match stream.read(&mut piece[..most]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => remaining -= count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Write `length` arbitrary bytes.
pub fn write(mut stream: &TcpStream, length: u32, piece: &[u8]) -> io::Result<()> {
    let mut remaining = length as usize;
    while remaining > 0 {
        let most = remaining.min(piece.len());
        stream.write_all(&piece[..most])?;
        remaining -= most;
    }
    Ok(())
}

/// Read without waiting.
pub fn receive_now(stream: &TcpStream, piece: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the memory is valid for its length.
    let count =
        unsafe { libc::recv(stream.as_raw_fd(), piece.as_mut_ptr().cast(), piece.len(), libc::MSG_DONTWAIT) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Wait up to `within` for data. True if there is some.
pub fn readable(stream: &TcpStream, within: Duration) -> io::Result<bool> {
    let mut asked = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = within.as_millis().min(i32::MAX as u128) as libc::c_int;
    loop {
        // SAFETY: one valid entry.
        match check(unsafe { libc::poll(&mut asked, 1, milliseconds) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer.map(|ready| ready > 0),
        }
    }
}
