//! The cheapest server of HTTP: an epoll loop that answers each piece of input with one fixed response,
//! whatever it says.
//!
//! One read and one write a request and nothing else, so that as much as can be of a machine is left to the
//! client. Good only for clients that have one request at a time on a connection. Prints its port, and ends
//! with its standard input.
//!
//!     bare_server THREADS

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789";

/// Serves the connections that come to it, one thread's share.
fn serve(listener: &TcpListener) {
    // SAFETY: plain system calls on descriptors that this function owns, or borrows for its whole length.
    let epoll = unsafe { libc::epoll_create1(0) };
    let watch = |fd: i32| {
        // Of several threads that wait for connections one is woken for each.
        let events =
            (libc::EPOLLIN | if fd == listener.as_raw_fd() { libc::EPOLLEXCLUSIVE } else { 0 }) as u32;
        let mut event = libc::epoll_event { events, u64: fd as u64 };
        // SAFETY: `event` lives across the call, both descriptors are open.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
    };
    watch(listener.as_raw_fd());
    let mut streams: Vec<Option<TcpStream>> = Vec::new();
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 1024];
    let mut buffer = [0u8; 4096];
    loop {
        // SAFETY: `events` has room for as many.
        let ready = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), events.len() as i32, -1) };
        for event in &events[..ready.max(0) as usize] {
            let fd = event.u64 as usize;
            if fd as i32 == listener.as_raw_fd() {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true).expect("O_NONBLOCK");
                    stream.set_nodelay(true).expect("TCP_NODELAY");
                    let fd = stream.as_raw_fd();
                    streams.resize_with(streams.len().max(fd as usize + 1), || None);
                    streams[fd as usize] = Some(stream);
                    watch(fd);
                }
                continue;
            }
            let Some(stream) = &mut streams[fd] else { continue };
            let answered = match stream.read(&mut buffer) {
                Ok(0) | Err(_) => false,
                Ok(_) => stream.write_all(RESPONSE).is_ok(),
            };
            if !answered {
                streams[fd] = None;
            }
        }
    }
}

fn main() {
    let threads: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    // SAFETY: both point to valid places; at worst fewer connections can be open.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free loopback port");
    listener.set_nonblocking(true).expect("O_NONBLOCK");
    println!("port {}", listener.local_addr().expect("an address").port());
    let listener: &TcpListener = Box::leak(Box::new(listener));
    for _ in 0..threads {
        thread::spawn(move || serve(listener));
    }
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
