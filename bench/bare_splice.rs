//! The limit: a loop that splices bytes between the two sockets of each connection, and does nothing else.
//!
//! One thread, edge-triggered events, a pipe for each direction. It prints its port, and at the end of its
//! standard input its CPU time in nanoseconds.
//!
//!     bare_splice PORT

use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

const SIZE: usize = 1 << 20;
const FLAGS: libc::c_uint = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;

/// Data of the events that are of no flow.
const LISTENER: u64 = u64::MAX;
const STDIN: u64 = u64::MAX - 1;

struct Flow {
    source: RawFd,
    sink: RawFd,
    pipe: [RawFd; 2],
    held: usize,
    ended: bool,
}

impl Flow {
    fn new(source: RawFd, sink: RawFd) -> Self {
        let mut pipe = [0; 2];
        // SAFETY: `pipe` has room for both descriptors.
        unsafe {
            assert_eq!(libc::pipe2(pipe.as_mut_ptr(), libc::O_NONBLOCK), 0);
            libc::fcntl(pipe[1], libc::F_SETPIPE_SZ, SIZE);
        }
        Self { source, sink, pipe, held: 0, ended: false }
    }

    /// Move what has arrived.
    fn advance(&mut self) {
        loop {
            while self.held > 0 {
                let count = splice(self.pipe[0], self.sink, self.held);
                if count <= 0 {
                    return;
                }
                self.held -= count as usize;
            }
            if self.ended {
                return;
            }
            match splice(self.source, self.pipe[1], SIZE) {
                0 => {
                    self.ended = true;
                    // SAFETY: no pointers.
                    unsafe { libc::shutdown(self.sink, libc::SHUT_WR) };
                }
                count if count < 0 => return,
                count => self.held = count as usize,
            }
        }
    }
}

fn splice(from: RawFd, to: RawFd, size: usize) -> isize {
    let nowhere = std::ptr::null_mut();
    // SAFETY: no offsets, as neither end is a file.
    unsafe { libc::splice(from, nowhere, to, nowhere, size, FLAGS) }
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn main() {
    let upstream: u16 = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("bare_splice PORT");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    println!("{}", listener.local_addr().expect("an address").port());
    // SAFETY: plain system calls on descriptors that this function owns for its whole length.
    let epoll = unsafe { libc::epoll_create1(0) };
    let watch = |fd: RawFd, data: u64| {
        let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: data };
        // SAFETY: `event` lives across the call, both descriptors are open.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
    };
    listener.set_nonblocking(true).expect("O_NONBLOCK");
    watch(listener.as_raw_fd(), LISTENER);
    watch(0, STDIN);
    let mut flows: Vec<Flow> = Vec::new();
    let mut streams = Vec::new();
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 256];
    loop {
        // SAFETY: `events` has room for 256 entries.
        let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), 256, -1) };
        for event in &events[..count.max(0) as usize] {
            let data = event.u64;
            match data {
                LISTENER => {
                    while let Ok((client, _)) = listener.accept() {
                        let server = TcpStream::connect(("127.0.0.1", upstream)).expect("the server listens");
                        for stream in [&client, &server] {
                            stream.set_nonblocking(true).expect("O_NONBLOCK");
                            stream.set_nodelay(true).expect("TCP_NODELAY");
                        }
                        let (first, second) = (client.as_raw_fd(), server.as_raw_fd());
                        flows.push(Flow::new(first, second));
                        flows.push(Flow::new(second, first));
                        watch(first, flows.len() as u64 - 2);
                        watch(second, flows.len() as u64 - 1);
                        streams.push((client, server));
                    }
                }
                STDIN => {
                    println!("{}", cpu_ns());
                    return;
                }
                index => {
                    let (readiness, index) = (event.events as i32, index as usize);
                    if readiness & (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP) != 0 {
                        flows[index].advance();
                    }
                    if readiness & libc::EPOLLOUT != 0 && flows[index ^ 1].held > 0 {
                        flows[index ^ 1].advance();
                    }
                }
            }
        }
    }
}
