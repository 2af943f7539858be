//! Server with a known behaviour: it speaks enough of PostgreSQL's protocol, or of HTTP, to be loaded. It
//! answers every request after a given service time, stalls at a given instant, and records both.
//!
//!     reference_server [--service-us N] [--exponential 1] [--servers N] [--stall-at-ms N --stall-ms N]
//!         [--rows N] [--http 1 [--busy-every N]]
//!
//! It prints `port N` once it listens (loopback only). Service times are all the same, or exponentially
//! distributed with that mean. Every connection is served at once, or, with `--servers N`, all of them by N
//! servers out of one queue, first come, first served. With `--busy-every N` each Nth request of HTTP is
//! answered with status 503. The stall begins `stall-at-ms` after the first request and holds back every
//! answer until it ends.
//!
//! When its standard input closes, it prints one JSON line `{"requests": ..., "busy": ..., "service_sum_ns":
//! ..., "stalled": ..., "stall_begin_mono_ns": ..., "stall_end_mono_ns": ..., "responses_ns": [...]}` and
//! exits. The two instants are 0 without a stall. The responses are those of a queue, in the order of
//! arrival, as computed (wait and service of each request); without a queue they are empty.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
struct Behaviour {
    service: Duration,
    exponential: bool,
    stall_at: Option<Duration>,
    stall: Duration,
    rows: usize,
    http: bool,
    busy_every: u64,
}

static BUSY: AtomicU64 = AtomicU64::new(0);
static FIRST: OnceLock<Instant> = OnceLock::new();
static REQUESTS: AtomicU64 = AtomicU64::new(0);
static SERVICE_NS: AtomicU64 = AtomicU64::new(0);
static STALLED: AtomicU64 = AtomicU64::new(0);
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
/// The first instant on the clock that the client reads, to report the stall on that clock.
static FIRST_MONO_NS: OnceLock<u64> = OnceLock::new();

