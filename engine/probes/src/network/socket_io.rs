//! Socket helpers for data whose contents do not matter.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use loadcell_transport::check;

/// Size of reads and writes in bytes, as in iperf3. Twice as much slows a loopback stream by a fifth, as it
/// exceeds the caches next to a core.
pub const PIECE: usize = 128 << 10;

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
