//! The same loop as bare_http.rs by io_uring instead of epoll: what changing the reactor over to it could save at most.
//!
//! A response that has arrived is answered by two entries, the next request and the next read; all that came in one wait is
//! submitted by the call that waits again, so that a busy loop needs one system call for many requests. One JSON line on standard
//! output.
//!
//!     bare_uring HOST PORT PATH CLIENTS SECONDS

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};

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
    assert!(args.len() == 6, "bare_uring HOST PORT PATH CLIENTS SECONDS");
    let number =
        |index: usize| args[index].parse::<u64>().unwrap_or_else(|_| panic!("{} is not a number", args[index]));
    let (port, clients, length_s) = (number(2) as u16, number(4) as usize, Duration::from_secs(number(5)));
    let request =
        format!("GET {} HTTP/1.1\r\nHost: {}:{port}\r\nuser-agent: bare\r\naccept: */*\r\n\r\n", args[3], args[1]);
    let request = request.as_bytes();
    let mut streams: Vec<TcpStream> = (0..clients)
        .map(|_| {
            let stream = TcpStream::connect((args[1].as_str(), port)).expect("a server listens there");
            stream.set_nodelay(true).expect("TCP_NODELAY");
            stream
        })
        .collect();
    let size = length(&mut streams[0], request);
    // One thread submits, and completions are worked off when it waits: the cheapest way there is (Linux 6.1).
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build((clients * 4).next_power_of_two() as u32)
        .expect("io_uring is there");
    const SEND: u64 = 1 << 32;
    let mut buffers = vec![vec![0u8; 4096]; clients];
    let mut missing = vec![size; clients];
    let (begun, cpu_before) = (Instant::now(), cpu());
    let send = |index: usize| {
        let fd = types::Fd(streams[index].as_raw_fd());
        opcode::Send::new(fd, request.as_ptr(), request.len() as u32)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(SEND | index as u64)
    };
    let receive = |index: usize, buffer: &mut Vec<u8>| {
        let fd = types::Fd(streams[index].as_raw_fd());
        opcode::Recv::new(fd, buffer.as_mut_ptr(), buffer.len() as u32).build().user_data(index as u64)
    };
    let push = |ring: &mut IoUring, entry: &squeue::Entry| {
        // SAFETY: requests and buffers live until the ring is dropped.
        while unsafe { ring.submission().push(entry) }.is_err() {
            ring.submit().expect("entries are taken");
        }
    };
    for (index, buffer) in buffers.iter_mut().enumerate() {
        push(&mut ring, &send(index));
        push(&mut ring, &receive(index, buffer));
    }
    let mut arrived = Vec::with_capacity(clients * 2);
    let mut requests = 0u64;
    while begun.elapsed() < length_s {
        ring.submit_and_wait(1).expect("the ring works");
        arrived.extend(ring.completion().map(|entry| (entry.user_data(), entry.result())));
        for (data, result) in arrived.drain(..) {
            assert!(result > 0, "the server closed a connection, or the request was not taken ({result})");
            if data & SEND != 0 {
                continue;
            }
            let index = data as usize;
            missing[index] -= result as usize;
            if missing[index] == 0 {
                requests += 1;
                missing[index] = size;
                push(&mut ring, &send(index));
            }
            push(&mut ring, &receive(index, &mut buffers[index]));
        }
    }
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), (cpu() - cpu_before).as_secs_f64());
    println!("{{\"queries\": {requests}, \"wall_s\": {wall:.6}, \"cpu_s\": {cpu:.6}}}");
}