fn mono_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to, and the clock always exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Service times of one connection, from a dedicated generator (Marsaglia's xorshift64, 2003).
struct Service {
    behaviour: Behaviour,
    state: u64,
}

impl Service {
    fn new(behaviour: Behaviour) -> Self {
        let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        Self { behaviour, state: (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    fn time(&mut self) -> Duration {
        if !self.behaviour.exponential {
            return self.behaviour.service;
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let unit = ((self.state >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        self.behaviour.service.mul_f64(-unit.ln())
    }
}

/// Servers with one queue. Each sleep lasts until a computed instant, so a sleep that ends late delays its
/// own request and no other (Kiefer and Wolfowitz 1955: the next request goes to the server that is free
/// first).
struct Queue {
    free: Vec<Instant>,
    service: Service,
    responses_ns: Vec<u64>,
}

impl Queue {
    /// When a request that arrives now is done.
    fn enter(&mut self) -> Instant {
        let arrival = Instant::now();
        let first = self.free.iter_mut().min().expect("a server");
        *first = (*first).max(arrival) + self.service.time();
        self.responses_ns.push((*first - arrival).as_nanos() as u64);
        *first
    }
}

fn option(name: &str) -> Option<u64> {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|arg| arg == name)?;
    Some(args.get(at + 1).and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("{name} needs a number")))
}

fn frame(kind: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

fn ready(out: &mut Vec<u8>, in_transaction: bool) {
    frame(b'Z', &[if in_transaction { b'T' } else { b'I' }], out);
}

/// One row of one text column, `rows` times, and the end of the command.
fn result(out: &mut Vec<u8>, rows: usize) {
    let mut row = 1u16.to_be_bytes().to_vec();
    row.extend_from_slice(&4u32.to_be_bytes());
    row.extend_from_slice(b"1234");
    for _ in 0..rows {
        frame(b'D', &row, out);
    }
    frame(b'C', format!("SELECT {rows}\0").as_bytes(), out);
}

/// Wait as the behaviour says, before any answer. Returns the number of the request.
fn serve(service: &mut Service, queue: Option<&Mutex<Queue>>) -> u64 {
    let begun = Instant::now();
    let first = *FIRST.get_or_init(|| {
        let _ = FIRST_MONO_NS.set(mono_ns());
        begun
    });
    let behaviour = service.behaviour;
    let time = match queue {
        Some(queue) => {
            let done = queue.lock().expect("no thread breaks while it holds this").enter();
            done.saturating_duration_since(Instant::now())
        }
        None => service.time(),
    };
    if !time.is_zero() {
        thread::sleep(time);
    }
    if let Some(at) = behaviour.stall_at {
        let ends = first + at + behaviour.stall;
        let now = Instant::now();
        if now >= first + at && now < ends {
            thread::sleep(ends - now);
            STALLED.fetch_add(1, Ordering::Relaxed);
        }
    }
    SERVICE_NS.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
    REQUESTS.fetch_add(1, Ordering::Relaxed) + 1
}

/// Requests of HTTP without bodies, one after the other.
fn converse_in_http(
    stream: &mut TcpStream,
    service: &mut Service,
    queue: Option<&Mutex<Queue>>,
) -> Option<()> {
    let (mut pending, mut chunk) = (Vec::new(), vec![0; 65536]);
    loop {
        let count = stream.read(&mut chunk).ok().filter(|&count| count > 0)?;
        pending.extend_from_slice(&chunk[..count]);
        while let Some(end) = pending.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            pending.drain(..end + 4);
            let number = serve(service, queue);
            let busy = number.is_multiple_of(service.behaviour.busy_every);
            BUSY.fetch_add(u64::from(busy), Ordering::Relaxed);
            let status = if busy { "503 Service Unavailable" } else { "200 OK" };
            // ab goes by the header, and waits for the end of a connection that has none.
            let answer =
                format!("HTTP/1.1 {status}\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\n1234");
            stream.write_all(answer.as_bytes()).ok()?;
        }
    }
}

fn read_exact(stream: &mut TcpStream, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Startup: TLS and GSS are declined, every user is trusted.
fn welcome(stream: &mut TcpStream) -> Option<()> {
    loop {
        let head = read_exact(stream, 8)?;
        let length = u32::from_be_bytes(head[..4].try_into().ok()?) as usize;
        let code = u32::from_be_bytes(head[4..].try_into().ok()?);
        read_exact(stream, length.checked_sub(8)?)?;
        if code == 80_877_103 || code == 80_877_104 {
            stream.write_all(b"N").ok()?;
            continue;
        }
        let mut out = Vec::new();
        frame(b'R', &0u32.to_be_bytes(), &mut out);
        frame(b'S', b"server_version\0known\0", &mut out);
        frame(b'K', &[0; 8], &mut out);
        ready(&mut out, false);
        return stream.write_all(&out).ok();
    }
}

fn converse(mut stream: TcpStream, behaviour: Behaviour, queue: Option<&Mutex<Queue>>) -> Option<()> {
    // SAFETY: asks the kernel for fine timers on this thread; has no other effect.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    stream.set_nodelay(true).ok()?;
    let mut service = Service::new(behaviour);
    if behaviour.http {
        return converse_in_http(&mut stream, &mut service, queue);
    }
    welcome(&mut stream)?;
    let (mut pending, mut out, mut chunk) = (Vec::new(), Vec::new(), vec![0; 65536]);
    let mut in_transaction = false;
    loop {
        let count = stream.read(&mut chunk).ok()?;
        if count == 0 {
            return None;
        }
        pending.extend_from_slice(&chunk[..count]);
        let mut at = 0;
        while pending.len() >= at + 5 {
            let length = u32::from_be_bytes(pending[at + 1..at + 5].try_into().ok()?) as usize + 1;
            if pending.len() < at + length {
                break;
            }
            let body = &pending[at + 5..at + length];
            match pending[at] {
                b'P' => frame(b'1', &[], &mut out),
                b'B' => frame(b'2', &[], &mut out),
                b'D' => frame(b'n', &[], &mut out),
                b'C' => frame(b'3', &[], &mut out),
                b'E' => {
                    serve(&mut service, queue);
                    result(&mut out, behaviour.rows);
                }
                b'S' => {
                    ready(&mut out, in_transaction);
                    stream.write_all(&out).ok()?;
                    out.clear();
                }
                b'Q' => {
                    serve(&mut service, queue);
                    in_transaction = match body {
                        b"BEGIN\0" => true,
                        b"COMMIT\0" | b"ROLLBACK\0" => false,
                        _ => in_transaction,
                    };
                    result(&mut out, 0);
                    ready(&mut out, in_transaction);
                    stream.write_all(&out).ok()?;
                    out.clear();
                }
                b'X' => return None,
                _ => {}
            }
            at += length;
        }
        pending.drain(..at);
    }
}

fn main() {
    let behaviour = Behaviour {
        service: Duration::from_micros(option("--service-us").unwrap_or(0)),
        exponential: option("--exponential").is_some(),
        stall_at: option("--stall-at-ms").map(Duration::from_millis),
        stall: Duration::from_millis(option("--stall-ms").unwrap_or(0)),
        rows: option("--rows").unwrap_or(1) as usize,
        http: option("--http").is_some(),
        busy_every: option("--busy-every").unwrap_or(u64::MAX),
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free loopback port");
    println!("port {}", listener.local_addr().expect("an address").port());
    let queue = option("--servers").map(|servers| {
        let free = vec![Instant::now(); servers as usize];
        Arc::new(Mutex::new(Queue { free, service: Service::new(behaviour), responses_ns: Vec::new() }))
    });
    let shared = queue.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let queue = shared.clone();
            thread::spawn(move || converse(stream, behaviour, queue.as_deref()));
        }
    });
    let mut input = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut input);
    let stall = behaviour.stall_at.zip(FIRST_MONO_NS.get()).map(|(at, first)| first + at.as_nanos() as u64);
    println!(
        "{{\"requests\": {}, \"busy\": {}, \"service_sum_ns\": {}, \"stalled\": {}, \
         \"stall_begin_mono_ns\": {}, \"stall_end_mono_ns\": {}, \"responses_ns\": {:?}}}",
        REQUESTS.load(Ordering::Relaxed),
        BUSY.load(Ordering::Relaxed),
        SERVICE_NS.load(Ordering::Relaxed),
        STALLED.load(Ordering::Relaxed),
        stall.unwrap_or(0),
        stall.map_or(0, |begin| begin + behaviour.stall.as_nanos() as u64),
        queue.map_or(Vec::new(), |queue| queue.lock().expect("nobody breaks").responses_ns.clone()),
    );
}
