//! Sockets by direct system calls: the standard library cannot connect without waiting.

use std::io::{self, Read, Write};
use std::mem::size_of;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::Address;

pub struct Socket(OwnedFd);

impl Socket {
    /// Start to connect. epoll reports the socket as writable once it is connected or has failed: see
    /// `error`.
    pub fn connect(address: &Address) -> io::Result<Self> {
        let socket = Self::new(address, libc::SOCK_NONBLOCK)?;
        if let Address::Tcp(_) = address {
            socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        }
        match socket.start(address) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(socket),
        }
    }

    /// A socket that a listener has accepted, which sends small messages at once.
    pub fn accepted(fd: OwnedFd) -> io::Result<Self> {
        let socket = Self(fd);
        socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        Ok(socket)
    }

    /// Close at once: unsent data are lost, and a peer by TCP receives a reset.
    pub fn abort(self) {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let _ = self.set(libc::SOL_SOCKET, libc::SO_LINGER, linger);
    }

    /// Send the end of the stream after all data. An error means that the peer has closed already.
    pub fn end_writing(&self) {
        // SAFETY: no pointers.
        unsafe { libc::shutdown(self.fd(), libc::SHUT_WR) };
    }

    /// Limit the bytes that the kernel keeps until the peer has taken them; it allows twice as many.
    pub fn limit_send_buffer(&self, bytes: u32) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX))
    }

    /// Number of sent bytes that the peer has not acknowledged (TCP) or not read (Unix, with the kernel's
    /// overhead).
    pub fn unacknowledged(&self) -> io::Result<u64> {
        let mut bytes: libc::c_int = 0;
        // SAFETY: SIOCOUTQ, which is TIOCOUTQ, writes one integer.
        check(unsafe { libc::ioctl(self.fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    fn new(address: &Address, flags: libc::c_int) -> io::Result<Self> {
        let family = match address {
            Address::Tcp(SocketAddr::V4(_)) => libc::AF_INET,
            Address::Tcp(SocketAddr::V6(_)) => libc::AF_INET6,
            Address::Unix(_) => libc::AF_UNIX,
        };
        // SAFETY: no pointers; the descriptor is owned at once.
        let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags, 0) };
        Ok(Self(unsafe { OwnedFd::from_raw_fd(check(fd)?) }))
    }

    fn start(&self, address: &Address) -> io::Result<()> {
        match address {
            Address::Tcp(SocketAddr::V4(v4)) => self.start_at(&libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            Address::Tcp(SocketAddr::V6(v6)) => self.start_at(&libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
            Address::Unix(path) => {
                let mut name =
                    libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
                let path = path.as_os_str().as_bytes();
                if path.len() >= name.sun_path.len() {
                    return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
                }
                for (to, from) in name.sun_path.iter_mut().zip(path) {
                    *to = *from as libc::c_char;
                }
                self.start_at(&name)
            }
        }
    }

    fn start_at<A>(&self, address: &A) -> io::Result<()> {
        let length = size_of::<A>() as libc::socklen_t;
        // SAFETY: `address` is one of the kernel's own socket address types, and `length` its size.
        check(unsafe { libc::connect(self.fd(), std::ptr::from_ref(address).cast(), length) }).map(drop)
    }

    /// Result of `connect`, or another pending error.
    pub fn error(&self) -> io::Result<()> {
        let mut error: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        let pointer = std::ptr::from_mut(&mut error).cast();
        // SAFETY: `pointer` refers to the integer that SO_ERROR is written to.
        check(unsafe {
            libc::getsockopt(self.fd(), libc::SOL_SOCKET, libc::SO_ERROR, pointer, &mut length)
        })?;
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    fn set<T: Copy>(&self, level: libc::c_int, name: libc::c_int, value: T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the option's value and its size.
        check(unsafe { libc::setsockopt(self.fd(), level, name, std::ptr::from_ref(&value).cast(), length) })
            .map(drop)
    }

    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (pointer, nobody) = (buffer.as_mut_ptr(), std::ptr::null_mut::<libc::sockaddr>());
        // SAFETY: the buffer is valid for its length, and the sender's address is not requested. The bare
        // system call, here and below: libc's wrapper is a cancellation point, which costs two locked writes
        // per call.
        let count =
            unsafe { libc::syscall(libc::SYS_recvfrom, self.fd(), pointer, buffer.len(), 0, nobody, nobody) };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
    }

    #[inline]
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let (pointer, nobody, flags) =
            (bytes.as_ptr(), std::ptr::null::<libc::sockaddr>(), libc::MSG_NOSIGNAL);
        // SAFETY: the bytes are valid for their length. Without MSG_NOSIGNAL a closed peer would end the
        // process.
        let count = unsafe {
            libc::syscall(libc::SYS_sendto, self.fd(), pointer, bytes.len(), flags, nobody, 0usize)
        };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
    }

    #[inline]
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Socket::read(self, buffer)
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Socket::write(self, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Connect a blocking socket with a single system call, as typical clients do. `time_limit` is also that of
/// each later read and write.
pub fn dial(address: SocketAddr, time_limit: Duration) -> io::Result<TcpStream> {
    let address = Address::Tcp(address);
    let stream = TcpStream::from(Socket::new(&address, 0)?.0);
    stream.set_write_timeout(Some(time_limit))?;
    stream.set_read_timeout(Some(time_limit))?;
    let socket = Socket(stream.into());
    match socket.start(&address) {
        // The kernel's code for an expired time limit.
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Err(io::ErrorKind::TimedOut.into()),
        connected => connected.map(|()| socket.0.into()),
    }
}

/// Convert the result of a system call.
pub fn check(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
