//! Pipes for splice(2): long streams pass from socket to socket without being copied.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use loadcell_transport::check;

/// Capacity asked for; the kernel may refuse it to an unprivileged user.
const CAPACITY: usize = 1 << 20;
/// Most pipes of a thread: a stream whose sink is slow keeps its own.
const MAX_PIPES: usize = 64;

/// A pipe, with the number of bytes in it.
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    pub bytes: usize,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: `ends` has room for both descriptors, which are owned at once.
        let (read, write) = unsafe {
            check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK))?;
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        // SAFETY: no pointers. A smaller pipe serves, too.
        unsafe { libc::fcntl(write.as_raw_fd(), libc::F_SETPIPE_SZ, CAPACITY as libc::c_int) };
        Ok(Self { read, write, bytes: 0 })
    }

    /// Take what has arrived at a socket; 0 at the end of the stream.
    pub fn fill(&mut self, source: RawFd) -> io::Result<usize> {
        let count = splice(source, self.write.as_raw_fd(), CAPACITY)?;
        self.bytes += count;
        Ok(count)
    }

    /// Hand on to a socket what it takes.
    pub fn empty(&mut self, sink: RawFd) -> io::Result<()> {
        while self.bytes > 0 {
            self.bytes -= splice(self.read.as_raw_fd(), sink, self.bytes)?;
        }
        Ok(())
    }
}

fn splice(from: RawFd, to: RawFd, size: usize) -> io::Result<usize> {
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    let no_offset = std::ptr::null_mut::<libc::loff_t>();
    // SAFETY: no offsets, as neither end is a file.
    let count = unsafe { libc::syscall(libc::SYS_splice, from, no_offset, to, no_offset, size, flags) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// The pipes of a thread that hold no bytes.
#[derive(Default)]
pub struct Pipes {
    free: Vec<Pipe>,
    made: usize,
}

impl Pipes {
    /// An empty pipe, if one is to be had.
    pub fn take(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.free.pop() {
            return Some(pipe);
        }
        let pipe = (self.made < MAX_PIPES).then(Pipe::new)?.ok()?;
        self.made += 1;
        Some(pipe)
    }

    /// Take a pipe back; one that is not empty is closed.
    pub fn put(&mut self, pipe: Pipe) {
        if pipe.bytes == 0 {
            self.free.push(pipe);
        } else {
            self.made -= 1;
        }
    }
}
