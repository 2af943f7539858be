//! The limit: a loop that writes prepared records to a socket and does nothing else; and services that
//! discard what they read, or answer each record with its first field.
//!
//! Records are letters that end with a newline, replayed cyclically from memory of the same size as that of
//! the client compared with, by writes of 64 KiB. What it costs a record is what the kernel costs. One JSON
//! line on standard output; of the service that of the port (it ends with its standard input).
//!
//!     bare_stream write HOST PORT RECORD_BYTES SET_RECORDS RECORDS
//!     bare_stream sink
//!     bare_stream answer

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

const WRITE: usize = 64 << 10;

fn cpu() -> Duration {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid rusage for the call to fill.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let part = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    part(usage.ru_utime) + part(usage.ru_stime)
}

/// Letters of a set of records, at least two writes of them.
fn records(size: usize, count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b'a' + ((state >> 33) % 26) as u8
    };
    let length = (size * count).max(2 * WRITE).next_multiple_of(size);
    (1..=length).map(|end| if end % size == 0 { b'\n' } else { letter() }).collect()
}

fn write(host: &str, port: u16, size: usize, set: usize, count: u64) {
    let records = records(size, set);
    let mut stream = TcpStream::connect((host, port)).expect("a service listens there");
    stream.set_nodelay(true).expect("TCP_NODELAY");
    let (begun, cpu_before) = (Instant::now(), cpu());
    let (mut remaining, mut start) = (count * size as u64, 0);
    while remaining > 0 {
        let end = records.len().min(start + WRITE.min(remaining as usize));
        let taken = stream.write(&records[start..end]).expect("the service reads");
        remaining -= taken as u64;
        start = (start + taken) % records.len();
    }
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), (cpu() - cpu_before).as_secs_f64());
    println!("{{\"queries\": {count}, \"wall_s\": {wall:.6}, \"cpu_s\": {cpu:.6}}}");
}

fn discard(mut stream: TcpStream) {
    let mut buffer = vec![0; 1 << 20];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// Answers each line with what precedes its first comma.
fn answer(stream: TcpStream) -> io::Result<()> {
    let mut answers = BufWriter::with_capacity(WRITE, stream.try_clone()?);
    let (mut lines, mut line) = (BufReader::with_capacity(WRITE, stream), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        let number = line.split(|&byte| matches!(byte, b',' | b'\n')).next().unwrap_or_default();
        answers.write_all(number)?;
        answers.write_all(b"\n")?;
        if lines.buffer().is_empty() {
            answers.flush()?;
        }
        line.clear();
    }
    answers.flush()
}

/// Serves every connection until the end of the standard input.
fn serve(manner: fn(TcpStream)) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    println!("{{\"port\": {}}}", listener.local_addr().expect("it listens").port());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a client connects");
            std::thread::spawn(move || manner(stream));
        }
    });
    let _ = std::io::stdin().read(&mut [0]);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |index: usize| {
        args[index].parse::<u64>().unwrap_or_else(|_| panic!("{} is not a number", args[index]))
    };
    match (args.get(1).map(String::as_str), args.len()) {
        (Some("sink"), 2) => serve(discard),
        (Some("answer"), 2) => serve(|stream| answer(stream).unwrap_or_default()),
        (Some("write"), 7) => {
            write(&args[2], number(3) as u16, number(4) as usize, number(5) as usize, number(6));
        }
        _ => panic!(
            "bare_stream write HOST PORT RECORD_BYTES SET_RECORDS RECORDS, or bare_stream sink | answer"
        ),
    }
}
