//! The limit: an epoll loop that writes the same request of HTTP again and again, reads the same response,
//! and does nothing else.
//!
//! It draws nothing, records nothing and parses nothing: a response is whole when it is as long as the first
//! one was. What it costs a request is what the kernel costs; what a client costs above it is its own. One
//! JSON line on standard output.
//!
//!     bare_http HOST PORT PATH CLIENTS SECONDS

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// The length of a response, from one that is read until its body is whole.
fn length(stream: &mut TcpStream, request: &[u8]) -> usize {
    stream.write_all(request).expect("the request is sent");
    let mut seen = Vec::new();
    let mut buffer = [0u8; 65536];
    loop {
        let count = stream.read(&mut buffer).expect("the server answers");
        assert!(count > 0, "the server closed the connection");
        seen.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&seen).to_ascii_lowercase();
        let Some(head) = text.find("\r\n\r\n") else { continue };
        let body = text[..head].split("content-length:").nth(1).expect("a length of the body");
        let body: usize = body.split("\r\n").next().unwrap_or_default().trim().parse().expect("a number");
        if seen.len() >= head + 4 + body {
            return head + 4 + body;
        }
    }
}

fn cpu() -> Duration {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid rusage for the call to fill.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let part = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    part(usage.ru_utime) + part(usage.ru_stime)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    assert!(args.len() == 6, "bare_http HOST PORT PATH CLIENTS SECONDS");
    let number = |index: usize| {
        args[index].parse::<u64>().unwrap_or_else(|_| panic!("{} is not a number", args[index]))
    };
    let (port, clients, length_s) = (number(2) as u16, number(4) as usize, Duration::from_secs(number(5)));
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}:{port}\r\nuser-agent: bare\r\naccept: */*\r\n\r\n",
        args[3], args[1]
    );
    let request = request.as_bytes();
    let mut streams: Vec<TcpStream> = (0..clients)
        .map(|_| {
            let stream = TcpStream::connect((args[1].as_str(), port)).expect("a server listens there");
            stream.set_nodelay(true).expect("TCP_NODELAY");
            stream
        })
        .collect();
    let size = length(&mut streams[0], request);
    // SAFETY: plain system calls on file descriptors this function owns for its whole length.
    let epoll = unsafe { libc::epoll_create1(0) };
    let mut missing = vec![size; clients];
    let (begun, cpu_before) = (Instant::now(), cpu());
    for (index, stream) in streams.iter().enumerate() {
        stream.set_nonblocking(true).expect("O_NONBLOCK");
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
        // SAFETY: `event` lives across the call, both descriptors are open.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.as_raw_fd(), &raw mut event) };
        (&mut &*stream).write_all(request).expect("the first request is sent");
    }
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; clients];
    let mut buffer = vec![0u8; 65536];
    let mut requests = 0u64;
    while begun.elapsed() < length_s {
        // SAFETY: `events` has room for `clients` entries.
        let ready = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), clients as i32, 100) };
        for event in &events[..ready.max(0) as usize] {
            let index = event.u64 as usize;
            let stream = &streams[index];
            let count = (&mut &*stream).read(&mut buffer).expect("the server answers");
            assert!(count > 0, "the server closed a connection: does it keep connections for long enough?");
            missing[index] -= count;
            if missing[index] == 0 {
                requests += 1;
                missing[index] = size;
                (&mut &*stream).write_all(request).expect("the next request is sent");
            }
        }
    }
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), (cpu() - cpu_before).as_secs_f64());
    println!("{{\"queries\": {requests}, \"wall_s\": {wall:.6}, \"cpu_s\": {cpu:.6}}}");
}
