//! A server whose every behaviour is known: it answers each eight bytes with the same eight bytes, when it
//! was told to.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use loadcell_core::clock::{Nanos, now};

pub const GREETING: u8 = b'H';
pub const REFUSAL: u8 = b'R';

/// Behaviour of the server.
#[derive(Clone)]
pub struct Manner {
    pub service: Duration,
    /// Number of connections greeted at once; more are refused.
    pub most: u64,
    /// It never greets.
    pub mute: bool,
    /// It never answers.
    pub deaf: bool,
    /// It hangs up instead of answering every so-manieth request of all.
    pub hang_up_every: u64,
    /// It answers byte by byte.
    pub in_pieces: bool,
    /// Requests are this long instead.
    pub request: usize,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            service: Duration::ZERO,
            most: u64::MAX,
            mute: false,
            deaf: false,
            hang_up_every: u64::MAX,
            in_pieces: false,
            request: 8,
        }
    }
}

#[derive(Default)]
pub struct Seen {
    pub requests: AtomicU64,
    pub answers: AtomicU64,
    pub hang_ups: AtomicU64,
    open: AtomicU64,
    stall_until: AtomicU64,
    gone: AtomicBool,
}

pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, streams) = (Arc::new(Seen::default()), Arc::new(Mutex::new(Vec::new())));
        let (its_seen, its_streams) = (seen.clone(), streams.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                if its_seen.gone.load(SeqCst) {
                    return; // Nobody listens from here on.
                }
                let (stream, seen, manner) = (stream.unwrap(), its_seen.clone(), manner.clone());
                its_streams.lock().unwrap().push(stream.try_clone().unwrap());
                thread::spawn(move || serve(stream, &seen, &manner));
            }
        });
        Self { address, seen, streams }
    }

    /// Nothing is answered until `until`.
    pub fn stall(&self, until: Nanos) {
        self.seen.stall_until.store(until, SeqCst);
    }

    /// It dies: all connections break, and nobody listens any more.
    pub fn die(&self) {
        self.seen.gone.store(true, SeqCst);
        let _ = TcpStream::connect(self.address);
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.die();
    }
}

fn serve(mut stream: TcpStream, seen: &Seen, manner: &Manner) {
    stream.set_nodelay(true).unwrap();
    if seen.open.fetch_add(1, SeqCst) >= manner.most {
        let _ = stream.write_all(&[REFUSAL]);
    } else if manner.mute || stream.write_all(&[GREETING]).is_ok() {
        while answer(&mut stream, seen, manner) {}
    }
    seen.open.fetch_sub(1, SeqCst);
    let _ = stream.shutdown(Shutdown::Both);
}

/// One request; whether to go on.
fn answer(stream: &mut TcpStream, seen: &Seen, manner: &Manner) -> bool {
    let mut request = vec![0; manner.request];
    match stream.read_exact(&mut request) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return false,
        Err(_) => return false,
    }
    let number = seen.requests.fetch_add(1, SeqCst) + 1;
    thread::sleep(manner.service);
    let stalled = seen.stall_until.load(SeqCst).saturating_sub(now());
    thread::sleep(Duration::from_nanos(stalled));
    if number.is_multiple_of(manner.hang_up_every) {
        seen.hang_ups.fetch_add(1, SeqCst);
        return false;
    }
    if manner.deaf {
        return true;
    }
    seen.answers.fetch_add(1, SeqCst);
    let answer = &request[..8];
    if !manner.in_pieces {
        return stream.write_all(answer).is_ok();
    }
    answer.iter().all(|byte| {
        thread::sleep(Duration::from_micros(100));
        stream.write_all(&[*byte]).is_ok()
    })
}
