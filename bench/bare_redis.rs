//! The limit: an epoll loop that speaks GET or SET to a Redis and does nothing else.
//!
//! Requests are made before the clock starts; of answers only the length is looked at. What it costs a
//! request is what the kernel costs; what a client costs above it is its own. Every key must be there, with a
//! value of the same size. One JSON line on standard output.
//!
//!     bare_redis HOST PORT get|set KEYS VALUE_SIZE CLIENTS PIPELINE SECONDS

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Batches made beforehand: enough that keys do not repeat in short order, few enough to stay in the cache.
const BATCHES: usize = 2048;

fn word(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Batches of requests for random keys, and how many bytes the answer to each batch has.
fn batches(verb: &str, keys: u64, value_size: usize, pipeline: usize) -> (Vec<Vec<u8>>, usize) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % keys
    };
    let value = vec![b'x'; value_size];
    let mut batch = || {
        let mut out = Vec::new();
        for _ in 0..pipeline {
            let key = format!("key:{:012}", draw());
            match verb {
                "get" => {
                    out.extend_from_slice(b"*2\r\n");
                    word(b"GET", &mut out);
                    word(key.as_bytes(), &mut out);
                }
                "set" => {
                    out.extend_from_slice(b"*3\r\n");
                    word(b"SET", &mut out);
                    word(key.as_bytes(), &mut out);
                    word(&value, &mut out);
                }
                other => panic!("unknown verb {other}: get or set"),
            }
        }
        out
    };
    let answer =
        if verb == "get" { format!("${value_size}\r\n").len() + value_size + 2 } else { "+OK\r\n".len() };
    ((0..BATCHES).map(|_| batch()).collect(), answer * pipeline)
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
    assert!(args.len() == 9, "bare_redis HOST PORT get|set KEYS VALUE_SIZE CLIENTS PIPELINE SECONDS");
    let number = |index: usize| {
        args[index].parse::<u64>().unwrap_or_else(|_| panic!("{} is not a number", args[index]))
    };
    let (clients, pipeline) = (number(6) as usize, number(7) as usize);
    let (batches, answer) = batches(&args[3], number(4), number(5) as usize, pipeline);
    // SAFETY: plain system calls on file descriptors this function owns for its whole length.
    let epoll = unsafe { libc::epoll_create1(0) };
    let streams: Vec<TcpStream> = (0..clients)
        .map(|_| TcpStream::connect((args[1].as_str(), number(2) as u16)).expect("a server listens there"))
        .collect();
    let (mut next, mut missing) = (vec![0usize; clients], vec![answer; clients]);
    let (begun, cpu_before) = (Instant::now(), cpu());
    for (index, stream) in streams.iter().enumerate() {
        stream.set_nodelay(true).expect("TCP_NODELAY");
        stream.set_nonblocking(true).expect("O_NONBLOCK");
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
        // SAFETY: `event` lives across the call, both descriptors are open.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.as_raw_fd(), &raw mut event) };
        next[index] = index * batches.len() / clients;
        (&mut &*stream).write_all(&batches[next[index]]).expect("the first batch is sent");
    }
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; clients];
    let mut buffer = vec![0u8; 65536];
    let mut queries = 0u64;
    let length = Duration::from_secs(number(8));
    while begun.elapsed() < length {
        // SAFETY: `events` has room for `clients` entries.
        let ready = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), clients as i32, 100) };
        for event in &events[..ready.max(0) as usize] {
            let index = event.u64 as usize;
            let stream = &streams[index];
            let count = (&mut &*stream).read(&mut buffer).expect("the server answers");
            assert!(
                count > 0 && count <= missing[index],
                "an answer of another length: {:?}",
                &buffer[..count.min(80)]
            );
            missing[index] -= count;
            if missing[index] == 0 {
                queries += pipeline as u64;
                missing[index] = answer;
                next[index] = (next[index] + 1) % batches.len();
                (&mut &*stream).write_all(&batches[next[index]]).expect("the next batch is sent");
            }
        }
    }
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), (cpu() - cpu_before).as_secs_f64());
    println!("{{\"queries\": {queries}, \"wall_s\": {wall:.6}, \"cpu_s\": {cpu:.6}}}");
}
