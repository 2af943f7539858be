//! The limit: an epoll loop that speaks sysbench's statements to PostgreSQL and does nothing else.
//!
//! It draws nothing, records nothing, parses nothing but the end of each answer; requests are made before the
//! clock starts. What it costs a query is what the kernel and the protocol cost; what a client costs above it
//! is its own. The server must trust the connection (no password). One JSON line on standard output.
//!
//!     bare_loop HOST PORT USER DATABASE SCRIPT TABLES TABLE_SIZE CLIENTS SECONDS

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Requests made beforehand: enough that ids do not repeat in short order, few enough to stay in the cache.
const TRANSACTIONS: usize = 512;

fn message(kind: u8, body: &[u8], out: &mut Vec<u8>) {
    if kind != 0 {
        out.push(kind);
    }
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

fn text(parts: &[&str]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(part.as_bytes());
        body.push(0);
    }
    body
}

/// Bind, Execute and Sync of a prepared statement with text parameters.
fn execute(statement: &str, parameters: &[u64]) -> Vec<u8> {
    let mut bind = text(&["", statement]);
    bind.extend_from_slice(&0u16.to_be_bytes());
    bind.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        let digits = parameter.to_string();
        bind.extend_from_slice(&(digits.len() as u32).to_be_bytes());
        bind.extend_from_slice(digits.as_bytes());
    }
    bind.extend_from_slice(&0u16.to_be_bytes());
    let mut out = Vec::new();
    message(b'B', &bind, &mut out);
    let mut run = text(&[""]);
    run.extend_from_slice(&0u32.to_be_bytes());
    message(b'E', &run, &mut out);
    message(b'S', &[], &mut out);
    out
}

/// The statements of a script on one table: name suffix, SQL, and how many parameters.
const STATEMENTS: [(&str, &str, usize); 5] = [
    ("p", "SELECT c FROM {t} WHERE id=$1", 1),
    ("r", "SELECT c FROM {t} WHERE id BETWEEN $1 AND $2", 2),
    ("s", "SELECT SUM(k) FROM {t} WHERE id BETWEEN $1 AND $2", 2),
    ("o", "SELECT c FROM {t} WHERE id BETWEEN $1 AND $2 ORDER BY c", 2),
    ("d", "SELECT DISTINCT c FROM {t} WHERE id BETWEEN $1 AND $2 ORDER BY c", 2),
];

fn until_ready(stream: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut buffer = [0u8; 8192];
    loop {
        let count = stream.read(&mut buffer).expect("the server answers");
        assert!(count > 0, "the server closed the connection: does it trust this user without a password?");
        seen.extend_from_slice(&buffer[..count]);
        if seen.len() >= 6 && seen[seen.len() - 6..seen.len() - 1] == [b'Z', 0, 0, 0, 5] {
            return;
        }
        assert!(seen.first() != Some(&b'E'), "the server said: {}", String::from_utf8_lossy(&seen));
    }
}

fn connect(host: &str, port: u16, user: &str, database: &str, tables: u64) -> TcpStream {
    let mut stream = TcpStream::connect((host, port)).expect("a server listens there");
    stream.set_nodelay(true).expect("TCP_NODELAY");
    let mut start = 196_608u32.to_be_bytes().to_vec();
    start.extend_from_slice(&text(&["user", user, "database", database, ""]));
    let mut out = Vec::new();
    message(0, &start, &mut out);
    stream.write_all(&out).expect("startup is sent");
    until_ready(&mut stream);
    let mut out = Vec::new();
    for table in 1..=tables {
        for (suffix, sql, _) in STATEMENTS {
            let sql = sql.replace("{t}", &format!("sbtest{table}"));
            let mut parse = text(&[&format!("{suffix}{table}"), &sql]);
            parse.extend_from_slice(&0u16.to_be_bytes());
            message(b'P', &parse, &mut out);
        }
    }
    message(b'S', &[], &mut out);
    stream.write_all(&out).expect("statements are sent");
    until_ready(&mut stream);
    stream
}

/// Every request of `TRANSACTIONS` transactions, in order, and how many belong to one transaction.
fn requests(script: &str, tables: u64, table_size: u64) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit + 1
    };
    let mut all = Vec::new();
    let simple = |sql: &str| {
        let mut out = Vec::new();
        message(b'Q', &text(&[sql]), &mut out);
        out
    };
    for _ in 0..TRANSACTIONS {
        match script {
            "oltp_point_select" => all.push(execute(&format!("p{}", draw(tables)), &[draw(table_size)])),
            "oltp_read_only" => {
                all.push(simple("BEGIN"));
                let table = draw(tables);
                for _ in 0..10 {
                    all.push(execute(&format!("p{table}"), &[draw(table_size)]));
                }
                for kind in ["r", "s", "o", "d"] {
                    let first = draw(table_size);
                    all.push(execute(&format!("{kind}{}", draw(tables)), &[first, first + 99]));
                }
                all.push(simple("COMMIT"));
            }
            other => panic!("unknown script {other}: oltp_point_select or oltp_read_only"),
        }
    }
    all
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
    assert!(args.len() == 10, "bare_loop HOST PORT USER DATABASE SCRIPT TABLES TABLE_SIZE CLIENTS SECONDS");
    let number = |index: usize| {
        args[index].parse::<u64>().unwrap_or_else(|_| panic!("{} is not a number", args[index]))
    };
    let (tables, clients) = (number(6), number(8) as usize);
    let requests = requests(&args[5], tables, number(7));
    let streams: Vec<TcpStream> =
        (0..clients).map(|_| connect(&args[1], number(2) as u16, &args[3], &args[4], tables)).collect();
    // SAFETY: plain system calls on file descriptors this function owns for its whole length.
    let epoll = unsafe { libc::epoll_create1(0) };
    let mut next = vec![0usize; clients];
    let (begun, cpu_before) = (Instant::now(), cpu());
    for (index, stream) in streams.iter().enumerate() {
        stream.set_nonblocking(true).expect("O_NONBLOCK");
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
        // SAFETY: `event` lives across the call, both descriptors are open.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.as_raw_fd(), &raw mut event) };
        next[index] = index * requests.len() / clients;
        (&mut &*stream).write_all(&requests[next[index]]).expect("the first request is sent");
    }
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; clients];
    let mut buffer = vec![0u8; 65536];
    let mut queries = 0u64;
    let length = Duration::from_secs(number(9));
    while begun.elapsed() < length {
        // SAFETY: `events` has room for `clients` entries.
        let ready = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), clients as i32, 100) };
        for event in &events[..ready.max(0) as usize] {
            let index = event.u64 as usize;
            let stream = &streams[index];
            let count = (&mut &*stream).read(&mut buffer).expect("the server answers");
            assert!(count > 0, "the server closed a connection");
            // The answer is whole when it ends in ReadyForQuery; an answer cut in two ends elsewhere with all
            // but certainty, and a wrong guess would only send the next request early.
            if count >= 6 && buffer[count - 6..count - 1] == [b'Z', 0, 0, 0, 5] {
                queries += 1;
                next[index] = (next[index] + 1) % requests.len();
                (&mut &*stream).write_all(&requests[next[index]]).expect("the next request is sent");
            }
        }
    }
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), (cpu() - cpu_before).as_secs_f64());
    println!("{{\"queries\": {queries}, \"wall_s\": {wall:.6}, \"cpu_s\": {cpu:.6}}}");
}
