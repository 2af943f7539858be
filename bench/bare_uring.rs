//! The same loop as bare_http.rs by io_uring instead of epoll, in the cheapest way there is: what changing
//! the reactor over to it could save at most.
//!
//! Responses arrive without being asked for again, in buffers lent to the kernel (multishot receives);
//! sockets lie in the ring's own table of files; a response that has arrived is answered by one entry, the
//! next request; all that came in one wait is submitted by the call that waits again, so that a busy loop
//! needs one system call for many requests. One JSON line on standard output.
//!
//!     bare_uring HOST PORT PATH CLIENTS SECONDS

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, cqueue, opcode, squeue};

/// Buffers lent to the kernel, and the size of one.
const BUFFERS: usize = 256;
const SIZE: usize = 2048;
const GROUP: u16 = 0;
/// The kernel wants its list of them to begin with a page.
#[repr(align(4096))]
struct List([u8; BUFFERS * size_of::<BufRingEntry>()]);

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
    // One thread submits, and completions are worked off when it waits: the cheapest way there is (Linux
    // 6.1).
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build((clients * 4).next_power_of_two() as u32)
        .expect("io_uring is there");
    let files: Vec<_> = streams.iter().map(AsRawFd::as_raw_fd).collect();
    ring.submitter().register_files(&files).expect("files are registered");
    let buffers = vec![0u8; BUFFERS * SIZE];
    let mut list = Box::new(List([0; BUFFERS * size_of::<BufRingEntry>()]));
    let entries: *mut BufRingEntry = list.0.as_mut_ptr().cast();
    // SAFETY: the list has BUFFERS entries, and it and the buffers live until the ring is dropped.
    unsafe { ring.submitter().register_buf_ring_with_flags(entries as u64, BUFFERS as u16, GROUP, 0) }
        .expect("buffers are lent");
    let mut lent = 0u16;
    let mut lend = |buffer: u16| {
        // SAFETY: within the list, whose tail the kernel reads at any time, and whose entry only when that
        // has passed it.
        unsafe {
            let entry = &mut *entries.add(usize::from(lent) % BUFFERS);
            entry.set_addr(buffers.as_ptr().add(usize::from(buffer) * SIZE) as u64);
            entry.set_len(SIZE as u32);
            entry.set_bid(buffer);
            lent = lent.wrapping_add(1);
            (*BufRingEntry::tail(entries).cast::<AtomicU16>()).store(lent, Ordering::Release);
        }
    };
    (0..BUFFERS as u16).for_each(&mut lend);
    const SEND: u64 = 1 << 32;
    let mut missing = vec![size; clients];
    let (begun, cpu_before) = (Instant::now(), cpu());
    let send = |index: usize| {
        opcode::Send::new(Fixed(index as u32), request.as_ptr(), request.len() as u32)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(SEND | index as u64)
    };
    let receive =
        |index: usize| opcode::RecvMulti::new(Fixed(index as u32), GROUP).build().user_data(index as u64);
    let push = |ring: &mut IoUring, entry: &squeue::Entry| {
        // SAFETY: requests and buffers live until the ring is dropped.
        while unsafe { ring.submission().push(entry) }.is_err() {
            ring.submit().expect("entries are taken");
        }
    };
    for index in 0..clients {
        push(&mut ring, &send(index));
        push(&mut ring, &receive(index));
    }
    let mut arrived = Vec::with_capacity(clients * 2);
    let mut requests = 0u64;
    while begun.elapsed() < length_s {
        ring.submit_and_wait(1).expect("the ring works");
        arrived.extend(ring.completion().map(|entry| (entry.user_data(), entry.result(), entry.flags())));
        for (data, result, flags) in arrived.drain(..) {
            assert!(result > 0, "the server closed a connection, or the request was not taken ({result})");
            if data & SEND != 0 {
                continue;
            }
            let index = data as usize;
            lend(cqueue::buffer_select(flags).expect("it came in a buffer"));
            missing[index] -= result as usize;
            if missing[index] == 0 {
                requests += 1;
                missing[index] = size;
                push(&mut ring, &send(index));
            }
            if !cqueue::more(flags) {
                push(&mut ring, &receive(index));
            }
        }
    }
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), (cpu() - cpu_before).as_secs_f64());
    println!("{{\"queries\": {requests}, \"wall_s\": {wall:.6}, \"cpu_s\": {cpu:.6}}}");
}
