//! A service whose every behaviour is known.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// A connection, of either family.
pub trait Stream: Read + Write + Send {
    fn duplicate(&self) -> Box<dyn Stream>;
}

impl Stream for TcpStream {
    fn duplicate(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().unwrap())
    }
}

impl Stream for UnixStream {
    fn duplicate(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().unwrap())
    }
}

/// Behaviour of a service on one connection.
pub type Manner = dyn Fn(Box<dyn Stream>, &Seen) + Send + Sync;

/// Input of a service.
#[derive(Default)]
pub struct Seen {
    pub lines: Mutex<Vec<String>>,
}

pub struct Service {
    target: Value,
    pub seen: Arc<Seen>,
    socket: Option<PathBuf>,
}

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A path that no other test uses.
pub fn temporary(purpose: &str) -> PathBuf {
    let name = format!("loadcell-{purpose}-{}-{}", std::process::id(), COUNTER.fetch_add(1, SeqCst));
    std::env::temp_dir().join(name)
}

impl Service {
    pub fn start(manner: impl Fn(Box<dyn Stream>, &Seen) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let streams =
            std::iter::repeat_with(move || Box::new(listener.accept().unwrap().0) as Box<dyn Stream>);
        let target = json!({"protocol": "stream", "host": "127.0.0.1", "port": port, "sslmode": "disable"});
        Self { target, seen: serve(streams, manner), socket: None }
    }

    /// The same on a Unix socket.
    pub fn local(manner: impl Fn(Box<dyn Stream>, &Seen) + Send + Sync + 'static) -> Self {
        let path = temporary("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let target = json!({"protocol": "stream", "socket": path, "sslmode": "disable"});
        let streams =
            std::iter::repeat_with(move || Box::new(listener.accept().unwrap().0) as Box<dyn Stream>);
        Self { target, seen: serve(streams, manner), socket: Some(path) }
    }

    pub fn target(&self) -> Value {
        self.target.clone()
    }

    /// Lines that were received, sorted by their number.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.seen.lines.lock().unwrap().clone();
        lines.sort_by_key(|line| number(line));
        lines
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn serve(
    streams: impl Iterator<Item = Box<dyn Stream>> + Send + 'static,
    manner: impl Fn(Box<dyn Stream>, &Seen) + Send + Sync + 'static,
) -> Arc<Seen> {
    let (seen, manner): (_, Arc<Manner>) = (Arc::new(Seen::default()), Arc::new(manner));
    let its = seen.clone();
    thread::spawn(move || {
        for stream in streams {
            let (seen, manner) = (its.clone(), manner.clone());
            thread::spawn(move || manner(stream, &seen));
        }
    });
    seen
}

/// Number of a CSV record.
pub fn number(line: &str) -> u64 {
    line.split(',').next().and_then(|number| number.parse().ok()).unwrap_or(u64::MAX)
}

/// Calls `handle` with every line and the connection, until the end of the stream or an error.
pub fn lines(stream: Box<dyn Stream>, mut handle: impl FnMut(u64, &str, &mut dyn Stream) -> bool) {
    let mut answers = stream.duplicate();
    for (index, line) in BufReader::with_capacity(1 << 16, stream).lines().enumerate() {
        let Ok(line) = line else { return };
        if !handle(index as u64, &line, &mut *answers) {
            return;
        }
    }
}

/// Reads everything.
pub fn sink(mut stream: Box<dyn Stream>, _: &Seen) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// Keeps every line.
pub fn collector(stream: Box<dyn Stream>, seen: &Seen) {
    lines(stream, |_, line, _| {
        seen.lines.lock().unwrap().push(line.into());
        true
    });
}

/// Counts records, and acknowledges them every 100, every 10 ms without a record, and at the end.
pub fn counter(mut stream: Box<dyn Stream>, _: &Seen) {
    let mut answers = stream.duplicate();
    let (mut count, mut acknowledged, mut bytes) = (0u64, 0, vec![0; 1 << 16]);
    loop {
        let read = stream.read(&mut bytes).unwrap_or(0);
        count += bytes[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        if acknowledged < count {
            acknowledged = count;
            if answers.write_all(format!("{count}\n").as_bytes()).is_err() {
                return;
            }
        }
        if read == 0 {
            return;
        }
    }
}

/// Answers with the numbers that `numbers` gives for that of a record, by its index.
pub fn echo(
    numbers: impl Fn(u64, u64) -> Vec<u64> + Send + Sync + 'static,
) -> impl Fn(Box<dyn Stream>, &Seen) + Send + Sync {
    move |stream, _| {
        lines(stream, |index, line, answers| {
            let text: String =
                numbers(index, number(line)).iter().map(|number| format!("{number}\n")).collect();
            answers.write_all(text.as_bytes()).is_ok()
        });
    }
}

/// Holds the connection without reading or answering.
pub fn silent(stream: Box<dyn Stream>, _: &Seen) {
    thread::sleep(Duration::from_secs(20));
    drop(stream);
}
